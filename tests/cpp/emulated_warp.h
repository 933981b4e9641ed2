// A GPU's thread block, or a cluster of them, on one processor, in the place of engines/cuda/instructions.cuh: every thread is
// a fiber, and where the threads of a warp must meet (shuffles, matrix instructions) or those of a block or of the cluster
// (barriers), a fiber hands over. Warps run one after the other between barriers, and a block until it waits for the others,
// forwards or backwards: a result that depends on the order is a race.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#define DEVICE inline
#define KERNEL(threads, blocks) static void
constexpr int BLOCK_THREADS = GIVEN_THREADS;

using u32 = uint32_t;
using u64 = uint64_t;
struct uint2 { u32 x, y; };
struct float4 { float x, y, z, w; };

namespace emulated {

constexpr size_t STACK = 128 * 1024;

struct Fiber {
  std::unique_ptr<char[]> stack{new char[STACK]};
  jmp_buf place;
  u32 met = 0;  // times it met the others of its warp
  enum { NOTHING, BLOCK, CLUSTER, BYTES } awaits = NOTHING;
  u32 counter = 0, parity = 0;  // of the bytes that it awaits
  bool begun = false, done = false;
};

constexpr u32 MEMORY = 232448;

// What runs: the blocks of a cluster, one after the other in `fibers` and `memory`.
struct Block {
  std::vector<Fiber> fibers;
  std::vector<u32> slots;  // [warp][two turns][lane][8 words]: what each lane brought to a meeting
  alignas(128) unsigned char memory[GIVEN_CLUSTER * MEMORY];
  u32 index = 0, current = 0;  // of the run; of the thread that runs
  jmp_buf scheduler;
  std::function<void()> body;
} block;

// Jumps cost no system call, as swapcontext does; a context is made only to get onto a new stack.
inline void hand_over() {
  if (!_setjmp(block.fibers[block.current].place)) _longjmp(block.scheduler, 1);
}

// All lanes of the warp bring words and then see everybody's.
inline const u32* meet(const u32* words, int n) {
  const u32 me = block.current, lane = me % 32;
  Fiber& fiber = block.fibers[me];
  u32* slots = block.slots.data() + ((me / 32) * 2 + fiber.met++ % 2) * 32 * 8;
  std::copy(words, words + n, slots + lane * 8);
  hand_over();
  return slots;
}

inline void enter() {
  block.body();
  block.fibers[block.current].done = true;
  hand_over();
}

inline void resume(Fiber& fiber) {
  if (_setjmp(block.scheduler)) return;
  if (fiber.begun) _longjmp(fiber.place, 1);
  fiber.begun = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = STACK;
  makecontext(&context, enter, 0);
  setcontext(&context);
}

// In shared memory, of what is sent: bytes that are still to come, and in the other word the parity and whether it is known
// how many they are.
struct Counter {
  int32_t left;
  u32 parity : 1, known : 1;
  void change(int32_t bytes) {
    left += bytes;
    if (bytes > 0) known = 1;
    if (known && left == 0) known = 0, parity ^= 1;
  }
};
inline Counter& counter_at(u32 address) { return *(Counter*)(block.memory + address); }

// What is sent comes only when it is awaited: whoever reads without waiting reads what was there before.
struct Word {
  u32 address, x;
};
std::map<u32, std::vector<Word>> under_way;  // by counter
inline void deliver(u32 counter) {
  for (const Word& word : under_way[counter]) {
    std::memcpy(block.memory + word.address, &word.x, 4);
    counter_at(counter).change(-4);
  }
  under_way[counter].clear();
}

// Lane by lane from meeting to meeting, until the whole warp waits; whether anything was done.
inline bool run_warp(int warp) {
  bool ever = false;
  for (bool on = true; on; ever |= on) {
    on = false;
    const auto lanes = block.fibers.begin() + warp * 32;
    std::for_each(lanes, lanes + 32, [](Fiber& fiber) {
      if (fiber.awaits != Fiber::BYTES) return;
      deliver(fiber.counter);
      if (counter_at(fiber.counter).parity != fiber.parity) fiber.awaits = Fiber::NOTHING;
    });
    for (int lane = 0; lane < 32; lane++) {
      block.current = warp * 32 + lane;
      Fiber& fiber = block.fibers[block.current];
      if (fiber.awaits || fiber.done) continue;
      resume(fiber);
      on = true;
    }
  }
  return ever;
}

// Warp by warp from barrier to barrier, until the whole block waits for others; whether anything was done.
inline bool run_block(int first, int threads, bool backwards) {
  const auto begin = block.fibers.begin() + first, end = begin + threads;
  for (bool ever = false;; ever = true) {
    bool on = false;
    for (int i = 0; i < threads / 32; i++) on |= run_warp(first / 32 + (backwards ? threads / 32 - 1 - i : i));
    if (!on && !std::all_of(begin, end, [](const Fiber& fiber) { return fiber.awaits == Fiber::BLOCK; })) return ever;
    if (!on) std::for_each(begin, end, [](Fiber& fiber) { fiber.awaits = Fiber::NOTHING; });
  }
}

inline void run(int threads, bool backwards) {
  const int blocks = GIVEN_CLUSTER;
  under_way.clear();
  block.fibers.resize(blocks * threads);
  block.slots.assign(blocks * threads * 2 * 8, 0);
  std::fill(block.memory, block.memory + sizeof block.memory, 0xFF);
  for (Fiber& fiber : block.fibers) fiber.met = 0, fiber.begun = fiber.done = false, fiber.awaits = Fiber::NOTHING;
  const auto begin = block.fibers.begin(), end = block.fibers.end();
  while (!std::all_of(begin, end, [](const Fiber& fiber) { return fiber.done; })) {
    bool on = false;
    for (int i = 0; i < blocks; i++) on |= run_block((backwards ? blocks - 1 - i : i) * threads, threads, backwards);
    if (on) continue;
    if (!std::all_of(begin, end, [](const Fiber& fiber) { return fiber.awaits == Fiber::CLUSTER; })) std::abort();  // for ever
    std::for_each(begin, end, [](Fiber& fiber) { fiber.awaits = Fiber::NOTHING; });
  }
}

inline float half(u32 h) {
  const u32 sign = h >> 15 & 1, exponent = h >> 10 & 31, mantissa = h & 1023;
  const double x = exponent ? std::ldexp(1024.0 + mantissa, (int)exponent - 25) : std::ldexp((double)mantissa, -24);
  return (float)(sign ? -x : x);
}

inline u32 to_half(float x) {
  const u32 sign = std::signbit(x) ? 0x8000u : 0u;
  const double size = std::fabs((double)x);
  if (std::isnan(x)) return 0x7FFFu;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int scale = std::max(exponent, -13) - 11;  // of the last bit kept
  const double rounded = std::nearbyint(std::ldexp(size, -scale));
  const double value = std::min(std::ldexp(rounded, scale), 65504.0);
  if (value < std::ldexp(1.0, -14)) return sign | (u32)std::ldexp(value, 24);
  std::frexp(value, &exponent);
  return sign | (u32)(exponent + 14) << 10 | ((u32)std::ldexp(value, 11 - exponent) & 1023u);
}

}  // namespace emulated

inline u32 thread_index() { return emulated::block.current % BLOCK_THREADS; }
inline u32 block_index() { return emulated::block.index * GIVEN_CLUSTER + emulated::block.current / BLOCK_THREADS; }
inline void barrier() {
  emulated::block.fibers[emulated::block.current].awaits = emulated::Fiber::BLOCK;
  emulated::hand_over();
}
inline void cluster_barrier() {
  emulated::block.fibers[emulated::block.current].awaits = emulated::Fiber::CLUSTER;
  emulated::hand_over();
}
inline void only_here() {}

// Addresses count through the memory of the whole cluster.
inline unsigned char* shared_memory() {
  return emulated::block.memory + emulated::block.current / BLOCK_THREADS * emulated::MEMORY;
}
inline u32 shared_address(const void* p) { return (u32)((const unsigned char*)p - emulated::block.memory); }
inline u32 address_in(u32 block, u32 address) { return block * emulated::MEMORY + address % emulated::MEMORY; }

inline u32 bits(float x) { u32 y; std::memcpy(&y, &x, 4); return y; }
inline float from_bits(u32 x) { float y; std::memcpy(&y, &x, 4); return y; }
inline u32 shuffle(u32 x, u32 from) { return emulated::meet(&x, 1)[from % 32 * 8]; }
inline float shuffle(float x, u32 from) { return from_bits(shuffle(bits(x), from)); }
inline u32 shuffle_xor(u32 x, u32 mask) { return shuffle(x, (thread_index() ^ mask) % 32); }
inline float shuffle_xor(float x, u32 mask) { return from_bits(shuffle_xor(bits(x), mask)); }

inline void multiply_wide(u32 a, u32 b, u32& low, u32& high) {
  const u64 product = (u64)a * b;
  low = (u32)product, high = (u32)(product >> 32);
}
inline float exp2_(float x) { return std::exp2(x); }
inline float reciprocal(float x) { return 1.f / x; }
inline float square_root(float x) { return std::sqrt(x); }
inline u32 negative(float x, float y) { return (std::signbit(x) ? 0xFFFFu : 0u) | (std::signbit(y) ? 0xFFFF0000u : 0u); }
inline u32 pack(float x, float y) { return emulated::to_half(x) | emulated::to_half(y) << 16; }
inline void unpack(u32 h, float& x, float& y) { x = emulated::half(h & 0xFFFFu), y = emulated::half(h >> 16); }

// The spread over lanes is the one that NVIDIA's PTX manual gives for m16n8k16 and for ldmatrix.
inline void mma(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
  const u32 words[6] = {a[0], a[1], a[2], a[3], b0, b1}, lane = thread_index() % 32;
  const u32* all = emulated::meet(words, 6);
  auto part = [&](u32 from, u32 word, u32 k) { return emulated::half(all[from * 8 + word] >> 16 * (k % 2) & 0xFFFFu); };
  for (int i = 0; i < 4; i++) {
    const u32 row = lane / 4, column = lane % 4 * 2 + i % 2;
    double sum = 0;
    for (u32 k = 0; k < 16; k++) {
      const float x = part(row * 4 + k % 8 / 2, (i / 2) + k / 8 * 2, k), y = part(column * 4 + k % 8 / 2, 4 + k / 8, k);
      sum += (double)x * y;
    }
    d[i] = (float)(d[i] + sum);
  }
}

inline void load_matrices(u32 (&r)[4], u32 address, bool transposed = false) {
  const u32 lane = thread_index() % 32;
  const u32* all = emulated::meet(&address, 1);
  for (int m = 0; m < 4; m++) {
    auto element = [&](u32 row, u32 column) {
      uint16_t x;
      std::memcpy(&x, emulated::block.memory + all[(m * 8 + row) * 8] + 2 * column, 2);
      return (u32)x;
    };
    const u32 i = lane / 4, j = lane % 4 * 2;
    r[m] = transposed ? element(j, i) | element(j + 1, i) << 16 : element(i, j) | element(i, j + 1) << 16;
  }
}
inline void load_matrices_transposed(u32 (&r)[4], u32 address) { load_matrices(r, address, true); }
inline void store_shared(u32 address, u32 x) { std::memcpy(emulated::block.memory + address, &x, 4); }
inline void send(u32 address, u32 x, u32 counter) {
  if (address / emulated::MEMORY != counter / emulated::MEMORY) std::abort();
  emulated::under_way[counter].push_back({address, x});
}
inline void new_counter(u32 counter) { emulated::counter_at(counter) = {0, 0, 0}; }
inline void expect(u32 counter, u32 bytes) { emulated::counter_at(counter).change(bytes); }
inline void await(u32 counter, u32 parity) {
  emulated::Fiber& fiber = emulated::block.fibers[emulated::block.current];
  fiber.awaits = emulated::Fiber::BYTES, fiber.counter = counter, fiber.parity = parity;
  emulated::hand_over();
}
