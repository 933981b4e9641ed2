// Learning: A and R, the credit of every unit, gradients and steps.
#pragma once
#include "explore.cuh"

// Mean over the batch of one number an episode, in lanes % 16.
DEVICE float mean(float x) {
#pragma unroll
  for (u32 mask = 8; mask; mask /= 2) x += shuffle_xor(x, mask);
  return x * (1 / 16.f);
}

DEVICE float sigmoid(float x) { return reciprocal(1.f + exp2_(-LOG2E * x)); }

// e^x, kept away from infinity and from zero.
DEVICE float bounded_exp(float x) { return exp2_(LOG2E * fminf(fmaxf(x, -60.f), 60.f)); }

template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::update(u32 t, float span) {
  progress = (float)t * span;
  c = settings.coupling.at(progress);
  kappa = settings.strength.at(progress);
  read_states(t);
  explore(t);
  vote(t);
  if (warp == Z::WARPS - 1) sample_states(t + 1);
  const float u = uniform(random_words(lane % 16, t, seed, ACTION).x[0]);
  barrier();
  learn(t, u);
}

// What unit (n, row) learns from in episode k, signal included: W += alpha S E^T.
// Weight Max, with E = e^w (e^-w if A = 0) and `odds` = P(a) / (1 - P(a)) of the action taken: 1 - P(a | H_i = 0) / P(a | H)
// is (E - 1) / (odds + E) where H_i = 1; the expected form has (E - 1) / (odds (E if H_i = 0) + p E + 1 - p).
template <class Z, bool RECORD>
DEVICE float Training<Z, RECORD>::credit(int n, int k, const Episodes& episodes) const {
  const float signal = episodes.signal[k], q = p[n][k], out = W_out[n].p;
  const bool fired = H[n][k / 2] >> (16 * (k % 2)) & ONE;
  if (Z::FAMILY == Family::boltzmann) return fired ? signal : 0.f;
  if (Z::FAMILY == Family::recurrent || settings.rule == REINFORCE) return signal * fmaf(-kappa, q, fired ? 1.f : 0.f);
  if (settings.rule == STRAIGHT_THROUGH) return signal * episodes.error[k] * out * q * (1.f - q);
  const float E = bounded_exp(episodes.a[k] > 0.f ? out : -out), odds = episodes.odds[k];
  if (settings.rule == UNBIASED_WEIGHT_MAX) return fired ? signal * (1.f - q) * (E - 1.f) * reciprocal(odds + E) : 0.f;
  return signal * q * (1.f - q) * (E - 1.f) * reciprocal((fired ? odds : odds * E) + fmaf(q, E, 1.f - q));
}

template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn(u32 t, float u) {
  // The action, the reward and the critic's error of the episode lane % 16, the same in every warp.
  const u32 b = lane % 16;
  float x = b_out.p, value = w_0.p;
#pragma unroll
  for (int i = 0; i < Z::UNIT_TILES; i++) x += partial_out(t)[i * 16 + b];
#pragma unroll
  for (int i = 0; i < Z::CRITIC_TILES; i++) value += partial_value(t)[i * 16 + b];
  const float pi = sigmoid(x);
  const bool fires = u < pi, correct = fires == (answers(t)[b] != 0);
  const float a = fires ? 1.f : 0.f, R = correct ? 1.f : (settings.signed_rewards ? -1.f : 0.f), delta = R - value;
  right += correct;
  if (RECORD && thread_index() < 16) draws.u_a[b] = u, draws.a[b] = a;

  // The same for the four episodes that this lane has of a tile.
  Episodes episodes;
  spread(delta, lane, episodes.delta);
  spread(settings.centre_reward ? delta : R, lane, episodes.signal);
  spread(a - pi, lane, episodes.error);
  if (Z::FAMILY == Family::independent && settings.rule >= UNBIASED_WEIGHT_MAX) {
    spread(a, lane, episodes.a);
    spread(bounded_exp(fires ? x : -x), lane, episodes.odds);
  }
  float e[Z::TILES][4];
#pragma unroll
  for (int n = 0; n < Z::TILES; n++)
#pragma unroll
    for (int k = 0; k < 4; k++) e[n][k] = credit(n, k, episodes);

  const Adam adam(t + 1);
  adam.step(b_out, mean(delta * (a - pi)), settings.rate_output.at(progress));
  adam.step(w_0, mean(delta), settings.rate_critic.at(progress));
  learn_critic(adam, t, episodes);
  if (Z::FAMILY == Family::recurrent) learn_recurrent(adam, episodes, e);
  if (owner) learn_hidden(adam, t, episodes, e);
}

// The step of the two weights that this lane has in a tile of inputs; `odd` says which half of the fragment that is.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::climb(const Adam& adam, u32 (&weights)[4], int odd, int pair, float g_0, float g_1,
                                       float alpha) {
  float4 x = moment(pair);
  adam.step(weights[2 * odd], weights[2 * odd + 1], g_0, g_1, x, alpha);
  set_moment(pair, x);
}

// The weights between S and a tile, from the tile's E as rows.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::climb_inputs(const Adam& adam, u32 (&weights)[2][4], int pair, const u32 (&s)[2][4],
                                              const float (&e)[4], float alpha) {
  u32 f[4];
  const float down = as_rows(e, f);
#pragma unroll
  for (int i = 0; i < INPUT_TILES; i++) {
    float g[4] = {0, 0, 0, 0};
    mma(g, f, s[i / 2][i % 2], s[i / 2][i % 2 + 2]);
    climb(adam, weights[i / 2], i % 2, pair + i, down * (g[0] + g[2]), down * (g[1] + g[3]), alpha);
  }
}

// Ascent on delta V(s).
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_critic(const Adam& adam, u32 t, const Episodes& episodes) {
  const float alpha = settings.rate_critic.at(progress);
  const bool tanh = settings.tanh_critic;
  u32 s[2][4];
  load_matrices(s[0], inputs(t));
  load_matrices(s[1], inputs(t) + PAIR_BYTES);
#pragma unroll
  for (int n = 0; n < Z::CRITIC_SHARE; n++) {
    if (!has_critic_tile(n)) break;
    float back[4], forward[4];
#pragma unroll
    for (int k = 0; k < 4; k++) {
      const float x = hidden[n][k], slope = tanh ? fmaf(-x, x, 1.f) : (x > 0.f ? 1.f : 0.f);
      back[k] = episodes.delta[k] * w[n].p * slope;
      forward[k] = episodes.delta[k] * x;
    }
    climb_inputs(adam, V[n], Z::V_PAIRS + n * INPUT_TILES, s, back, alpha);
    adam.step(w[n], sum_episodes(forward) * (1 / 16.f), alpha);
  }
}

// Everything into and out of the hidden units but Algorithm 2's W_rec; Algorithm 1's W_rec is not trained on its diagonal.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_hidden(const Adam& adam, u32 t, const Episodes& episodes,
                                              const Errors& e) {
  const float alpha = settings.rate_hidden.at(progress), alpha_out = settings.rate_output.at(progress);
  if (Z::FAMILY == Family::boltzmann) learn_boltzmann(adam, alpha, e);
  u32 s[2][4];
  load_matrices(s[0], inputs(t));
  load_matrices(s[1], inputs(t) + PAIR_BYTES);
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) {
    climb_inputs(adam, W[n], Z::W_PAIRS + n * INPUT_TILES, s, e[n], alpha);
    float h[4];
    unpack(H[n][0], h[0], h[1]);
    unpack(H[n][1], h[2], h[3]);
#pragma unroll
    for (int k = 0; k < 4; k++) h[k] *= episodes.delta[k] * episodes.error[k];
    adam.step(W_out[n], sum_episodes(h) * (1 / 16.f), alpha_out);
  }
}

// W_rec += alpha c E H^T off the diagonal.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_boltzmann(const Adam& adam, float alpha, const Errors& e) {
  u32 f[Z::TILES][4], h[4];
  float down[Z::TILES];
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) down[n] = c * as_rows(e[n], f[n]);
#pragma unroll
  for (int i = 0; i < Z::REC_TILES; i++) {
    if (i % 2 == 0) load_matrices(h, activity() + i / 2 * PAIR_BYTES);
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      float g[4] = {0, 0, 0, 0};
      mma(g, f[n], h[i % 2], h[i % 2 + 2]);
      const bool diagonal = i == tile(n);
      const float g_0 = diagonal && row == 2 * column ? 0.f : down[n] * (g[0] + g[2]);
      const float g_1 = diagonal && row == 2 * column + 1 ? 0.f : down[n] * (g[1] + g[3]);
      climb(adam, W_rec[n][i / 2 % Z::DEPTH], i % 2, n * Z::REC_TILES + i, g_0, g_1, alpha);
    }
  }
}

// W_rec += alpha c sum_s lambda^(T-s) E_(s) H_(s-1)^T, from the last step back; `e` becomes the sum of the decayed E_(s).
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_recurrent(const Adam& adam, const Episodes& episodes, Errors& e) {
  float g[Z::TILES][Z::UNIT_TILES][2] = {}, now[Z::TILES][4], decay = 1.f;
#pragma unroll
  for (int n = 0; n < Z::TILES; n++)
#pragma unroll
    for (int k = 0; k < 4; k++) now[n][k] = e[n][k];
#pragma unroll 1
  for (u32 s = steps;; s--) {
    if (owner) add_outer(now, g);
    if (s == 1) break;
    decay *= settings.decay;
    u32 before[Z::TILES][2] = {};
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      if (!owner) break;
      const float4 error = kept_errors[kept(s - 1, n)];
      const uint2 h = kept_activity[kept(s - 1, n)];
      before[n][0] = h.x, before[n][1] = h.y;
      const float errors[4] = {error.x, error.y, error.z, error.w};
#pragma unroll
      for (int k = 0; k < 4; k++) now[n][k] = decay * episodes.signal[k] * errors[k], e[n][k] += now[n][k];
    }
    publish(before);
    barrier();
  }
  if (!owner) return;
  const float alpha = settings.rate_hidden.at(progress);
#pragma unroll
  for (int n = 0; n < Z::TILES; n++)
#pragma unroll
    for (int i = 0; i < Z::REC_TILES; i++)
      climb(adam, W_rec[n][i / 2 % Z::DEPTH], i % 2, n * Z::REC_TILES + i, c * g[n][i][0], c * g[n][i][1], alpha);
}

// g += E H^T with the H that was published last.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::add_outer(const Errors& e, float (&g)[Z::TILES][Z::UNIT_TILES][2]) {
  u32 f[Z::TILES][4], h[4];
  float down[Z::TILES];
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) down[n] = as_rows(e[n], f[n]);
#pragma unroll
  for (int i = 0; i < Z::UNIT_TILES; i++) {
    if (i % 2 == 0) load_matrices(h, activity() + i / 2 * PAIR_BYTES);
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      float x[4] = {0, 0, 0, 0};
      mma(x, f[n], h[i % 2], h[i % 2 + 2]);
      g[n][i][0] = fmaf(down[n], x[0] + x[2], g[n][i][0]);
      g[n][i][1] = fmaf(down[n], x[1] + x[3], g[n][i][1]);
    }
  }
}
