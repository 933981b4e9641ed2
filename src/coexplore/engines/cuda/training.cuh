// One run, trained by one block or a cluster of them: what a thread has of it, and how it is read and written. The work itself
// is declared here in the order of the algorithm boxes and written in explore.cuh and learn.cuh.
#pragma once
#include "adam.cuh"
#include "layout.cuh"
#include "random.cuh"

// What is known of the four episodes that a lane has of a tile once A was drawn: R - V, the signal that the rule asks for,
// A - P(A = 1); for Weight Max also A and the odds of the action taken.
struct Episodes {
  float delta[4], signal[4], error[4], a[4] = {}, odds[4] = {};
};

// What learning needs of the update under way and can be had before the last units are known.
struct Prepared {
  Adam adam;
  float rate_hidden, rate_output, rate_critic;
  float u, wrong, value;  // in the episode lane % 16: what A is drawn with, the reward of a wrong answer, V(s)
  bool answer, centred;
};

template <class Z, bool RECORD>
struct Training {
  static constexpr int STREAMS = Z::STREAMED ? 4 : 1;

  // This thread's place.
  const u32 lane = thread_index() % 32, warp = thread_index() / 32, row = lane / 4, column = lane % 4;
  const u32 rank = Z::CLUSTER > 1 ? block_index() % Z::CLUSTER : 0;  // of this block among those of its run
  const bool owner = Z::OWNERS == Z::WARPS || warp < Z::OWNERS;  // of hidden units
  unsigned char* const memory = shared_memory();
  const u32 base = shared_address(memory);
  const Settings& settings = *(const Settings*)(memory + Z::AT_SETTINGS);
  const u32 seed = settings.seed, steps = settings.steps;
  const Draws draws;
  float4* const kept_errors;  // see `keep`
  uint2* const kept_activity;
  float4* const streamed;  // see Shape

  // Parameters. Fragments are [tile][sixteen inputs][4].
  u32 W_rec[Z::TILES][Z::CHAIN ? Z::DEPTH : 1][4] = {}, W[Z::TILES][Z::INPUT_DEPTH][4] = {};
  u32 V[Z::CRITIC_SHARE][Z::INPUT_DEPTH][4] = {}, U[Z::PREDICTS ? Z::TILES : 1][Z::INPUT_DEPTH][4] = {};
  float4 moments[Z::MOMENTS_IN_REGISTERS ? Z::PAIRS : 1] = {}, coming[STREAMS];
  Single W_out[Z::TILES] = {}, w[Z::CRITIC_SHARE] = {}, b_out, w_0;

  // The update under way; arrays are [tile][4] as fragments.cuh says.
  float c, kappa, rho, progress;
  float drive[Z::TILES][4], p[Z::TILES][4], hidden[Z::CRITIC_SHARE][4] = {};  // drive is -log2(e) (W^T S + b)
  float expected[Z::CENTRED ? Z::TILES : 1][4];  // E
  u32 H[Z::TILES][2] = {};  // two bits a word, as half-precision numbers; a word for each half of the batch
  u32 before_last[Z::TILES][2];  // H_(T-1), where Algorithm 2 needs it again
  Words next[Z::TILES];     // random words of the next step, where there is time to have them before
  u32 received = 0;         // a bit for each counter: the parity of what comes next
  u32 turn = 0;             // which of the two buffers of H was written last
  u32 right = 0;            // answers rewarded since the curve was last written, in the episode lane % 16

  DEVICE Training(const Draws& draws, float4* errors, uint2* activity, float4* streamed)
      : draws(draws), kept_errors(errors), kept_activity(activity), streamed(streamed) {}

  // One update: sample S, H and A, observe R, learn.
  DEVICE void update(u32 t, float span);

  DEVICE void sample_states(u32 t);
  DEVICE void read_states(u32 t);
  DEVICE void expect_units(int n, const float (&x)[4], const u32 (&s)[Z::INPUT_DEPTH][4]);
  DEVICE void explore(u32 t);
  DEVICE void draw(int n, const float (&y)[4], const Words& words, u32 s, bool lazy = false);
  DEVICE void step(u32 t, u32 s);
  template <bool AS_IT_IS = false>
  DEVICE void publish(const u32 (&h)[Z::TILES][2]);
  DEVICE void share_expected();
  DEVICE void keep(u32 s, const u32 (&before)[Z::TILES][2]);
  DEVICE void sent(int n, bool as_signs, float (&x)[4]) const;
  DEVICE void vote(u32 t);
  DEVICE void record_states(u32 t);
  DEVICE void record_draws(int n, const Words& words, u32 s);

  using Errors = float[Z::TILES][4];
  DEVICE Prepared prepare(u32 t) const;
  DEVICE float value(u32 t) const;
  DEVICE void learn(u32 t, const Prepared& now);
  DEVICE float credit(int n, int k, const Episodes& episodes) const;
  DEVICE void learn_critic(const Prepared& now, u32 t, const Episodes& episodes);
  DEVICE void learn_hidden(const Prepared& now, u32 t, const Episodes& episodes, const Errors& e);
  using Inputs = u32[Z::INPUT_DEPTH][4];
  using Slice = float[Z::TILES][Z::UNIT_TILES / Z::SLICES][2];
  DEVICE void load_inputs(u32 t, Inputs& s) const;
  DEVICE void learn_prediction(int n, const Prepared& now, const Inputs& s);
  static constexpr int CENTRED_TILES = Z::CENTRED_PAIRS ? Z::TILES : 1;
  DEVICE void expected_rows(const Episodes& episodes, Rows (&rows)[CENTRED_TILES]) const;
  DEVICE void learn_boltzmann(const Prepared& now, const Episodes& episodes, const Rows (&rows)[Z::TILES]);
  DEVICE void learn_recurrent(const Prepared& now, const Episodes& episodes, Errors& e);
  DEVICE void sum_slice(int slice, const Episodes& episodes, const Errors& last, Errors& e, Slice& g);
  DEVICE void add_outer(int slice, const Errors& e, Slice& g);
  DEVICE void climb_inputs(const Adam& adam, Inputs& weights, int pair, const Inputs& s, const Rows& rows, float rate);
  DEVICE void climb(const Adam& adam, u32 (&weights)[4], int odd, int pair, float g_0, float g_1, float rate);

  // Where things are.
  DEVICE u32 tile(int n) const { return (Z::CLUSTER > 1 ? rank * Z::WARPS + warp : warp) * Z::TILES + n; }
  DEVICE bool real(int n) const { return tile(n) * TILE + row < settings.units; }  // not padding
  DEVICE u32 critic_tile(int n) const { return warp * Z::CRITIC_SHARE + n; }
  DEVICE bool has_critic_tile(int n) const {
    return Z::CRITIC_SHARE * Z::WARPS == Z::CRITIC_TILES || critic_tile(n) < Z::CRITIC_TILES;
  }
  // The row that this lane names of sixteen units in two halves of the batch, so that the words that make up the right side
  // of a product come side by side: for X both octets of units of a half, for a gradient both halves of an octet.
  DEVICE u32 for_x(u32 half_bytes) const { return lane / 16 * half_bytes + lane % 16 * ROW_BYTES; }
  DEVICE u32 for_gradient(u32 half_bytes) const {
    return lane / 8 % 2 * half_bytes + (lane / 16 * 8 + lane % 8) * ROW_BYTES;
  }
  DEVICE u32 inputs(u32 t) const { return base + Z::AT_S + t % TURNS * Z::S_BYTES; }
  DEVICE u32 activity() const { return base + Z::AT_H + turn * Z::H_BYTES; }
  DEVICE float* partial_out(u32 t) const { return (float*)(memory + Z::AT_OUT) + t % 2 * (Z::UNIT_TILES * 16); }
  DEVICE float* partial_value(u32 t) const { return (float*)(memory + Z::AT_VALUE) + t % 2 * (Z::CRITIC_TILES * 16); }
  DEVICE u32* answers(u32 t) const { return (u32*)(memory + Z::AT_ANSWER) + t % TURNS * 16; }
  DEVICE u32 kept(u32 s, int n) const { return ((s - 1) * Z::UNIT_TILES + tile(n)) * 32 + lane; }

  // Between the blocks of a cluster. A place that is sent to was last read before what was received last had been sent: so two
  // turns are enough, and no barrier is needed.
  DEVICE u32 counter(u32 i) const { return base + Z::AT_COUNTERS + 8 * i; }
  DEVICE void receive(u32 i) {
    await(counter(i), received >> i & 1);
    received ^= 1u << i;
  }
  // Nothing is sent to a block that is not ready.
  DEVICE void begin() const {
    if (Z::CLUSTER == 1) return barrier();
    if (thread_index() < Z::COUNTERS) new_counter(counter(thread_index()));
    cluster_barrier();
  }
  // What was published last can be read.
  DEVICE void hear() {
    if (Z::CLUSTER == 1) barrier();
    else receive(turn);
  }
  // So can all that was written for the learning of update t.
  DEVICE void come_together(u32 t) {
    barrier();
    if (Z::CLUSTER == 1) return;
    if (Z::FAMILY == Family::boltzmann) hear();
    receive(2 + t % 2);
  }

  // Moments. Those in global memory belong to tiles of W_rec's inputs spread evenly among the others, and are read in the order
  // of the pairs, STREAMS at a time on the way; `stream` begins it.
  DEVICE int rec_pair(int n, int i) const {
    if (!Z::STREAMED) return n * Z::REC_TILES + i;
    const int share = Z::STREAMED / Z::TILES, before = i * share / Z::REC_TILES;
    const bool streams = (i + 1) * share / Z::REC_TILES > before;
    return (streams ? before : share + i - before) * Z::TILES + n;
  }
  DEVICE float4& in_memory(int pair) const {
    const u32 at = pair * Z::THREADS + thread_index();
    if (pair < Z::STREAMED) return streamed[at];
    return ((float4*)(memory + Z::AT_MOMENTS))[at - Z::STREAMED * Z::THREADS];
  }
  DEVICE void stream() {
#pragma unroll
    for (int i = 0; i < STREAMS; i++)
      if (i < Z::STREAMED) coming[i] = in_memory(i);
  }
  DEVICE float4 moment(int pair) {
    if (Z::MOMENTS_IN_REGISTERS) return moments[Z::MOMENTS_IN_REGISTERS ? pair : 0];
    if (pair >= Z::STREAMED) return in_memory(pair);
    const float4 x = coming[pair % STREAMS];
    if (pair + STREAMS < Z::STREAMED) coming[pair % STREAMS] = in_memory(pair + STREAMS);
    return x;
  }
  DEVICE void set_moment(int pair, float4 x) {
    if (Z::MOMENTS_IN_REGISTERS) moments[Z::MOMENTS_IN_REGISTERS ? pair : 0] = x;
    else in_memory(pair) = x;
  }

  // f(high, low, pair, at, stride) for every pair of weights that this thread has, stored at `at` and `at + stride`.
  template <class F>
  DEVICE void each_pair(F f) {
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      if (!owner) break;
      const u32 at = column * 2 * Z::UNITS + tile(n) * TILE + row;
#pragma unroll
      for (int i = 0; i < Z::REC_TILES; i++)
        f(W_rec[n][i / 2][i % 2 * 2], W_rec[n][i / 2][i % 2 * 2 + 1], rec_pair(n, i),
          Z::W_REC + i * TILE * Z::UNITS + at, Z::UNITS);
#pragma unroll
      for (int i = 0; i < Z::INPUT_TILES; i++)
        f(W[n][i / 2][i % 2 * 2], W[n][i / 2][i % 2 * 2 + 1], Z::W_PAIRS + n * Z::INPUT_TILES + i,
          Z::W + i * TILE * Z::UNITS + at, Z::UNITS);
#pragma unroll
      for (int i = 0; i < (Z::PREDICTS ? Z::INPUT_TILES : 0); i++)
        f(U[n][i / 2][i % 2 * 2], U[n][i / 2][i % 2 * 2 + 1], Z::U_PAIRS + n * Z::INPUT_TILES + i,
          Z::U + i * TILE * Z::UNITS + at, Z::UNITS);
    }
#pragma unroll
    for (int n = 0; n < Z::CRITIC_SHARE; n++) {
      if (!has_critic_tile(n)) break;
#pragma unroll
      for (int i = 0; i < Z::INPUT_TILES; i++)
        f(V[n][i / 2][i % 2 * 2], V[n][i / 2][i % 2 * 2 + 1], Z::V_PAIRS + n * Z::INPUT_TILES + i,
          Z::V + (i * TILE + column * 2) * CRITIC + critic_tile(n) * TILE + row, CRITIC);
    }
  }

  // f(single, at, mine) for every other parameter; those that several threads have are written by one of them.
  template <class F>
  DEVICE void each_single(F f) {
#pragma unroll
    for (int n = 0; n < Z::TILES; n++)
      if (owner) f(W_out[n], Z::W_OUT + tile(n) * TILE + row, column == 0);
#pragma unroll
    for (int n = 0; n < Z::CRITIC_SHARE; n++)
      if (has_critic_tile(n)) f(w[n], Z::W_CRITIC + critic_tile(n) * TILE + row, column == 0 && rank == 0);
    f(b_out, Z::B_OUT, thread_index() == 0 && rank == 0);
    f(w_0, Z::W_0, thread_index() == 0 && rank == 0);
  }

  DEVICE void load(const u32* weights, const float* m, const float* v) {
    each_pair([&](u32& high, u32& low, int pair, u32 at, u32 stride) {
      from_stored(weights[at], weights[at + stride], high, low);
      set_moment(pair, float4{m[at], m[at + stride], v[at], v[at + stride]});
    });
    each_single([&](Single& x, u32 at, bool) { x = Single{from_bits(weights[at]), m[at], v[at]}; });
  }

  DEVICE void save(u32* weights, float* m, float* v) {
    each_pair([&](u32& high, u32& low, int pair, u32 at, u32 stride) {
      if (pair >= Z::V_PAIRS && rank != 0) return;
      from_stored(high, low, weights[at], weights[at + stride]);  // its own inverse
      const float4 x = Z::MOMENTS_IN_REGISTERS ? moment(pair) : in_memory(pair);
      m[at] = x.x, m[at + stride] = x.y, v[at] = x.z, v[at + stride] = x.w;
    });
    each_single([&](Single& x, u32 at, bool mine) {
      if (mine) weights[at] = bits(x.p), m[at] = x.m, v[at] = x.v;
    });
  }
};
