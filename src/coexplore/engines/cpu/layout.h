// What a run looks like in memory.
//
// All parameters lie in one flat vector, rows padded to whole vectors (N to NP, the critic's C to CP):
//
//     W [D][NP] | b [NP] | W_rec [N][NP] (chain only) | W_out [NP] | b_out | V [D][CP] | v [CP] | w [CP] | w_0
//     | U [D][NP] | u [NP] (where units predict themselves)
//
// A critic without hidden units has V and v alone, of one column, and a mean has v alone: V(s) is that column.
// Padded entries start at zero and stay there: their activity is masked to zero, so their gradient is zero.
#pragma once
#include <new>

#include "matrix.h"

namespace coexplore {

enum class Rule { reinforce, boltzmann, recurrent, straight_through, unbiased_weight_max, expected_weight_max };
enum class Critic { none, relu, tanh, linear, mean };
enum class Centre { none, half, drive, predicted };  // E, of which Algorithm 1 subtracts kappa E from H

constexpr bool is_chain(Rule rule) { return rule == Rule::boltzmann || rule == Rule::recurrent; }

// What a rule needs of p = E[H] beside the last H: nothing, H - kappa p or p itself.
enum class Beside { nothing, error, probability };
constexpr Beside beside_of(Rule rule) {
  if (rule == Rule::boltzmann) return Beside::nothing;
  return rule == Rule::reinforce || rule == Rule::recurrent ? Beside::error : Beside::probability;
}

constexpr int MOST_UNITS = 256, MOST_BATCH = 64, MOST_BITS = 6, MOST_STEPS = 1 << 20;  // N or C, B, bits, T

struct Shape {
  Rule rule;
  Critic critic;
  int N, T, B, C, bits;
  bool signed_inputs, signed_rewards, centre_reward, centre_activity;
  bool signed_signals, signed_chain;  // whether 2 H - 1 is what the output hears, what the hidden units hear of each other
  Centre centre;
  bool lazy;  // whether a unit is drawn anew in half of the chain's steps only (Algorithm 1)

  int D() const { return bits + (1 << bits); }
  int DP() const { return padded(D()); }
  int NP() const { return padded(N); }
  int CP() const { return padded(C); }
  bool chain() const { return is_chain(rule); }
  bool critic_units() const { return critic == Critic::relu || critic == Critic::tanh; }
  float flip() const { return signed_signals ? 2.f : 1.f; }  // how much what a unit sends moves from H = 0 to H = 1

  // What the weights into the hidden layer learn from: an example per episode, for Algorithm 2 one per step of an episode.
  // Examples go by fours, so batches are padded to BP. Each has the inputs (1, S) and, in a chain, H.
  int BP() const { return 4 * fours(B); }
  int steps() const { return rule == Rule::recurrent ? T : 1; }
  int last() const { return rule == Rule::recurrent ? T : 0; }  // where H_(T) is kept
  int inputs() const { return 1 + D() + (chain() ? N : 0); }

  // Where each part starts; `end` is the length of the whole.
  int b() const { return D() * NP(); }
  int W_rec() const { return b() + NP(); }
  int W_out() const { return W_rec() + (chain() ? N * NP() : 0); }
  int b_out() const { return W_out() + NP(); }
  int V() const { return b_out() + LANES; }
  int v() const { return V() + (critic == Critic::mean ? 0 : D() * CP()); }
  int w() const { return v() + CP(); }
  int w_0() const { return w() + CP(); }
  int U() const { return critic == Critic::none ? V() : critic_units() ? w_0() + LANES : w(); }
  int u() const { return U() + D() * NP(); }
  int end() const { return centre == Centre::predicted ? u() + NP() : U(); }
};

struct Linear {
  double start, stop;
  double at(double progress) const { return start + (stop - start) * progress; }
};

struct Numbers {
  Linear coupling, centring_strength, pair_strength, rate_hidden, rate_output, rate_critic;
  double trace_decay, recurrent_rate, centring_rate;  // the rates of W_rec and of U are multiples of their layer's
  int64_t updates;
};

// What one update drew, for replaying it elsewhere: s [B][D], u and H [T+1][B][N] (one row without a chain), u_A and A [B].
struct Draws {
  float *s, *u, *h, *u_a, *a;
};

// What exploring leaves of every episode for learning: delta = (R - V) / B, the signal to the hidden units, the output's error.
// V stays 0 without a critic; x_out is read by whole vectors, so past the last episode.
struct Episodes {
  int answer[MOST_BATCH];
  float V[MOST_BATCH] = {}, x_out[MOST_BATCH] = {}, action[MOST_BATCH];
  float delta[MOST_BATCH], signal[MOST_BATCH], e_out[MOST_BATCH];
};

// Memory in whole cache lines: a vector that straddles two of them costs twice.
template <class T>
struct Aligned {
  static constexpr std::align_val_t LINE{64};
  T* data;
  explicit Aligned(size_t n) : data((T*)::operator new[]((n + 16) * sizeof(T), LINE)) { std::fill(data, data + n + 16, T{}); }
  ~Aligned() { ::operator delete[](data, LINE); }
  Aligned(const Aligned&) = delete;
  operator T*() const { return data; }
};

// Arrays walked in step should not lie whole pages apart: a load would seem to wait for a store to the other array.
inline size_t apart(size_t n) { return (n + 1023) / 1024 * 1024 + 128; }

struct Workspace {
  size_t BP, NP, CP, D, N, steps, inputs;
  Aligned<float> drive, heard, P, E, error, tables, scratch, partial, total, lean, hidden, back, weight, learned;
  float *params, *m, *v;
  Aligned<int32_t> S, H, S_pattern, H_pattern, x_pattern, is_unit, unit;

  explicit Workspace(const Shape& z)
      : BP(z.BP()), NP(z.NP()), CP(z.CP()), D(z.D()), N(z.N), steps(z.steps()), inputs(z.inputs()), drive(BP * NP),
        heard(BP * NP), P(BP * NP), E(steps * BP * NP), error(z.centre == Centre::none ? 0 : BP * NP),
        tables(z.chain() ? fours(N) * PATTERNS * NP : 0),
        scratch(std::max(fours(D), OUTER_GROUPS) * PATTERNS * BLOCK * LANES), partial(inputs * OUTER_BLOCK * LANES),
        total(std::max(NP, CP)), lean(NP), hidden(BP * CP), back(BP * CP), weight(steps * BP),
        learned(3 * apart(z.end())), params(learned), m(params + apart(z.end())), v(m + apart(z.end())),
        S(BP * z.DP()), H((z.last() + 1) * BP * NP), S_pattern(BP * fours(D)), H_pattern(fours(N)),
        x_pattern(steps * BP / 4 * inputs), is_unit(NP), unit(NP) {
    std::fill(is_unit.data, is_unit + z.N, -1);
    for (size_t j = 0; j < NP; j++) unit[j] = (int32_t)j;
  }

  // What it takes, nearly: the parts that can be large.
  static double bytes(const Shape& z) {
    const double layer = (double)z.BP() * z.NP();
    return 4 * (layer * (z.steps() + z.last()) + (z.chain() ? 4. * z.N * z.NP() : 0) + 3. * z.end() + 8 * layer);
  }

  const int32_t* last_H(const Shape& z) const { return H + z.last() * BP * NP; }
};

}  // namespace coexplore
