// One update of one run on the k-bit multiplexer: the algorithm boxes, for a hidden layer of binary units.
#pragma once
#include "adam.h"
#include "layout.h"
#include "matrix.h"
#include "random.h"

namespace coexplore {

// Everything below reads like the algorithm box: states, exploration, action and reward, credit, Adam.
template <Rule RULE, bool RECORD>
struct Update {
  static constexpr bool CHAIN = RULE == Rule::boltzmann || RULE == Rule::recurrent;
  const Shape& z;
  Workspace& w;
  Random& random;
  const Draws* record;
  float c, kappa, lambda;

  // Bits of a state from the 24 upper bits of random words (the lower ones are weaker).
  void states(int* answer) {
    const int D = z.D(), words = (D + 23) / 24;
    uint32_t buffer[LANES];
    int left = 0;
    for (int b = 0; b < z.B; b++) {
      uint32_t state[3];
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
      answer[b] = bit(z.bits + address);
      for (int i = 0; i < D; i++) w.S[b * D + i] = z.signed_inputs ? (float)(2 * bit(i) - 1) : (float)bit(i);
    }
  }

  // H ~ Ber(sigma(x)) for the units of one vector at column j; y = -log2(e) x. Writes the bits, and p = E[H] if asked for.
  template <bool WITH_P>
  INLINE void unit_draws(Lanes y, Random& local, int32_t* bits, float* p, int j, int t, int b) {
    const Words r = local.next();
    const Ints mask = load(w.mask + j);
    const Lanes e = exp2(y), u = __builtin_convertvector((Ints)(r >> 8), Lanes);
    const Ints h = (Ints)(u + u * e < all(16777216.f)) & mask;  // u < 1 / (1 + e), u in units of 2^-24
    store(bits + j, h);
    if constexpr (WITH_P) store(p + j, (Lanes)((Ints)(all(1.f) / (all(1.f) + e)) & -mask));
    if constexpr (RECORD)
      for (int l = 0; l < LANES && j + l < z.N; l++) {
        const size_t at = ((size_t)t * z.B + b) * z.N + j + l;
        record->u[at] = (float)(r[l] >> 8) / 16777216.f;
        record->h[at] = (float)h[l];
      }
  }

  // A layer that hears nothing but its drive.
  template <bool WITH_P>
  void first_draws(int b) {
    const int NP = z.NP();
    Random local = random;  // in registers for the length of the loop
    for (int j = 0; j < NP; j += LANES)
      unit_draws<WITH_P>(load(w.drive + b * NP + j), local, w.bits + b * NP, w.P + b * NP, j, 0, b);
    random = local;
  }

  // Sums of rows of W_rec for every pattern of four units {g, g+Q, g+2Q, g+3Q}: c W_rec^T H becomes Q look-ups.
  void make_tables(const float* W_rec) {
    const int NP = z.NP(), Q = NP / 4;
    const float scale = -LOG2E * c;
    for (int g = 0; g < Q; g++)
      for (int j = 0; j < NP; j += LANES) {
        float* table = w.tables + (size_t)g * 16 * NP + j;
        Lanes sums[16];
        sums[0] = Lanes{};
        for (int k = 0; k < 4; k++) {
          const int unit = g + k * Q;
          const Lanes row = unit < z.N ? all(scale) * load(W_rec + (size_t)unit * NP + j) : Lanes{};
          for (int i = 0; i < 1 << k; i++) sums[(1 << k) + i] = sums[i] + row;
        }
        for (int i = 0; i < 16; i++) store(table + (size_t)i * NP, sums[i]);
      }
  }

  // One synchronous step of one episode: x = c W_rec^T H + drive, H' ~ Ber(sigma(x)).
  void chain_step(int t, int b) {
    constexpr bool WITH_P = RULE == Rule::recurrent;
    const int NP = z.NP(), Q = NP / 4;
    int32_t* __restrict h = w.bits + b * NP;
    int32_t* __restrict index = w.index;
    for (int g = 0; g < Q; g++) index[g] = (h[g] + 2 * h[g + Q] + 4 * h[g + 2 * Q] + 8 * h[g + 3 * Q]) * NP;
    Random local = random;
    blocks(NP, [&](auto nv, int column) INLINE_LAMBDA {
      constexpr int NV = decltype(nv)::value;
      Lanes a[NV];
      for (int j = 0; j < NV; j++) a[j] = load(w.drive + b * NP + column + LANES * j);
      const float* table = w.tables + column;
      for (int g = 0; g < Q; g++, table += 16 * NP) {
        const float* row = table + index[g];
        for (int j = 0; j < NV; j++) a[j] += load(row + LANES * j);
      }
      for (int j = 0; j < NV; j++) unit_draws<WITH_P>(a[j], local, h, w.P + b * NP, column + LANES * j, t, b);
    });
    random = local;
  }

  static void as_floats(const int32_t* bits, float* h, int n) {
    for (int j = 0; j < n; j++) h[j] = (float)bits[j];
  }

  // Independent units; P is kept for the rules that centre on it or differentiate through it.
  void explore_independently() {
    const int NP = z.NP();
    for (int b = 0; b < z.B; b++) first_draws<true>(b);
    as_floats(w.bits, w.H, z.B * NP);
  }

  // H_(0) from the drive alone, then T synchronous steps. Algorithm 2 also keeps H_(t) and lambda^(T-t) (H_(t) - kappa p_(t)).
  void explore_chain(const float* W_rec) {
    const int NP = z.NP(), B = z.B, T = z.T;
    make_tables(W_rec);
    w.decays[T] = 1;
    for (int t = T; t > 1; t--) w.decays[t - 1] = lambda * w.decays[t];
    for (int b = 0; b < B; b++) first_draws<false>(b);
    if constexpr (RULE == Rule::recurrent) as_floats(w.bits, w.paths, B * NP);
    // Few episodes at a time: one's sums overlap another's draws, and the table rows they use stay in the nearest cache.
    constexpr int TOGETHER = 4;
    for (int from = 0; from < B; from += TOGETHER)
      for (int t = 1; t <= T; t++)
        for (int b = from; b < std::min(from + TOGETHER, B); b++) {
          chain_step(t, b);
          if constexpr (RULE == Rule::recurrent) keep(w.P + b * NP, w.bits + b * NP, t, b);
        }
    as_floats(w.bits, w.H, B * NP);
  }

  void keep(const float* p, const int32_t* h, int t, int b) {
    const int NP = z.NP();
    float *path = w.paths + ((size_t)t * z.B + b) * NP, *error = w.errors + ((size_t)t * z.B + b) * NP;
    as_floats(h, path, NP);
    const Lanes decay = all(w.decays[t]);
    for (int j = 0; j < NP; j += LANES)
      store(error + j, decay * (load(path + j) - all(kappa) * load(p + j)));
  }

  // E[b]: what the weights into the hidden layer learn from, signal included, over the batch.
  void credit(const float* W_out, int b, float signal, float x_out, float a, float pi) {
    const int NP = z.NP();
    const float *H = w.H + b * NP, *P = w.P + b * NP;
    float* E = w.E + b * NP;
    const Lanes s = all(signal / z.B), one = all(1.f);
    for (int j = 0; j < NP; j += LANES) {
      const Lanes h = load(H + j), p = load(P + j), out = load(W_out + j);
      Lanes e = {};
      if constexpr (RULE == Rule::reinforce) e = s * (h - all(kappa) * p);
      if constexpr (RULE == Rule::boltzmann) e = s * h;
      if constexpr (RULE == Rule::recurrent) {
        for (int t = 1; t <= z.T; t++) e += load(w.errors + ((size_t)t * z.B + b) * NP + j);
        e *= s;
      }
      if constexpr (RULE == Rule::straight_through) e = s * all(a - pi) * out * p * (one - p);
      if constexpr (RULE == Rule::unbiased_weight_max) {  // P(a | H_i = 0) / P(a | H) from the output unit's two inputs
        const Lanes ratio = likelihood(all(x_out) - h * out, a) / likelihood(all(x_out), a);
        e = s * h * (one - ratio) * (h - p);
      }
      if constexpr (RULE == Rule::expected_weight_max) {
        const Lanes off = all(x_out) - h * out;
        const Lanes P_0 = likelihood(off, a), P_1 = likelihood(off + out, a);
        e = s * p * (one - p) * (P_1 - P_0) / (p * P_1 + (one - p) * P_0);
      }
      store(E + j, e);
    }
  }

  static Lanes likelihood(Lanes x, float a) {
    const float sign = a > 0 ? -LOG2E : LOG2E;  // Pr(a = 1) = sigma(x), Pr(a = 0) = sigma(-x)
    return probability(all(sign) * x);
  }

  // One update; returns the mean reward of the batch.
  double run(float* params, float* m, float* v, const Numbers& numbers, int64_t t);
};

template <Rule RULE, bool RECORD>
double Update<RULE, RECORD>::run(float* params, float* m, float* v, const Numbers& numbers, int64_t t) {
  const int B = z.B, D = z.D(), NP = z.NP(), CP = z.CP();
  const double progress = (double)t / (double)(numbers.updates > 1 ? numbers.updates - 1 : 1);
  c = (float)numbers.coupling.at(progress);
  kappa = z.centre_activity ? (float)numbers.centring_strength.at(progress) : 0.f;
  lambda = (float)numbers.trace_decay;
  const bool has_critic = z.critic != Critic::none;
  float *g = w.gradient, total = 0;
  const float *W_out = params + z.W_out(), *w_c = params + z.w();

  // Sample S, and what the layers make of it.
  int answer[MAX_BATCH];
  float delta[MAX_BATCH], e_out[MAX_BATCH], action[MAX_BATCH], x_out[MAX_BATCH], pi[MAX_BATCH], signal[MAX_BATCH];
  states(answer);
  affine(w.S, B, D, params, params + z.b(), NP, w.drive);
  for (int i = 0; i < B * NP; i++) w.drive[i] *= -LOG2E;
  if (has_critic) affine(w.S, B, D, params + z.V(), params + z.v(), CP, w.hidden);

  // Sample H.
  if constexpr (CHAIN) explore_chain(params + z.W_rec());
  else explore_independently();

  // Sample A, observe R, ask the critic.
  Words r = {};
  for (int b = 0; b < B; b++) {
    if (b % LANES == 0) r = random.next();
    const float u = (float)(r[b % LANES] >> 8) / 16777216.f;
    x_out[b] = dot(w.H + b * NP, W_out, NP) + params[z.b_out()];
    pi[b] = sigmoid(x_out[b]);
    action[b] = u < pi[b] ? 1.f : 0.f;
    const bool right = (action[b] > 0) == (answer[b] > 0);
    const float R = right ? 1.f : (z.signed_rewards ? -1.f : 0.f);
    float V = 0;
    if (has_critic) {
      float* hidden = w.hidden + b * CP;
      if (z.critic == Critic::relu)
        for (int j = 0; j < CP; j++) hidden[j] = hidden[j] > 0 ? hidden[j] : 0.f;
      else
        for (int j = 0; j < CP; j++) hidden[j] = std::tanh(hidden[j]);
      V = dot(hidden, w_c, CP) + params[z.w_0()];
    }
    total += R;
    delta[b] = R - V;
    signal[b] = z.centre_reward ? delta[b] : R;
    e_out[b] = delta[b] * (action[b] - pi[b]) / B;
    if constexpr (RECORD) {
      record->u_a[b] = u;
      record->a[b] = action[b];
      for (int i = 0; i < D; i++) record->s[b * D + i] = w.S[b * D + i];
    }
  }

  // Credit: every gradient is a mean over the batch.
  for (int b = 0; b < B; b++) credit(W_out, b, signal[b], x_out[b], action[b], pi[b]);
  float ones[MAX_BATCH];
  std::fill(ones, ones + B, 1.f);
  outer(w.S, D, D, w.E, B, NP, 1.f, g);
  outer(ones, 1, 1, w.E, B, NP, 1.f, g + z.b());
  if constexpr (RULE == Rule::boltzmann) {
    outer(w.H, NP, z.N, w.E, B, NP, c, g + z.W_rec());
    for (int i = 0; i < z.N; i++) g[z.W_rec() + i * NP + i] = 0;
  }
  if constexpr (RULE == Rule::recurrent) {
    for (int s = 1; s <= z.T; s++)
      for (int b = 0; b < B; b++) {
        float* error = w.errors + ((size_t)s * B + b) * NP;
        for (int j = 0; j < NP; j++) error[j] *= signal[b] / B;
      }
    outer(w.paths, NP, z.N, w.errors + (size_t)B * NP, z.T * B, NP, c, g + z.W_rec());
  }
  outer(e_out, 1, 1, w.H, B, NP, 1.f, g + z.W_out());
  for (int i = 0; i < LANES; i++) g[z.b_out() + i] = 0;
  for (int b = 0; b < B; b++) g[z.b_out()] += e_out[b];
  if (has_critic) {
    float scaled[MAX_BATCH];
    for (int b = 0; b < B; b++) {
      scaled[b] = delta[b] / B;
      const float *hidden = w.hidden + b * CP;
      float* __restrict back = w.back + b * CP;
      if (z.critic == Critic::relu)
        for (int j = 0; j < CP; j++) back[j] = hidden[j] > 0 ? scaled[b] * w_c[j] : 0.f;
      else
        for (int j = 0; j < CP; j++) back[j] = scaled[b] * (1 - hidden[j] * hidden[j]) * w_c[j];
    }
    outer(w.S, D, D, w.back, B, CP, 1.f, g + z.V());
    outer(ones, 1, 1, w.back, B, CP, 1.f, g + z.v());
    outer(scaled, 1, 1, w.hidden, B, CP, 1.f, g + z.w());
    for (int i = 0; i < LANES; i++) g[z.w_0() + i] = 0;
    for (int b = 0; b < B; b++) g[z.w_0()] += scaled[b];
  }

  // Step.
  const Adam adam(t + 1);
  const auto step = [&](int from, int to, const Linear& rate) {
    adam.step(params + from, m + from, v + from, g + from, to - from, (float)rate.at(progress));
  };
  step(0, z.W_out(), numbers.rate_hidden);
  step(z.W_out(), z.V(), numbers.rate_output);
  if (has_critic) step(z.V(), z.end(), numbers.rate_critic);
  return total / B;
}

}  // namespace coexplore
