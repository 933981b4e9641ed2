// What the GPU does and C++ cannot say, one function per instruction. A test swaps this file for an emulated warp.
#pragma once

#define DEVICE __device__ __forceinline__
#if GIVEN_CLUSTER > 1
#define KERNEL(threads, blocks) extern "C" __global__ void __cluster_dims__(GIVEN_CLUSTER) __launch_bounds__(threads, blocks)
#else
#define KERNEL(threads, blocks) extern "C" __global__ void __launch_bounds__(threads, blocks)
#endif

using u32 = unsigned int;
using u64 = unsigned long long;

DEVICE u32 thread_index() { return threadIdx.x; }
DEVICE u32 block_index() { return blockIdx.x; }
DEVICE void barrier() { __syncthreads(); }

// In one side of a choice: keeps the compiler from working both sides out and taking one.
DEVICE void only_here() { asm volatile(""); }

extern __shared__ __align__(128) unsigned char dynamic_memory[];
DEVICE unsigned char* shared_memory() { return dynamic_memory; }

// Going through a shuffle keeps the compiler from working the address out again at every use.
DEVICE u32 shared_address(const void* p) { return __shfl_sync(~0u, (u32)__cvta_generic_to_shared(p), 0); }

DEVICE float shuffle(float x, u32 from) { return __shfl_sync(~0u, x, from); }
DEVICE u32 shuffle(u32 x, u32 from) { return __shfl_sync(~0u, x, from); }
DEVICE float shuffle_xor(float x, u32 mask) { return __shfl_xor_sync(~0u, x, mask); }
DEVICE u32 shuffle_xor(u32 x, u32 mask) { return __shfl_xor_sync(~0u, x, mask); }

DEVICE u32 bits(float x) { return __float_as_uint(x); }
DEVICE float from_bits(u32 x) { return __uint_as_float(x); }

// Plain C++ makes the compiler add an instruction or two to each of these.
DEVICE void multiply_wide(u32 a, u32 b, u32& low, u32& high) {
  asm("{.reg .b64 t; mul.wide.u32 t, %2, %3; mov.b64 {%0, %1}, t;}" : "=r"(low), "=r"(high) : "r"(a), "r"(b));
}
DEVICE float exp2_(float x) { float y; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEVICE float reciprocal(float x) { float y; asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
DEVICE float square_root(float x) { float y; asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }

// All ones in the lower half of the word where x has a minus sign, in the upper half where y has.
DEVICE u32 negative(float x, float y) {
  u32 h;
  asm("prmt.b32 %0, %1, %2, 0xFFBB;" : "=r"(h) : "r"(bits(x)), "r"(bits(y)));
  return h;
}

// Two half-precision numbers in a word, x in the lower half; too large ones become the largest, not infinity.
DEVICE u32 pack(float x, float y) {
  u32 h;
  asm("cvt.rn.satfinite.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(y), "f"(x));
  return h;
}
DEVICE void unpack(u32 h, float& x, float& y) {
  asm("{.reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b;}" : "=f"(x), "=f"(y) : "r"(h));
}

// d[16][8] += a[16][16] b[16][8], spread over the warp as fragments.cuh draws it.
DEVICE void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Four 8 x 8 matrices of half-precision numbers, the rows at the addresses that lanes 0-7, 8-15, 16-23 and 24-31 name.
DEVICE void load_matrices(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
DEVICE void load_matrices_transposed(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
DEVICE void store_shared(u32 address, u32 x) { asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(x) : "memory"); }

// Between the blocks of a cluster: the barrier of all; the same address in the shared memory of another.
DEVICE void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
DEVICE u32 address_in(u32 block, u32 address) {
  u32 there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(block));
  return there;
}

// A store into another block, and a counter in the same block's shared memory that knows how many bytes have come by such
// stores. One thread says how many it shall be; then it is done, and with the next it counts anew. `parity` says which of
// those is waited for, the counter's first being 0.
DEVICE void send(u32 address, u32 x, u32 counter) {
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(address), "r"(x),
               "r"(counter) : "memory");
}
DEVICE void new_counter(u32 counter) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(counter) : "memory");
}
DEVICE void expect(u32 counter, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(counter), "r"(bytes) : "memory");
}
DEVICE void await(u32 counter, u32 parity) {
  asm volatile("{.reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1; @!done bra again;}"
               ::"r"(counter), "r"(parity) : "memory");
}
