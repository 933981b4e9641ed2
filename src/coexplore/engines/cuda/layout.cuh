// What a run looks like in memory. One thread block is one run; its weights stay in registers for the length of a launch.
//
// In global memory, between launches, three vectors per run: weights, first and second moments, laid out alike,
//
//     W [24][U] | V [24][64] | W_out [U] | w [64] | b_out | w_0 | W_rec [U][U] (chain only)
//
// with U the units padded to the size that was compiled. The inputs of W and V are the bits of S, then zeros, then the
// constant 1 at BIAS, whose row is b (and v). Weights of matrices are stored as their two half-precision parts, high | low << 16,
// and so come back bit for bit; the others are floats. A critic narrower than 64, or none, is one with zeros: a unit without
// outgoing weight gets no gradient. Units beyond the run's own never fire.
//
// In shared memory, while it trains (activity as in fragments.cuh; [8] and [2] are turns, by update):
//
//     S [8] | H [2] | partial sums of the output [2][U / 8][16] | of the critic [2][8][16] | answers [8][16] | Settings | moments
//
// A warp owns TILES tiles of eight units, and its share of the critic's eight tiles.
#pragma once
#include "instructions.cuh"

enum class Family { independent, boltzmann, recurrent };
enum Rule { REINFORCE, STRAIGHT_THROUGH, UNBIASED_WEIGHT_MAX, EXPECTED_WEIGHT_MAX };  // of the independent family

constexpr int B = 16, TILE = 8, CRITIC = 64, INPUTS = 24, BIAS = 20, INPUT_TILES = INPUTS / TILE, MAX_BITS = 4;
constexpr u32 AHEAD = 4, TURNS = 2 * AHEAD;  // updates whose states are sampled at a time, a warp for each; kept of them

// A number that moves in a straight line through the training.
struct Linear {
  float start, stop;
  DEVICE float at(float progress) const { return fmaf(stop - start, progress, start); }
};

// What a block has to know of its run. `strength` is 0 where the activity is not centred.
struct Settings {
  u32 seed;
  int units, bits, steps, rule, signed_inputs, signed_rewards, centre_reward, tanh_critic;
  Linear coupling, strength, rate_hidden, rate_output, rate_critic;
  float decay;
};

// What one update drew, for replaying it elsewhere: s [16][24], u and h [T + 1][16][U], u_a and a [16].
struct Draws {
  float *s, *u, *h, *u_a, *a;
};

template <Family KIND, int PADDED_UNITS, int TILES_PER_WARP>
struct Shape {
  static constexpr Family FAMILY = KIND;
  static constexpr bool CHAIN = FAMILY != Family::independent;
  static constexpr int UNITS = PADDED_UNITS, TILES = TILES_PER_WARP, UNIT_TILES = UNITS / TILE, CRITIC_TILES = CRITIC / TILE;
  static constexpr int OWNERS = UNIT_TILES / TILES, WARPS = OWNERS < 4 ? 4 : OWNERS, THREADS = 32 * WARPS;
  static constexpr int CRITIC_SHARE = (CRITIC_TILES + WARPS - 1) / WARPS;
  static constexpr int DEPTH = (UNITS + 15) / 16;  // products of sixteen inputs that make up W_rec^T H
  static constexpr int REC_TILES = CHAIN ? UNIT_TILES : 0;

  // Pairs of weights a thread has, in this order: W_rec, W, V.
  static constexpr int W_PAIRS = TILES * REC_TILES, V_PAIRS = W_PAIRS + TILES * INPUT_TILES;
  static constexpr int PAIRS = V_PAIRS + CRITIC_SHARE * INPUT_TILES;
  static constexpr bool MOMENTS_IN_REGISTERS = PAIRS <= 13;

  // Global memory, in words.
  static constexpr int W = 0, V = W + INPUTS * UNITS, W_OUT = V + INPUTS * CRITIC, W_CRITIC = W_OUT + UNITS;
  static constexpr int B_OUT = W_CRITIC + CRITIC, W_0 = B_OUT + 1, W_REC = W_0 + 1;
  static constexpr int LENGTH = W_REC + (CHAIN ? UNITS * UNITS : 0);

  // Shared memory, in bytes.
  static constexpr int S_HALF = 32 * 16, H_HALF = DEPTH * 16 * 16, S_BYTES = 2 * S_HALF, H_BYTES = 2 * H_HALF;
  static constexpr int AT_S = 0, AT_H = AT_S + TURNS * S_BYTES, AT_OUT = AT_H + (CHAIN ? 2 * H_BYTES : 0);
  static constexpr int AT_VALUE = AT_OUT + 2 * UNIT_TILES * 64, AT_ANSWER = AT_VALUE + 2 * CRITIC_TILES * 64;
  static constexpr int AT_SETTINGS = AT_ANSWER + TURNS * 64, AT_MOMENTS = AT_SETTINGS + 128;
  static constexpr int SHARED = AT_MOMENTS + (MOMENTS_IN_REGISTERS ? 0 : PAIRS * THREADS * 16);
};
