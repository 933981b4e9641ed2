// Matrices spread over a warp. Products are transposed, X^T = W^T H^T, since a batch of 16 fits the tensor cores' small side.
//
// A lane is (row = lane / 4, column = lane % 4). The tensor cores multiply 16 x 16 by 16 x 8; the 16 rows on the left are
// eight units twice, once the high and once the low parts of their numbers:
//
//     left, word 0:  row `row`   high part of inputs 2 column, 2 column + 1      word 2: of inputs 8 further on
//           word 1:  row `row`   low part of the same                            word 3: of inputs 8 further on
//     result         unit `row`, episodes 2 column and 2 column + 1: [0] + [2] and [1] + [3], high and low together
//
// Half precision has 11 bits, so high + low has 22; H and S have one. The second half of the batch is a second product, and
// what a lane has of a tile is x[4]: unit `row` in the episodes 8 (k / 2) + 2 column + k % 2.
//
// For the gradient sum_b E_j H_i the episodes are what is summed over: E in the place of W, made in the lane that has x. The
// result for inputs 2 column and 2 column + 1 of unit `row` then is in the lane, and the word, that has those weights.
//
// Activity in shared memory: [half of the batch][unit][8 episodes], a row of 16 bytes, so that both ways of reading it
// (transposed for X, straight for the gradient) are conflict-free.
#pragma once
#include "instructions.cuh"

constexpr float LOG2E = 1.4426950408889634f;
constexpr u32 ONE = 0x3C00u;  // 1 in half precision
constexpr u32 ROW_BYTES = 16, PAIR_BYTES = 16 * ROW_BYTES;  // a row of activity; the sixteen rows of one product

// Two halves of 0 or 1 as -1 or 1.
DEVICE u32 signs(u32 h) { return 0xBC00BC00u ^ (h & 0x20002000u) << 2; }

DEVICE void split(float x, float y, u32& high, u32& low) {
  float h_x, h_y;
  high = pack(x, y);
  unpack(high, h_x, h_y);
  low = pack(x - h_x, y - h_y);
}

// Two weights of a fragment against the way they are stored, each as high | low << 16.
DEVICE void from_stored(u32 x, u32 y, u32& high, u32& low) {
  high = (x & 0xFFFFu) | y << 16;
  low = x >> 16 | (y & 0xFFFF0000u);
}

// E for a gradient, with every row brought near 1 by a power of two; `down` undoes that, and divides by the batch of 16.
struct Rows {
  u32 f[4];
  float down;
};
DEVICE Rows as_rows(const float (&e)[4]) {
  Rows rows;
  float largest = fmaxf(fmaxf(fabsf(e[0]), fabsf(e[1])), fmaxf(fabsf(e[2]), fabsf(e[3])));
  largest = fmaxf(largest, shuffle_xor(largest, 1));
  largest = fmaxf(largest, shuffle_xor(largest, 2));
  const u32 exponent = bits(largest) & 0x7F800000u;
  const float up = from_bits(0x7F000000u - exponent);
  split(e[0] * up, e[1] * up, rows.f[0], rows.f[1]);
  split(e[2] * up, e[3] * up, rows.f[2], rows.f[3]);
  rows.down = from_bits(exponent) * (1 / 16.f);
  return rows;
}

// Sum over the units of a tile. The lanes without bit 2 get the sum of the episode `episode_of(lane)`.
DEVICE float sum_units(const float (&x)[4], u32 lane) {
  const bool upper = lane & 16, odd = lane & 8;
  float a = upper ? x[2] : x[0], b = upper ? x[3] : x[1];
  a += shuffle_xor(upper ? x[0] : x[2], 16);
  b += shuffle_xor(upper ? x[1] : x[3], 16);
  float sum = odd ? b : a;
  sum += shuffle_xor(odd ? a : b, 8);
  return sum + shuffle_xor(sum, 4);
}
DEVICE u32 episode_of(u32 lane) { return 2 * (lane & 3) + (lane >> 3 & 1) + 8 * (lane >> 4); }

// Sum over the episodes of a tile: every lane of a row gets its unit's.
DEVICE float sum_episodes(const float (&x)[4]) {
  float sum = (x[0] + x[1]) + (x[2] + x[3]);
  sum += shuffle_xor(sum, 1);
  return sum + shuffle_xor(sum, 2);
}

// From one episode a lane (lane % 16) to the four that the lane has of a tile.
DEVICE void spread(float x, u32 lane, float (&out)[4]) {
#pragma unroll
  for (int k = 0; k < 4; k++) out[k] = shuffle(x, 8 * (k / 2) + 2 * (lane & 3) + k % 2);
}
