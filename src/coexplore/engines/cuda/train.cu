// The kernel: updates t to t + n - 1 of every run, one block or cluster per run. The compiler is given the shape, whether
// to record the draws, and how many blocks a multiprocessor should hold (it limits the registers of a thread).
#include "learn.cuh"

using Z = Shape<Family::GIVEN_FAMILY, GIVEN_UNITS, GIVEN_TILES, GIVEN_INPUTS, GIVEN_CLUSTER, GIVEN_SIGNED, GIVEN_SIGNED_CHAIN,
                GIVEN_OWN_RATE, GIVEN_LAZY, Centre::GIVEN_CENTRE, GIVEN_PAIRS>;
static_assert(Z::THREADS == GIVEN_THREADS && Z::SHARED == GIVEN_SHARED && Z::LENGTH == GIVEN_LENGTH, "not as layout.py says");
static_assert(Z::STREAMED == GIVEN_STREAMED, "not as layout.py says");

// Adds the answers rewarded so far to a bin of the curve, and starts counting again.
DEVICE void note(Training<Z, GIVEN_RECORD>& training, u32* bin, u32* total) {
  u32 right = training.right;
  for (u32 mask = 8; mask; mask /= 2) right += shuffle_xor(right, mask);
  if (thread_index() == 0 && training.rank == 0) *bin += right, *total += right;
  training.right = 0;
}

KERNEL(Z::THREADS, GIVEN_BLOCKS)
train(const Settings* settings, u32* weights, float* first, float* second, u32* curve, u32* totals, float4* errors,
      uint2* activity, float4* streamed, u32 t, u32 n, u32 updates, u32 bins, float* s, float* u, float* h, float* u_a, float* a) {
  const u32 run = block_index() / Z::CLUSTER, size = sizeof(Settings) / 4;
  u32* const memory = (u32*)shared_memory();
  for (u32 i = thread_index(); i < Z::SHARED / 4; i += Z::THREADS) memory[i] = 0;
  barrier();
  if (thread_index() < size) memory[Z::AT_SETTINGS / 4 + thread_index()] = ((const u32*)(settings + run))[thread_index()];
  barrier();

  const u64 kept = (u64)(settings[run].steps - 1) * Z::UNITS * 4 * run, at = (u64)Z::LENGTH * run;
  Training<Z, GIVEN_RECORD> training(Draws{s, u, h, u_a, a}, errors + kept, activity + kept,
                                        streamed + (u64)Z::STREAMED * Z::THREADS * block_index());
  training.load(weights + at, first + at, second + at);
  if (training.warp < AHEAD) training.sample_states(t / AHEAD * AHEAD + training.warp);
  training.begin();

  // Update i belongs to bin floor(i P / U); `phase` is i P mod U.
  const float span = 1.f / (float)(updates > 1 ? updates - 1 : 1);
  u32 *bin = curve + (u64)bins * run + (u64)t * bins / updates, phase = (u64)t * bins % updates;
#pragma unroll 1
  for (u32 i = t; i < t + n; i++) {
    training.update(i, span);
    phase += bins;
    if (phase >= updates) note(training, bin++, totals + run), phase -= updates;
  }
  if (t + n < updates) note(training, bin, totals + run);
  training.save(weights + at, first + at, second + at);
}
