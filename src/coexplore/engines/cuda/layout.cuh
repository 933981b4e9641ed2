// What a run looks like in memory. One thread block is one run, or one of a cluster of blocks that share its hidden units;
// its weights stay in registers for the length of a launch.
//
// In global memory, between launches, three vectors per run: weights, first and second moments, laid out alike,
//
//     W [I][U] | V [I][64] | W_out [U] | w [64] | b_out | w_0 | W_rec [U][U] (chain only) | U [I][U] (if units predict themselves)
//
// with U the units padded to the size that was compiled, and I the inputs: 24, or 40 with five address bits. The inputs of W
// and V are the bits of S, then zeros, then the constant 1 at BIAS, whose row is b (and v). Weights of matrices are stored as
// their two half-precision parts, high | low << 16, and so come back bit for bit; the others are floats. A critic narrower than
// 64, or none, is one with zeros: a unit without outgoing weight gets no gradient. Units beyond the run's own never fire.
//
// In shared memory, while it trains (activity as in fragments.cuh; [8] and [2] are turns, by update):
//
//     S [8] | H [2] | E (for pairs) | partial sums of the output [2][U / 8][16] | of the critic [2][8][16] | answers [8][16] | Settings | moments
//
// A warp owns TILES tiles of eight units, and its share of the critic's eight tiles. The blocks of a cluster have different
// tiles, and all of the rest: H and the output's sums are sent into the shared memory of each of them, where a counter tells
// when they have all come, and states, answers, the critic and the output are worked out by each, from the same numbers to the
// same bits; the first writes those down.
// Moments for which shared memory has no room are in global memory, [STREAMED][threads] for a block.
#pragma once
#include "instructions.cuh"

enum class Family { independent, boltzmann, recurrent };
enum class Centre { none, half, drive, predicted };  // E, of which Algorithm 1 subtracts kappa E from H
enum Rule { REINFORCE, STRAIGHT_THROUGH, UNBIASED_WEIGHT_MAX, EXPECTED_WEIGHT_MAX };  // of the independent family

constexpr int B = 16, TILE = 8, CRITIC = 64, MOST_SHARED = 227 * 1024;
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
  Linear coupling, strength, pair_strength, rate_hidden, rate_output, rate_critic;
  float decay, recurrent_rate, centring_rate;  // the latter two as multiples of rate_hidden
};

// What one update drew, for replaying it elsewhere: s [16][I], u and h [T + 1][16][U], u_a and a [16].
struct Draws {
  float *s, *u, *h, *u_a, *a;
};

template <Family KIND, int PADDED_UNITS, int TILES_PER_WARP, int PADDED_INPUTS, int BLOCKS_PER_RUN, bool SIGNED,
          bool SIGNED_CHAIN, bool RATE_OF_ITS_OWN, bool DRAWN_AT_TIMES, Centre CENTRED_BY, bool PAIRS_TOO>
struct Shape {
  static constexpr Family FAMILY = KIND;
  static constexpr bool CHAIN = FAMILY != Family::independent;
  static constexpr int UNITS = PADDED_UNITS, TILES = TILES_PER_WARP, UNIT_TILES = UNITS / TILE, CRITIC_TILES = CRITIC / TILE;
  static constexpr int INPUTS = PADDED_INPUTS, MAX_BITS = INPUTS == 24 ? 4 : 5, BIAS = MAX_BITS + (1 << MAX_BITS);
  static constexpr int INPUT_TILES = INPUTS / TILE, INPUT_DEPTH = (INPUTS + 15) / 16, INPUT_LANES = (INPUTS + 31) / 32;
  static constexpr int CLUSTER = BLOCKS_PER_RUN;
  static constexpr bool EARLY_VALUE = CHAIN && CLUSTER == 1;  // see `prepare`
  static constexpr bool SIGNED_OUT = SIGNED, SIGNED_REC = SIGNED_CHAIN;  // whether the output, the chain hear 2 H - 1
  static constexpr bool OWN_RATE = RATE_OF_ITS_OWN;                      // whether W_rec has one
  static constexpr bool LAZY = DRAWN_AT_TIMES;                           // whether a unit is drawn anew in half of the steps
  static constexpr Centre CENTRE = CENTRED_BY;
  static constexpr bool CENTRED = CENTRE != Centre::none, PREDICTS = CENTRE == Centre::predicted;
  static constexpr bool CENTRED_PAIRS = PAIRS_TOO;  // whether W_rec is centred too, by E E^T
  static constexpr int OWNERS = UNIT_TILES / CLUSTER / TILES, WARPS = OWNERS < 4 ? 4 : OWNERS, THREADS = 32 * WARPS;
  static constexpr int CRITIC_SHARE = (CRITIC_TILES + WARPS - 1) / WARPS;
  static constexpr int DEPTH = (UNITS + 15) / 16;  // products of sixteen inputs that make up W_rec^T H
  static constexpr int CHAINS = DEPTH > 8 ? 2 : 1;  // sums that these go into by turns, not to wait for one another
  static constexpr int REC_TILES = CHAIN ? UNIT_TILES : 0;
  static constexpr int SLICES = TILES * UNITS <= 256 ? 1 : 2;  // see learn_recurrent
  static_assert(UNIT_TILES % (CLUSTER * TILES) == 0 && (CLUSTER == 1 || OWNERS == WARPS), "every warp has its tiles");

  // Pairs of weights a thread has, in this order: W_rec (see `rec_pair`), W, U, V.
  static constexpr int W_PAIRS = TILES * REC_TILES, U_PAIRS = W_PAIRS + TILES * INPUT_TILES;
  static constexpr int V_PAIRS = U_PAIRS + (PREDICTS ? TILES * INPUT_TILES : 0);
  static constexpr int PAIRS = V_PAIRS + CRITIC_SHARE * INPUT_TILES;
  static constexpr bool MOMENTS_IN_REGISTERS = PAIRS <= 13;

  // Global memory, in words.
  static constexpr int W = 0, V = W + INPUTS * UNITS, W_OUT = V + INPUTS * CRITIC, W_CRITIC = W_OUT + UNITS;
  static constexpr int B_OUT = W_CRITIC + CRITIC, W_0 = B_OUT + 1, W_REC = W_0 + 1;
  static constexpr int U = W_REC + (CHAIN ? UNITS * UNITS : 0), LENGTH = U + (PREDICTS ? INPUTS * UNITS : 0);

  // Shared memory, in bytes.
  static constexpr int S_HALF = INPUT_DEPTH * 16 * 16, H_HALF = DEPTH * 16 * 16, S_BYTES = 2 * S_HALF, H_BYTES = 2 * H_HALF;
  static constexpr int AT_S = 0, AT_H = AT_S + TURNS * S_BYTES, AT_E = AT_H + (CHAIN ? 2 * H_BYTES : 0);
  static constexpr int AT_OUT = AT_E + (CENTRED_PAIRS ? H_BYTES : 0);
  static constexpr int AT_VALUE = AT_OUT + 2 * UNIT_TILES * 64, AT_ANSWER = AT_VALUE + 2 * CRITIC_TILES * 64;
  static constexpr int AT_SETTINGS = AT_ANSWER + TURNS * 64, AT_MOMENTS = AT_SETTINGS + 128;
  static constexpr int AT_COUNTERS = AT_SETTINGS + 96, COUNTERS = 4;  // in a cluster: of H, two turns; of sums, two
  static constexpr int PAIR = THREADS * 16, ROOM = (MOST_SHARED - AT_MOMENTS) / PAIR;
  static constexpr int STREAMED = MOMENTS_IN_REGISTERS || PAIRS <= ROOM ? 0 : (PAIRS - ROOM + TILES - 1) / TILES * TILES;
  static constexpr int SHARED = AT_MOMENTS + (MOMENTS_IN_REGISTERS ? 0 : (PAIRS - STREAMED) * PAIR);
};
