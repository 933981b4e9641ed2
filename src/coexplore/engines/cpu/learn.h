// Learning: the credit of every unit, gradients and steps. Every gradient goes straight into its step.
#pragma once
#include <numeric>

#include "adam.h"
#include "layout.h"

namespace coexplore {

template <Rule RULE>
struct Learn {
  const Shape& z;
  Workspace& w;
  const Numbers& numbers;
  const Episodes& episodes;
  const double progress;
  const float c, kappa, rho;

  // Each part has a copy of adam, which stores cannot change: it stays in registers.
  void run(const Adam& adam) {
    if constexpr (beside_of(RULE) != Beside::error)
      for (int b = 0; b < z.B; b++) credit(b);
    input_patterns();
    learn_hidden(adam);
    if (z.critic != Critic::none) learn_critic(adam);
    learn_output(adam);
  }

  static Lanes likelihood(Lanes x, float a) {
    const float sign = a > 0 ? -LOG2E : LOG2E;  // Pr(a = 1) = sigma(x), Pr(a = 0) = sigma(-x)
    return probability(all(sign) * x);
  }

  // The hidden units' E, where the draws have not left it already.
  void credit(int b) {
    const int NP = z.NP();
    const int32_t* H = w.last_H(z) + b * NP;
    const float *P = w.P + b * NP, *W_out = w.params + z.W_out(), x_out = episodes.x_out[b], a = episodes.action[b];
    float* E = w.E + b * NP;
    const float flip = z.flip();
    const Lanes one = all(1.f);
    for (int j = 0; j < NP; j += LANES) {
      const Lanes h = only(-load(H + j), one), p = load(P + j), out = all(flip) * load(W_out + j);
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

  // The inputs (1, S) and, in a chain, H (Algorithm 2: H_(t-1)) of all examples, by fours of episodes.
  void input_patterns() {
    const int D = z.D(), NP = z.NP(), G = fours(z.B);
    for (int g = 0; g < z.steps() * G; g++) {
      int32_t* pattern = w.x_pattern + (size_t)g * z.inputs();
      pattern[0] = PATTERNS - 1;
      patterns(w.S + g % G * 4 * z.DP(), z.DP(), D, pattern + 1);
      if constexpr (is_chain(RULE)) patterns(w.H + (size_t)g * 4 * NP, NP, z.N, pattern + 1 + D);
    }
  }

  // Steps of the matrix at `start` and the bias after it, from e weighted by w.weight; rows after those of (1, S) are given to
  // further(i, j, sum). A signed input is 2 S - 1, and the sum for 1 comes first.
  template <class F>
  INLINE void climb(const Adam& adam, int start, int width, int rows, int groups, const float* e, float rate, F&& further) {
    const int D = z.D();
    const bool is_signed = z.signed_inputs;
    float* const sum_of_all = w.total;
    outer(w.x_pattern, rows, z.inputs(), groups, e, w.weight, width, w.scratch, w.partial,
          [=](int i, int j, Lanes sum) INLINE_LAMBDA {
            if (i <= D) {
              if (i == 0) store(sum_of_all + j, sum);
              else if (is_signed) sum = sum + sum - load(sum_of_all + j);
              adam.step(start + (i > 0 ? i - 1 : D) * width + j, sum, rate);
            } else further(i, j, sum);
          });
  }

  // What the pairs' sums of Algorithm 1 lack where s = 2 H - 1: 1/2 s_i s_j = 2 h_i h_j - (h_i - 1/4) - (h_j - 1/4). In the
  // same order for i and j, so that W_rec stays symmetric to the last bit.
  void sum_leans() {
    const int NP = z.NP();
    for (int j = 0; j < NP; j += LANES) {
      Lanes lean = {};
      for (int b = 0; b < z.B; b++) lean += all(episodes.signal[b]) * (load(w.E + b * NP + j) - all(0.25f));
      store(w.lean + j, lean);
    }
  }

  // W, b and, in a chain, W_rec, which follows b. In Algorithm 1 its diagonal stays; in Algorithm 2 earlier steps weigh less.
  void learn_hidden(Adam adam) {
    const int B = z.B, D = z.D(), NP = z.NP(), groups = z.steps() * fours(B);
    const float rate = (float)numbers.rate_hidden.at(progress), lambda = (float)numbers.trace_decay;
    float decay = 1;
    for (int s = z.steps(); s-- > 0; decay *= lambda)
      for (int b = 0; b < B; b++) w.weight[s * z.BP() + b] = decay * episodes.signal[b];
    const float rate_rec = (float)(numbers.rate_hidden.at(progress) * numbers.recurrent_rate);
    const bool is_signed = z.signed_chain;
    if (RULE == Rule::boltzmann && is_signed) sum_leans();
    const int32_t *const units = w.unit, *const is_unit = w.is_unit;
    const float *const lean = w.lean, *const sum_of_all = w.total;
    const auto recurrent = [=, this, c = c](int i, int j, Lanes sum) INLINE_LAMBDA {
      if constexpr (RULE == Rule::boltzmann) {
        if (is_signed) sum = only(load(is_unit + j), sum + sum - (load(lean + j) + all(lean[i - D - 1])));
        if (rho != 0) sum = sum - all(rho) * expected_pairs(i - D - 1, j);
        sum = load(units + j) == i - D - 1 ? Lanes{} : sum;
      } else if (is_signed) sum = sum + sum - load(sum_of_all + j);
      adam.step(i * NP + j, all(c) * sum, rate_rec);
    };
    if (RULE != Rule::boltzmann || z.centre == Centre::none)
      return climb(adam, 0, NP, z.inputs(), groups, w.E, rate, recurrent);
    outer(w.x_pattern + 1 + D, z.N, z.inputs(), groups, w.E, w.weight, NP, w.scratch, w.partial,
          [&](int i, int j, Lanes sum) INLINE_LAMBDA { recurrent(i + 1 + D, j, sum); });
    centre(kappa);
    climb(adam, 0, NP, 1 + D, groups, w.error, rate, [](int, int, Lanes) INLINE_LAMBDA {});
    if (z.centre == Centre::predicted) learn_prediction(adam);
  }

  // The mean over the batch of the signal times E_i E_j, or of 1/2 (2 E_i - 1) (2 E_j - 1) where the chain hears signs. The
  // product of the two comes first, so that W_rec stays symmetric to the last bit.
  Lanes expected_pairs(int i, int j) const {
    const int NP = z.NP();
    Lanes sum = {};
    for (int b = 0; b < z.B; b++) {
      const Lanes E = load(w.P + b * NP + j), E_i = all(w.P[b * NP + i]);
      const Lanes pair = z.signed_chain ? all(0.5f) * ((E + E - all(1.f)) * (E_i + E_i - all(1.f))) : E * E_i;
      sum += all(episodes.signal[b]) * pair;
    }
    return only(load(w.is_unit + j), sum);
  }

  // H - strength E.
  void centre(float strength) {
    for (int k = 0; k < z.B * z.NP(); k += LANES) store(w.error + k, load(w.E + k) - all(strength) * load(w.P + k));
  }

  // U and u, by x (H - E)^T whatever the reward.
  void learn_prediction(Adam adam) {
    centre(1.f);
    for (int b = 0; b < z.B; b++) w.weight[b] = 1.f / z.B;
    const float rate = (float)(numbers.rate_hidden.at(progress) * numbers.centring_rate);
    climb(adam, z.U(), z.NP(), 1 + z.D(), fours(z.B), w.error, rate, [](int, int, Lanes) INLINE_LAMBDA {});
  }

  // Ascent on delta V(s).
  void learn_critic(Adam adam) {
    const int B = z.B, CP = z.CP();
    const float *const delta = episodes.delta, *const w_c = w.params + z.w(), rate = (float)numbers.rate_critic.at(progress);
    if (z.critic == Critic::mean) return adam.step(z.v(), Lanes{std::accumulate(delta, delta + B, 0.f)}, rate);
    for (int b = 0; b < B; b++) {
      const float* hidden = w.hidden + b * CP;
      float* __restrict back = w.back + b * CP;
      if (z.critic == Critic::linear)
        for (int j = 0; j < CP; j++) back[j] = j == 0 ? 1.f : 0.f;
      else if (z.critic == Critic::relu)
        for (int j = 0; j < CP; j++) back[j] = hidden[j] > 0 ? w_c[j] : 0.f;
      else
        for (int j = 0; j < CP; j++) back[j] = (1 - hidden[j] * hidden[j]) * w_c[j];
      w.weight[b] = delta[b];
    }
    // Every four has the inputs that it has in the hidden layer; those after (1, S) are left out.
    climb(adam, z.V(), CP, 1 + z.D(), fours(B), w.back, rate, [](int, int, Lanes) INLINE_LAMBDA {});
    if (z.critic == Critic::linear) return;
    for (int j = 0; j < CP; j += LANES) {
      Lanes g = {};
      for (int b = 0; b < B; b++) g += all(delta[b]) * load(w.hidden + b * CP + j);
      adam.step(z.w() + j, g, rate);
    }
    adam.step(z.w_0(), Lanes{std::accumulate(delta, delta + B, 0.f)}, rate);
  }

  void learn_output(Adam adam) {
    const int B = z.B, NP = z.NP();
    const int32_t* const H = w.last_H(z);
    const float *const e_out = episodes.e_out, rate = (float)numbers.rate_output.at(progress);
    const float sum_of_all = std::accumulate(e_out, e_out + B, 0.f);
    for (int j = 0; j < NP; j += LANES) {
      Lanes g = {};
      for (int b = 0; b < B; b++) g += only(-load(H + b * NP + j), all(e_out[b]));
      if (z.signed_signals) g = g + g - only(load(w.is_unit + j), all(sum_of_all));  // padding sends 0
      adam.step(z.W_out() + j, g, rate);
    }
    adam.step(z.b_out(), Lanes{sum_of_all}, rate);
  }
};

}  // namespace coexplore
