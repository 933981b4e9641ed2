// One update of one run on the k-bit multiplexer: the algorithm boxes, for a hidden layer of binary units.
#pragma once
#include <numeric>

#include "adam.h"
#include "layout.h"
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

  // Bits of a state from the 24 upper bits of random words (the lower ones are weaker). Those past the last one are never used.
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
      for (int i = 0; i < D; i += LANES) {
        const Words places = (Words)load(w.unit) + (uint32_t)(i % 24);
        store(w.S + b * z.DP() + i, (Ints)((Words{} + state[i / 24]) >> places & 1));
      }
      patterns(w.S + b * z.DP(), fours(D), fours(D), w.S_pattern + b * fours(D));
    }
  }

  // What a rule needs of p = E[H] beside the last H: nothing, H - kappa p or p itself.
  enum class Beside { nothing, error, probability };
  static constexpr Beside LAST = RULE == Rule::boltzmann                              ? Beside::nothing
                                 : RULE == Rule::reinforce || RULE == Rule::recurrent ? Beside::error
                                                                                      : Beside::probability;

  // H ~ Ber(sigma(x)) for one episode's layer; y = -log2(e) x.
  template <Beside BESIDE>
  INLINE void draws(const float* y, int32_t* bits, float* beside, int t, int b) {
    // Copies, which stores cannot change: they stay in registers.
    Random local = random;
    const int NP = z.NP();
    const Lanes one = all(1.f), strength = all(kappa);
    const int32_t* const is_unit = w.is_unit;
    for (int j = 0; j < NP; j += LANES) {
      const Words r = local.next();
      const Ints mask = load(is_unit + j);
      const Lanes e = exp2(load(y + j)), u = __builtin_convertvector((Ints)(r >> 8), Lanes);
      const Ints is_on = (Ints)(u + u * e < all(16777216.f)) & mask;  // u < 1 / (1 + e), u in units of 2^-24
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

  // What the units hear in one synchronous step of one episode: x = c W_rec^T H + drive.
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

  // H_(0) from the drive alone, then T synchronous steps. Algorithm 2 also keeps H_(t) and H_(t) - kappa p_(t).
  void explore_chain(const float* W_rec) {
    const int N = z.N, NP = z.NP(), B = z.B;
    blocks(NP, [&](auto nv, int column) INLINE_LAMBDA {
      float* tables = w.tables + (size_t)column * fours(N) * PATTERNS;
      make_tables<decltype(nv)::value>(W_rec, N, NP, column, -LOG2E * c, tables);
    });
    for (int b = 0; b < B; b++) draws<Beside::nothing>(w.drive + b * NP, w.H + b * NP, nullptr, 0, b);
    const size_t one = (size_t)z.BP() * NP, kept = RULE == Rule::recurrent ? one : 0;  // floats a step
    // Few episodes at a time: the table rows they use stay in the nearest cache.
    constexpr int TOGETHER = 4;
    for (int from = 0; from < B; from += TOGETHER) {
      const int to = std::min(from + TOGETHER, B);
      for (int t = 1; t <= z.T; t++) {
        int32_t* H = w.H + t * kept;
        float* error = w.E + (t - 1) * kept;
        for (int b = from; b < to; b++) hear(H - kept + b * NP, w.drive + b * NP, w.heard + b * NP);
        for (int b = from; b < to; b++) draws<LAST>(w.heard + b * NP, H + b * NP, error + b * NP, t, b);
      }
    }
  }

  // weight[b] E[b] is what the weights into the hidden layer learn from: E, where the draws have not left it already.
  void credit(const int32_t* H, const float* W_out, int b, float x_out, float a) {
    if constexpr (LAST == Beside::error) return;
    const int NP = z.NP();
    const float* P = w.P + b * NP;
    float* E = w.E + b * NP;
    const Lanes one = all(1.f);
    for (int j = 0; j < NP; j += LANES) {
      const Lanes h = only(-load(H + j), one), p = load(P + j), out = load(W_out + j);
      Lanes e = {};
      if constexpr (RULE == Rule::boltzmann) e = h;
      if constexpr (RULE == Rule::straight_through) e = out * p * (one - p);
      if constexpr (RULE == Rule::unbiased_weight_max) {  // P(a | H_i = 0) / P(a | H) from the output unit's two inputs
        const Lanes ratio = likelihood(all(x_out) - h * out, a) / likelihood(all(x_out), a);
        e = h * (one - ratio) * (h - p);
      }
      if constexpr (RULE == Rule::expected_weight_max) {
        const Lanes off = all(x_out) - h * out;
        const Lanes P_0 = likelihood(off, a), P_1 = likelihood(off + out, a);
        e = p * (one - p) * (P_1 - P_0) / (p * P_1 + (one - p) * P_0);
      }
      store(E + j, e);
    }
  }

  static Lanes likelihood(Lanes x, float a) {
    const float sign = a > 0 ? -LOG2E : LOG2E;  // Pr(a = 1) = sigma(x), Pr(a = 0) = sigma(-x)
    return probability(all(sign) * x);
  }

  // The inputs (1, S) and, in a chain, H (Algorithm 2: H_(t-1)) of all examples, by fours of episodes.
  void input_patterns() {
    const int D = z.D(), NP = z.NP(), G = fours(z.B);
    for (int g = 0; g < z.steps() * G; g++) {
      int32_t* pattern = w.x_pattern + (size_t)g * z.inputs();
      pattern[0] = PATTERNS - 1;
      patterns(w.S + g % G * 4 * z.DP(), z.DP(), D, pattern + 1);
      if constexpr (CHAIN) patterns(w.H + (size_t)g * 4 * NP, NP, z.N, pattern + 1 + D);
    }
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
  const float *W_out = params + z.W_out(), *w_c = params + z.w();
  const int32_t* H = w.H + (size_t)z.last() * z.BP() * NP;

  // Sample S, and what the layers make of it.
  int answer[MAX_BATCH];
  float delta[MAX_BATCH], e_out[MAX_BATCH], action[MAX_BATCH], x_out[MAX_BATCH] = {}, signal[MAX_BATCH], total = 0;
  states(answer);
  affine(w.S_pattern, B, D, z.signed_inputs, params, params + z.b(), NP, -LOG2E, w.scratch, w.drive);
  if (has_critic) affine(w.S_pattern, B, D, z.signed_inputs, params + z.V(), params + z.v(), CP, 1.f, w.scratch, w.hidden);

  // Sample H.
  if constexpr (CHAIN) explore_chain(params + z.W_rec());
  else
    for (int b = 0; b < B; b++) draws<LAST>(w.drive + b * NP, w.H + b * NP, (LAST == Beside::error ? w.E : w.P) + b * NP, 0, b);

  // Sample A, ask the critic, observe R. Loops without branches: which way they would go is a coin's matter.
  float u[MAX_BATCH], V[MAX_BATCH] = {}, pi[MAX_BATCH];
  for (int b = 0; b < B; b++) {
    x_out[b] = dot(H + b * NP, W_out, NP) + params[z.b_out()];
    if (!has_critic) continue;
    float* hidden = w.hidden + b * CP;
    if (z.critic == Critic::relu)
      for (int j = 0; j < CP; j += LANES) store(hidden + j, larger(load(hidden + j), Lanes{}));
    else
      for (int j = 0; j < CP; j++) hidden[j] = std::tanh(hidden[j]);
    V[b] = dot(hidden, w_c, CP) + params[z.w_0()];
  }
  for (int b = 0; b < B; b += LANES) {
    store(u + b, __builtin_convertvector((Ints)(random.next() >> 8), Lanes) / 16777216.f);
    store(pi + b, probability(all(-LOG2E) * load(x_out + b)));
  }
  const float wrong = z.signed_rewards ? -1.f : 0.f;
  for (int b = 0; b < B; b++) {
    const int A = u[b] < pi[b];
    const float R = A == answer[b] ? 1.f : wrong;
    action[b] = (float)A;
    total += R;
    delta[b] = (R - V[b]) / B;  // every gradient is a mean over the batch
    signal[b] = z.centre_reward ? delta[b] : R / B;
    e_out[b] = delta[b] * (action[b] - pi[b]);
    if constexpr (RULE == Rule::straight_through) signal[b] *= action[b] - pi[b];
    if constexpr (RECORD) {
      record->u_a[b] = u[b];
      record->a[b] = action[b];
      for (int i = 0; i < D; i++) record->s[b * D + i] = w.S[b * z.DP() + i] ? 1.f : (z.signed_inputs ? -1.f : 0.f);
    }
  }

  // Credit.
  for (int b = 0; b < B; b++) credit(H + b * NP, W_out, b, x_out[b], action[b]);
  float decay = 1;
  for (int s = z.steps(); s-- > 0; decay *= lambda)
    for (int b = 0; b < B; b++) w.weight[s * z.BP() + b] = decay * signal[b];
  input_patterns();

  // Every gradient goes straight into its step.
  const Adam adam(params, m, v, t + 1);
  const float rate_hidden = (float)numbers.rate_hidden.at(progress), rate_output = (float)numbers.rate_output.at(progress);
  // Rows of (1, S): the weights of S are followed by the bias. A signed input is 2 S - 1, and the sum for 1 comes first.
  const bool is_signed = z.signed_inputs;
  float* const sum_of_all = w.total;
  const auto first_rows = [=](int start, int width, int i, int j, Lanes sum, float rate) INLINE_LAMBDA {
    if (i == 0) store(sum_of_all + j, sum);
    else if (is_signed) sum = sum + sum - load(sum_of_all + j);
    adam.step(start + (i > 0 ? i - 1 : D) * width + j, sum, rate);
  };
  const int32_t* const units = w.unit;
  outer(w.x_pattern, z.inputs(), z.inputs(), z.steps() * fours(B), w.E, w.weight, NP, w.scratch, w.partial,
        [=, c = c](int i, int j, Lanes sum) INLINE_LAMBDA {
          if (i <= D) return first_rows(0, NP, i, j, sum, rate_hidden);
          if constexpr (RULE == Rule::boltzmann) sum = load(units + j) == i - D - 1 ? Lanes{} : sum;
          adam.step(i * NP + j, all(c) * sum, rate_hidden);  // W_rec follows the bias
        });
  if (has_critic) {
    const float rate = (float)numbers.rate_critic.at(progress);
    for (int b = 0; b < B; b++) {
      const float* hidden = w.hidden + b * CP;
      float* __restrict back = w.back + b * CP;
      if (z.critic == Critic::relu)
        for (int j = 0; j < CP; j++) back[j] = hidden[j] > 0 ? w_c[j] : 0.f;
      else
        for (int j = 0; j < CP; j++) back[j] = (1 - hidden[j] * hidden[j]) * w_c[j];
      w.weight[b] = delta[b];
    }
    // Every four has the inputs that it has in the hidden layer; those after (1, S) are left out.
    outer(w.x_pattern, 1 + D, z.inputs(), fours(B), w.back, w.weight, CP, w.scratch, w.partial,
          [=, V = z.V()](int i, int j, Lanes sum) INLINE_LAMBDA { first_rows(V, CP, i, j, sum, rate); });
    for (int j = 0; j < CP; j += LANES) {
      Lanes g = {};
      for (int b = 0; b < B; b++) g += all(delta[b]) * load(w.hidden + b * CP + j);
      adam.step(z.w() + j, g, rate);
    }
    adam.step(z.w_0(), Lanes{std::accumulate(delta, delta + B, 0.f)}, rate);
  }
  for (int j = 0; j < NP; j += LANES) {
    Lanes g = {};
    for (int b = 0; b < B; b++) g += only(-load(H + b * NP + j), all(e_out[b]));
    adam.step(z.W_out() + j, g, rate_output);
  }
  adam.step(z.b_out(), Lanes{std::accumulate(e_out, e_out + B, 0.f)}, rate_output);
  return total / B;
}

}  // namespace coexplore
