// Sampling: S, then H, then A, which is rewarded.
#pragma once
#include <numeric>

#include "layout.h"
#include "random.h"

namespace coexplore {

template <Rule RULE, bool RECORD>
struct Explore {
  const Shape& z;
  Workspace& w;
  Random& random;
  const Draws* record;
  Episodes& episodes;
  const float c, kappa;

  // Returns the mean reward of the batch.
  double run() {
    sample_states();
    read_states();
    if constexpr (is_chain(RULE)) explore_chain();
    else explore();
    return act();
  }

  // Bits of a state from the 24 upper bits of random words (the lower ones are weaker). Those past the last one are never used.
  void sample_states() {
    const int D = z.D(), words = (D + 23) / 24;
    uint32_t buffer[LANES];
    int left = 0;
    for (int b = 0; b < z.B; b++) {
      uint32_t state[3];  // 72 bits: MOST_BITS need 70
      for (int k = 0; k < words; k++) {
        if (left == 0) {
          const Words r = random.next();
          std::memcpy(buffer, &r, sizeof r);
          left = LANES;
        }
        state[k] = buffer[--left] >> 8;
      }
      auto bit = [&](int i) { return (int)(state[i / 24] >> (i % 24) & 1); };
      int address = 0;
      for (int i = 0; i < z.bits; i++) address = 2 * address + bit(i);
      episodes.answer[b] = bit(z.bits + address);
      for (int i = 0; i < D; i += LANES) {
        const Words places = (Words)load(w.unit) + (uint32_t)(i % 24);
        store(w.S + b * z.DP() + i, (Ints)((Words{} + state[i / 24]) >> places & 1));
      }
      patterns(w.S + b * z.DP(), fours(D), fours(D), w.S_pattern + b * fours(D));
      if constexpr (RECORD)
        for (int i = 0; i < D; i++) record->s[b * D + i] = bit(i) ? 1.f : (z.signed_inputs ? -1.f : 0.f);
    }
  }

  // The drive of the hidden units, and the critic's V(s).
  void read_states() {
    const int B = z.B, D = z.D(), NP = z.NP(), CP = z.CP();
    const float* const params = w.params;
    affine(w.S_pattern, B, D, z.signed_inputs, params, params + z.b(), NP, -LOG2E, w.scratch, w.drive);
    if (z.centre != Centre::none) expect();
    if (z.critic == Critic::none) return;
    if (z.critic == Critic::mean) return std::fill(episodes.V, episodes.V + B, params[z.v()]);
    affine(w.S_pattern, B, D, z.signed_inputs, params + z.V(), params + z.v(), CP, 1.f, w.scratch, w.hidden);
    for (int b = 0; b < B; b++) {
      if (z.critic == Critic::linear) {
        episodes.V[b] = w.hidden[b * CP];
        continue;
      }
      float* hidden = w.hidden + b * CP;
      if (z.critic == Critic::relu)
        for (int j = 0; j < CP; j += LANES) store(hidden + j, larger(load(hidden + j), Lanes{}));
      else
        for (int j = 0; j < CP; j++) hidden[j] = std::tanh(hidden[j]);
      episodes.V[b] = dot(hidden, params + z.w(), CP) + params[z.w_0()];
    }
  }

  // E, what units are expected to do, into P.
  void expect() {
    const int B = z.B, NP = z.NP();
    const float* const U = w.params + z.U();
    if (z.centre == Centre::half) std::fill(w.P.data, w.P + B * NP, 0.f);
    if (z.centre == Centre::drive) std::copy(w.drive.data, w.drive + B * NP, w.P.data);
    if (z.centre == Centre::predicted)
      affine(w.S_pattern, B, z.D(), z.signed_inputs, U, w.params + z.u(), NP, -LOG2E, w.scratch, w.P);
    for (int b = 0; b < B; b++)
      for (int j = 0; j < NP; j += LANES) {
        float* const E = w.P + b * NP + j;
        store(E, only(load(w.is_unit + j), probability(load(E))));
      }
  }

  // H ~ Ber(sigma(x)) for one episode's layer; y = -log2(e) x. Lazy: where u < 1/2, by 2 u; elsewhere bits stay as they are.
  template <Beside BESIDE, bool LAZY = false>
  INLINE void draw(const float* y, int32_t* bits, float* beside, int t, int b) {
    // Copies, which stores cannot change: they stay in registers.
    Random local = random;
    const int NP = z.NP();
    const Lanes one = all(1.f), strength = all(kappa);
    const int32_t* const is_unit = w.is_unit;
    for (int j = 0; j < NP; j += LANES) {
      const Words r = local.next();
      const Ints mask = load(is_unit + j);
      const Lanes e = exp2(load(y + j)), drawn = __builtin_convertvector((Ints)(r >> 8), Lanes), u = LAZY ? drawn + drawn : drawn;
      Ints is_on = (Ints)(u + u * e < all(16777216.f)) & mask;  // u < 1 / (1 + e), u in units of 2^-24
      if constexpr (LAZY) {
        const Ints anew = (Ints)(u < all(16777216.f));
        is_on = (is_on & anew) | (-load(bits + j) & ~anew);
      }
      store(bits + j, -is_on);
      if constexpr (BESIDE == Beside::error) store(beside + j, only(is_on, one) - only(mask, strength / (one + e)));
      if constexpr (BESIDE == Beside::probability) store(beside + j, only(mask, one / (one + e)));
      if constexpr (RECORD)
        for (int l = 0; l < LANES && j + l < z.N; l++) {
          const size_t at = ((size_t)t * z.B + b) * z.N + j + l;
          record->u[at] = (float)(r[l] >> 8) / 16777216.f;
          record->h[at] = is_on[l] ? 1.f : 0.f;
        }
    }
    random = local;
  }

  // H from the drive alone.
  void explore() {
    const int NP = z.NP();
    float* const beside = beside_of(RULE) == Beside::error ? w.E : w.P;
    for (int b = 0; b < z.B; b++) draw<beside_of(RULE)>(w.drive + b * NP, w.H + b * NP, beside + b * NP, 0, b);
  }

  // What the units hear in one synchronous step of one episode: x = c W_rec^T H + drive (see lower_drive for 2 H - 1).
  INLINE void hear(const int32_t* H, const float* drive, float* y) {
    const int Q = fours(z.N);
    patterns(H, Q, Q, w.H_pattern);
    blocks(z.NP(), [&](auto nv, int column) INLINE_LAMBDA {
      constexpr int NV = decltype(nv)::value;
      Lanes a[NV];
      for (int j = 0; j < NV; j++) a[j] = load(drive + column + LANES * j);
      add_picked<NV>(w.tables + (size_t)column * Q * PATTERNS, w.H_pattern, 1, Q, a);
      for (int j = 0; j < NV; j++) store(y + column + LANES * j, a[j]);
    });
  }

  // W_rec^T (2 H - 1) = 2 W_rec^T H - the sum of W_rec's rows: the tables hold the double, the drive gives up half of all.
  void lower_drive() {
    const int Q = fours(z.N), NP = z.NP();
    blocks(NP, [&](auto nv, int column) INLINE_LAMBDA {
      constexpr int NV = decltype(nv)::value;
      const int32_t every = PATTERNS - 1;
      Lanes sums[NV] = {};
      add_picked<NV>(w.tables + (size_t)column * Q * PATTERNS, &every, 0, Q, sums);
      for (int b = 0; b < z.B; b++)
        for (int j = 0; j < NV; j++) {
          float* const drive = w.drive + b * NP + column + LANES * j;
          store(drive, load(drive) - all(0.5f) * sums[j]);
        }
    });
  }

  // H_(0) from the drive alone, then T synchronous steps. Algorithm 2 also keeps H_(t) and H_(t) - kappa p_(t).
  void explore_chain() {
    const int N = z.N, NP = z.NP(), B = z.B;
    const float* const W_rec = w.params + z.W_rec();
    blocks(NP, [&](auto nv, int column) INLINE_LAMBDA {
      float* tables = w.tables + (size_t)column * fours(N) * PATTERNS;
      make_tables<decltype(nv)::value>(W_rec, N, NP, column, z.signed_chain ? -2 * LOG2E * c : -LOG2E * c, tables);
    });
    for (int b = 0; b < B; b++) draw<Beside::nothing>(w.drive + b * NP, w.H + b * NP, nullptr, 0, b);
    if (z.signed_chain) lower_drive();
    const size_t one = (size_t)z.BP() * NP, kept = RULE == Rule::recurrent ? one : 0;  // floats per step
    // Few episodes at a time: the table rows they use stay in the nearest cache.
    constexpr int TOGETHER = 4;
    for (int from = 0; from < B; from += TOGETHER) {
      const int to = std::min(from + TOGETHER, B);
      for (int t = 1; t <= z.T; t++) {
        int32_t* H = w.H + t * kept;
        float* error = w.E + (t - 1) * kept;
        for (int b = from; b < to; b++) hear(H - kept + b * NP, w.drive + b * NP, w.heard + b * NP);
        if (RULE == Rule::boltzmann && z.lazy)
          for (int b = from; b < to; b++) draw<Beside::nothing, true>(w.heard + b * NP, H + b * NP, nullptr, t, b);
        else
          for (int b = from; b < to; b++) draw<beside_of(RULE)>(w.heard + b * NP, H + b * NP, error + b * NP, t, b);
      }
    }
  }

  // A, R and what the learners hear of them. Loops without branches: which way they would go is a coin's matter.
  double act() {
    const int B = z.B, NP = z.NP();
    const int32_t* const H = w.last_H(z);
    const float *const W_out = w.params + z.W_out(), wrong = z.signed_rewards ? -1.f : 0.f, flip = z.flip();
    // W_out (2 H - 1) = 2 W_out H - the sum of W_out, in which padding is zero.
    const float start = w.params[z.b_out()] - (z.signed_signals ? std::accumulate(W_out, W_out + NP, 0.f) : 0.f);
    Episodes& x = episodes;
    float u[MOST_BATCH], pi[MOST_BATCH], total = 0;
    for (int b = 0; b < B; b++) x.x_out[b] = flip * dot(H + b * NP, W_out, NP) + start;
    for (int b = 0; b < B; b += LANES) {
      store(u + b, __builtin_convertvector((Ints)(random.next() >> 8), Lanes) / 16777216.f);
      store(pi + b, probability(all(-LOG2E) * load(x.x_out + b)));
    }
    for (int b = 0; b < B; b++) {
      const int A = u[b] < pi[b];
      const float R = A == x.answer[b] ? 1.f : wrong, error = (float)A - pi[b];
      total += R;
      x.action[b] = (float)A;
      x.delta[b] = (R - x.V[b]) / B;  // every gradient is a mean over the batch
      x.signal[b] = z.centre_reward ? x.delta[b] : R / B;
      x.e_out[b] = x.delta[b] * error;
      if constexpr (RULE == Rule::straight_through) x.signal[b] *= error;
      if constexpr (RECORD) record->u_a[b] = u[b], record->a[b] = x.action[b];
    }
    return total / B;
  }
};

}  // namespace coexplore
