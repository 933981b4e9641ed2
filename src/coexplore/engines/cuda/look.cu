// What the network of every run does on 256 fixed states, one block or cluster per run: nothing is learned, no state is changed.
// The random numbers are those of seed 0 in updates that no training reaches, so that all runs see the same states.
//
// Written for each run: how often every hidden unit fires [U], and the output [1], as shares; the mean of (R - V)^2;
// the sums of squares of W, b, W_rec, U, u, W_out, b_out, V, v, w, w_0.
#include "learn.cuh"

using Z = Shape<Family::GIVEN_FAMILY, GIVEN_UNITS, GIVEN_TILES, GIVEN_INPUTS, GIVEN_CLUSTER, GIVEN_SIGNED, GIVEN_SIGNED_CHAIN,
                GIVEN_OWN_RATE, GIVEN_LAZY, Centre::GIVEN_CENTRE, GIVEN_PAIRS>;
static_assert(Z::THREADS == GIVEN_THREADS && Z::AT_MOMENTS == GIVEN_SHARED && Z::LENGTH == GIVEN_LENGTH, "not as layout.py says");
static_assert(Z::FAMILY != Family::recurrent, "keeps what it drew for learning; boltzmann draws alike");

constexpr u32 FIRST = 0xE0000000u, BATCHES = 16, PARAMETERS = 11, SEEN = Z::UNITS + 2 + PARAMETERS;

struct Look : Training<Z, false> {
  float fired[Z::TILES][4] = {};        // of the four episodes that this lane has of a tile
  float fired_out = 0.f, squares = 0.f;  // in the episode lane % 16, the same in every warp

  DEVICE Look() : Training(Draws{}, nullptr, nullptr, nullptr) {}

  DEVICE void load(const u32* weights) {
    each_pair([&](u32& high, u32& low, int, u32 at, u32 stride) {
      from_stored(weights[at], weights[at + stride], high, low);
    });
    each_single([&](Single& x, u32 at, bool) { x.p = from_bits(weights[at]); });
  }

  // The batch of update t, as in `update`.
  DEVICE void see(u32 t) {
    if (t % AHEAD == 0) {
      if (warp < AHEAD) sample_states(t + warp);
      barrier();
    }
    read_states(t);
    explore(t);
    vote(t);
    come_together(t);
    count(t);
  }

  // What H, A and R of the batch add. The lines about A stand in `learn` too, where only the text as it is gives the same
  // machine code.
  DEVICE void count(u32 t) {
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      float h[4];
      unpack(H[n][0], h[0], h[1]);
      unpack(H[n][1], h[2], h[3]);
#pragma unroll
      for (int k = 0; k < 4; k++) fired[n][k] += h[k];
    }
    const u32 b = lane % 16;
    float x = b_out.p;
#pragma unroll (Z::UNIT_TILES < 16 ? Z::UNIT_TILES : 16)
    for (int i = 0; i < Z::UNIT_TILES; i++) x += partial_out(t)[i * 16 + b];
    const bool fires = uniform(random_words(b, t, seed, ACTION).x[0]) < sigmoid(x), correct = fires == (answers(t)[b] != 0);
    const float R = correct ? 1.f : settings.signed_rewards ? -1.f : 0.f, delta = R - value(t);
    fired_out += fires ? 1.f : 0.f;
    squares = fmaf(delta, delta, squares);
  }

  DEVICE void save(float* seen) const {
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      const float rate = sum_episodes(fired[n]) * (1.f / (B * BATCHES));
      if (owner && column == 0) seen[tile(n) * TILE + row] = rate;
    }
    const float rate_out = mean(fired_out) * (1.f / BATCHES), error = mean(squares) * (1.f / BATCHES);
    if (thread_index() == 0 && rank == 0) seen[Z::UNITS] = rate_out, seen[Z::UNITS + 1] = error;
  }
};

// The sum of squares of so many weights, by one warp, always in the same order.
DEVICE float sum_squares(const u32* weights, u32 count, bool halves, u32 lane) {
  float sum = 0.f;
  for (u32 i = lane; i < count; i += 32) {
    float high, low;
    unpack(weights[i], high, low);
    const float x = halves ? high + low : from_bits(weights[i]);
    sum = fmaf(x, x, sum);
  }
  for (u32 mask = 16; mask; mask /= 2) sum += shuffle_xor(sum, mask);
  return sum;
}

// Padding is zero and adds nothing.
DEVICE void measure(const u32* weights, u32 warp, u32 lane, float* seen) {
  const u32 U = Z::UNITS, D = Z::BIAS;
  const u32 of_U = Z::PREDICTS ? U : 0;
  const u32 at[PARAMETERS] = {Z::W, Z::W + D * U, Z::W_REC, Z::U, Z::U + D * U, Z::W_OUT, Z::B_OUT,
                              Z::V, Z::V + D * CRITIC, Z::W_CRITIC, Z::W_0};
  const u32 count[PARAMETERS] = {D * U, U, Z::CHAIN ? U * U : 0, D * of_U, of_U, U, 1, D * CRITIC, CRITIC, CRITIC, 1};
  const bool halves[PARAMETERS] = {true, true, true, true, true, false, false, true, true, false, false};
  for (u32 i = warp; i < PARAMETERS; i += Z::WARPS) {
    const float sum = sum_squares(weights + at[i], count[i], halves[i], lane);
    if (lane == 0) seen[i] = sum;
  }
}

KERNEL(Z::THREADS, GIVEN_BLOCKS)
look(const Settings* settings, const u32* weights, float progress, float* seen) {
  const u32 run = block_index() / Z::CLUSTER, size = sizeof(Settings) / 4;
  u32* const memory = (u32*)shared_memory();
  for (u32 i = thread_index(); i < Z::AT_MOMENTS / 4; i += Z::THREADS) memory[i] = 0;
  barrier();
  Settings* const mine = (Settings*)(memory + Z::AT_SETTINGS / 4);
  if (thread_index() < size) ((u32*)mine)[thread_index()] = ((const u32*)(settings + run))[thread_index()];
  barrier();
  if (thread_index() == 0) mine->seed = 0;
  barrier();

  weights += (u64)Z::LENGTH * run, seen += (u64)SEEN * run;
  Look look;
  look.load(weights);
  if (Z::CLUSTER > 1) look.begin();
  look.c = look.settings.coupling.at(progress);
#pragma unroll 1
  for (u32 i = 0; i < BATCHES; i++) look.see(FIRST + i);
  look.save(seen);
  if (look.rank == 0) measure(weights, look.warp, look.lane, seen + Z::UNITS + 2);
}
