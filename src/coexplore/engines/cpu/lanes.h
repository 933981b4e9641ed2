// Eight floats at a time, in the compiler's own vector types: one source for every instruction set.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

// Kernels are fast only as a whole: vectors must stay in registers across what looks like a call.
#define INLINE_LAMBDA __attribute__((always_inline))
#define INLINE inline __attribute__((always_inline))

namespace coexplore {

constexpr int LANES = 8;
typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint32_t Words __attribute__((vector_size(4 * LANES)));

INLINE Lanes load(const float* p) { Lanes x; std::memcpy(&x, p, sizeof x); return x; }
INLINE Ints load(const int32_t* p) { Ints x; std::memcpy(&x, p, sizeof x); return x; }
INLINE void store(float* p, Lanes x) { std::memcpy(p, &x, sizeof x); }
INLINE void store(int32_t* p, Ints x) { std::memcpy(p, &x, sizeof x); }
INLINE Lanes all(float x) { return Lanes{} + x; }
INLINE Lanes only(Ints mask, Lanes x) { return (Lanes)((Ints)x & mask); }  // zero where the mask is 0, x where it is -1

INLINE Lanes root(Lanes x) {
  for (int l = 0; l < LANES; l++) x[l] = std::sqrt(x[l]);
  return x;
}

inline int padded(int n) { return (n + LANES - 1) / LANES * LANES; }

constexpr float LOG2E = 1.4426950408889634f;

// Compilers turn the plain form into a comparison and a blend; these are one instruction each.
#if defined(__AVX__)
INLINE Lanes larger(Lanes x, Lanes y) { return (Lanes)_mm256_max_ps((__m256)x, (__m256)y); }
INLINE Lanes smaller(Lanes x, Lanes y) { return (Lanes)_mm256_min_ps((__m256)x, (__m256)y); }
#else
INLINE Lanes larger(Lanes x, Lanes y) { return x > y ? x : y; }
INLINE Lanes smaller(Lanes x, Lanes y) { return x < y ? x : y; }
#endif

// 2^x for |x| <= 126, relative error below 3e-7: x = k + f with |f| <= 1/2, 2^k by the exponent, 2^f by a polynomial.
INLINE Lanes exp2(Lanes x) {
  x = smaller(larger(x, all(-126.f)), all(126.f));
  const Lanes magic = all(12582912.f);  // 1.5 * 2^23: adding it rounds to a whole number
  const Lanes k = (x + magic) - magic, f = x - k;
  const Lanes f2 = f * f;  // pairs of terms side by side: half as long a chain as Horner's
  const Lanes low = (all(6.9314718e-1f) * f + 1.f) + (all(5.5504109e-2f) * f + 2.4022651e-1f) * f2;
  const Lanes high = (all(1.3333558e-3f) * f + 9.6181291e-3f) + all(1.5403530e-4f) * f2;
  const Lanes p = high * (f2 * f2) + low;
  return (Lanes)((Ints)p + (__builtin_convertvector(k, Ints) << 23));
}

// Units are driven by y = -log2(e) * x, so that 2^y = e^-x.
INLINE Lanes probability(Lanes y) { return all(1.f) / (all(1.f) + exp2(y)); }

}  // namespace coexplore
