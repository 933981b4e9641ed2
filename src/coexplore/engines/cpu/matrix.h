// Small matrix products on rows padded to whole vectors. Columns go in blocks of at most eight vectors: what fits into registers.
#pragma once
#include <algorithm>
#include <type_traits>

#include "lanes.h"

namespace coexplore {

constexpr int BLOCK = 8;

// Calls f(std::integral_constant<int, NV>, column) for every block of columns.
template <int NV, class F>
INLINE void block(int vectors, int column, F&& f) {
  if constexpr (NV > 0) {
    if (vectors == NV) f(std::integral_constant<int, NV>{}, column);
    else block<NV - 1>(vectors, column, f);
  }
}

template <class F>
INLINE void blocks(int width, F&& f) {
  for (int column = 0; column < width; column += BLOCK * LANES)
    block<BLOCK>(std::min(BLOCK, (width - column) / LANES), column, f);
}

// out[b] = bias + sum_i x[b][i] W[i]
inline void affine(const float* x, int B, int D, const float* W, const float* bias, int width, float* out) {
  blocks(width, [&](auto nv, int column) INLINE_LAMBDA {
    constexpr int NV = decltype(nv)::value;
    for (int b = 0; b < B; b++) {
      Lanes a[NV];
      for (int j = 0; j < NV; j++) a[j] = load(bias + column + LANES * j);
      for (int i = 0; i < D; i++) {
        const Lanes s = all(x[b * D + i]);
        for (int j = 0; j < NV; j++) a[j] += s * load(W + i * width + column + LANES * j);
      }
      for (int j = 0; j < NV; j++) store(out + b * width + column + LANES * j, a[j]);
    }
  });
}

// out[i] = scale * sum_b x[b][i] e[b]
inline void outer(const float* x, int stride, int rows, const float* e, int B, int width, float scale, float* out) {
  blocks(width, [&](auto nv, int column) INLINE_LAMBDA {
    constexpr int NV = decltype(nv)::value;
    for (int i = 0; i < rows; i++) {
      Lanes a[NV] = {};
      for (int b = 0; b < B; b++) {
        const Lanes s = all(x[b * stride + i]);
        for (int j = 0; j < NV; j++) a[j] += s * load(e + b * width + column + LANES * j);
      }
      for (int j = 0; j < NV; j++) store(out + i * width + column + LANES * j, all(scale) * a[j]);
    }
  });
}

inline float dot(const float* x, const float* y, int width) {
  Lanes a = {};
  for (int j = 0; j < width; j += LANES) a += load(x + j) * load(y + j);
  float sum = 0;
  for (int j = 0; j < LANES; j++) sum += a[j];
  return sum;
}

}  // namespace coexplore
