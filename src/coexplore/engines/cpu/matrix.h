// Small matrix products with a factor of bits, on rows padded to whole vectors.
#pragma once
#include "tables.h"

namespace coexplore {

// out[b] = scale (bias + sum_i x[b][i] W[i]), x in {0, 1} or {-1, +1}; pattern[b] holds its bits by fours.
inline void affine(const int32_t* pattern, int B, int D, bool is_signed, const float* W, const float* bias, int width,
                   float scale, float* tables, float* out) {
  const int Q = fours(D);
  blocks(width, [&](auto nv, int column) INLINE_LAMBDA {
    constexpr int NV = decltype(nv)::value;
    make_tables<NV>(W, D, width, column, is_signed ? 2 * scale : scale, tables);
    Lanes start[NV] = {};
    if (is_signed) {  // x = 2 bit - 1: half of what all bits would add
      const int32_t every = PATTERNS - 1;
      add_picked<NV>(tables, &every, 0, Q, start);
    }
    for (int j = 0; j < NV; j++) start[j] = all(scale) * load(bias + column + LANES * j) - all(0.5f) * start[j];
    for (int b = 0; b < B; b++) {
      Lanes a[NV];
      for (int j = 0; j < NV; j++) a[j] = start[j];
      add_picked<NV>(tables, pattern + b * Q, 1, Q, a);
      for (int j = 0; j < NV; j++) store(out + b * width + column + LANES * j, a[j]);
    }
  });
}

// For every row i and vector at column j: finish(i, j, sum_r x[r][i] weight[r] e[r]). Four examples r make a group;
// pattern[group][i] holds their bits x. Sums go out in registers, so that what uses them need not load them again.
constexpr int OUTER_BLOCK = 4, OUTER_GROUPS = 8;  // 16 KiB of tables: half of the nearest cache

template <class F>
INLINE void outer(const int32_t* pattern, int rows, int stride, int groups, const float* e, const float* weight,
                  int width, float* tables, float* partial, F&& finish) {
  blocks<OUTER_BLOCK>(width, [&](auto nv, int column) INLINE_LAMBDA {
    constexpr int NV = decltype(nv)::value;
    for (int from = 0; from < groups; from += OUTER_GROUPS) {
      const int n = std::min(OUTER_GROUPS, groups - from);
      make_tables<NV>(n, tables, [&](int g, int k, int j) INLINE_LAMBDA {
        const int r = 4 * (from + g) + k;
        return all(weight[r]) * load(e + (size_t)r * width + column + LANES * j);
      });
      for (int i = 0; i < rows; i++) {
        float* so_far = partial + i * NV * LANES;
        Lanes a[NV] = {};
        if (from > 0)
          for (int j = 0; j < NV; j++) a[j] = load(so_far + LANES * j);
        add_picked<NV>(tables, pattern + (size_t)from * stride + i, stride, n, a);
        if (from + n < groups)
          for (int j = 0; j < NV; j++) store(so_far + LANES * j, a[j]);
        else
          for (int j = 0; j < NV; j++) finish(i, column + LANES * j, a[j]);
      }
    }
  });
}

INLINE float sum(Lanes a) {  // by halves: a short chain
  float x[LANES];
  store(x, a);
  for (int half = LANES / 2; half > 0; half /= 2)
    for (int j = 0; j < half; j++) x[j] += x[j + half];
  return x[0];
}

inline float dot(const float* x, const float* y, int width) {
  Lanes a = {};
  for (int j = 0; j < width; j += LANES) a += load(x + j) * load(y + j);
  return sum(a);
}

inline float dot(const int32_t* bits, const float* y, int width) {
  Lanes a = {};
  for (int j = 0; j < width; j += LANES) a += only(-load(bits + j), load(y + j));
  return sum(a);
}

}  // namespace coexplore
