// Sums of rows picked by bits. Four rows have sixteen sums: work them out once, then every pick of four is one look-up
// (the method of the four Russians). Columns go in blocks of NV vectors, each with tables of its own: what fits into registers.
#pragma once
#include <algorithm>
#include <type_traits>

#include "lanes.h"

namespace coexplore {

constexpr int BLOCK = 8, PATTERNS = 16;

// Calls f(std::integral_constant<int, NV>, column) for every block of columns.
template <int NV, class F>
INLINE void block(int vectors, int column, F&& f) {
  if constexpr (NV > 0) {
    if (vectors == NV) f(std::integral_constant<int, NV>{}, column);
    else block<NV - 1>(vectors, column, f);
  }
}

template <int MOST = BLOCK, class F>
INLINE void blocks(int width, F&& f) {
  for (int column = 0; column < width; column += MOST * LANES)
    block<MOST>(std::min(MOST, (width - column) / LANES), column, f);
}

inline int fours(int rows) { return (rows + 3) / 4; }

// out[i]: the pattern that four slices of bits make at i < n. Reads and writes whole vectors, up to seven places past the end.
INLINE void patterns(const int32_t* bits, int slice, int n, int32_t* out) {
  for (int i = 0; i < n; i += LANES, bits += LANES)
    store(out + i, load(bits) + (load(bits + slice) << 1) + (load(bits + 2 * slice) << 2) + (load(bits + 3 * slice) << 3));
}

// The sums of every group of four rows; row(group, k, j) is vector j of a group's k-th row.
template <int NV, class F>
INLINE void make_tables(int groups, float* tables, F&& row) {
  for (int g = 0; g < groups; g++, tables += PATTERNS * NV * LANES)
    for (int j = 0; j < NV; j++) {
      float* table = tables + j * LANES;
      Lanes sums[PATTERNS];
      sums[0] = Lanes{};
      for (int k = 0; k < 4; k++) {
        const Lanes x = row(g, k, j);
        sums[1 << k] = x;
        for (int i = 1; i < 1 << k; i++) sums[(1 << k) + i] = sums[i] + x;
      }
      for (int i = 0; i < PATTERNS; i++) store(table + i * NV * LANES, sums[i]);
    }
}

// The same for scale times the rows of a matrix, of which group g has rows {g, g+Q, g+2Q, g+3Q}, Q = fours(D).
template <int NV>
INLINE void make_tables(const float* W, int D, int width, int column, float scale, float* tables) {
  const int Q = fours(D);
  make_tables<NV>(Q, tables, [&](int g, int k, int j) INLINE_LAMBDA {
    const int i = g + k * Q;  // no branch for rows past the last: any row, times zero
    return all(i < D ? scale : 0.f) * load(W + std::min(i, D - 1) * width + column + LANES * j);
  });
}

// a += the sums that the patterns pick, one per group.
template <int NV>
INLINE void add_picked(const float* tables, const int32_t* pattern, int stride, int groups, Lanes* a) {
  for (int g = 0; g < groups; g++, tables += PATTERNS * NV * LANES, pattern += stride) {
    const float* row = tables + (ptrdiff_t)*pattern * (NV * LANES);
    for (int j = 0; j < NV; j++) a[j] += load(row + LANES * j);
  }
}

}  // namespace coexplore
