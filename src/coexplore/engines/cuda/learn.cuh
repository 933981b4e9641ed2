// Learning: A and R, the credit of every unit, gradients and steps.
#pragma once
#include "explore.cuh"

// Mean over the batch of one number per episode, in lanes % 16.
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
  rho = settings.pair_strength.at(progress);
  read_states(t);
  explore(t);
  vote(t);
  if ((t + 1) % AHEAD == 0 && warp < AHEAD) sample_states(t + 1 + warp);
  const Prepared now = prepare(t);
  stream();
  come_together(t);
  learn(t, now);
}

// V(s) of the episode lane % 16.
template <class Z, bool RECORD>
DEVICE float Training<Z, RECORD>::value(u32 t) const {
  float sum = w_0.p;
#pragma unroll
  for (int i = 0; i < Z::CRITIC_TILES; i++) sum += partial_value(t)[i * 16 + lane % 16];
  return sum;
}

// The critic's sums are there after the barriers of a chain; without those they are not yet.
template <class Z, bool RECORD>
DEVICE Prepared Training<Z, RECORD>::prepare(u32 t) const {
  const Adam adam(t + 1);
  return Prepared{adam,
                  adam.gain * settings.rate_hidden.at(progress),
                  adam.gain * settings.rate_output.at(progress),
                  adam.gain * settings.rate_critic.at(progress),
                  uniform(random_words(lane % 16, t, seed, ACTION).x[0]),
                  settings.signed_rewards ? -1.f : 0.f,
                  Z::EARLY_VALUE ? value(t) : 0.f,
                  answers(t)[lane % 16] != 0,
                  settings.centre_reward != 0};
}

// What unit (n, row) learns from in episode k, signal included: W += alpha S E^T.
// `out` is what firing changes of the output's drive, w or 2 w.
// Weight Max, with E = e^w (e^-w if A = 0) and `odds` = P(a) / (1 - P(a)) of the action taken: 1 - P(a | H_i = 0) / P(a | H)
// is (E - 1) / (odds + E) where H_i = 1; the expected form has (E - 1) / (odds (E if H_i = 0) + p E + 1 - p).
template <class Z, bool RECORD>
DEVICE float Training<Z, RECORD>::credit(int n, int k, const Episodes& episodes) const {
  const float signal = episodes.signal[k], q = p[n][k], out = Z::SIGNED_OUT ? 2.f * W_out[n].p : W_out[n].p;
  const bool fired = H[n][k / 2] >> (16 * (k % 2)) & ONE;
  if (Z::FAMILY == Family::boltzmann)
    return Z::CENTRED ? signal * fmaf(-kappa, expected[Z::CENTRED ? n : 0][k], fired ? 1.f : 0.f) : (fired ? signal : 0.f);
  if (Z::FAMILY == Family::recurrent || settings.rule == REINFORCE) return signal * fmaf(-kappa, q, fired ? 1.f : 0.f);
  if (settings.rule == STRAIGHT_THROUGH) return signal * episodes.error[k] * out * q * (1.f - q);
  const float E = bounded_exp(episodes.a[k] > 0.f ? out : -out), odds = episodes.odds[k];
  if (settings.rule == UNBIASED_WEIGHT_MAX) return fired ? signal * (1.f - q) * (E - 1.f) * reciprocal(odds + E) : 0.f;
  return signal * q * (1.f - q) * (E - 1.f) * reciprocal((fired ? odds : odds * E) + fmaf(q, E, 1.f - q));
}

template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn(u32 t, const Prepared& now) {
  // The action, the reward and the critic's error of the episode lane % 16, the same in every warp.
  const u32 b = lane % 16;
  float x = b_out.p;
#pragma unroll (Z::UNIT_TILES < 16 ? Z::UNIT_TILES : 16)
  for (int i = 0; i < Z::UNIT_TILES; i++) x += partial_out(t)[i * 16 + b];
  const float pi = sigmoid(x);
  const bool fires = now.u < pi, correct = fires == now.answer;
  const float a = fires ? 1.f : 0.f, R = correct ? 1.f : now.wrong, delta = R - (Z::EARLY_VALUE ? now.value : value(t));
  right += correct;
  if (RECORD && thread_index() < 16 && rank == 0) draws.u_a[b] = now.u, draws.a[b] = a;

  // The same for the four episodes that this lane has of a tile.
  Episodes episodes;
  spread(delta, lane, episodes.delta);
  spread(now.centred ? delta : R, lane, episodes.signal);
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

  now.adam.step(b_out, mean(delta * (a - pi)), now.rate_output);
  now.adam.step(w_0, mean(delta), now.rate_critic);
  learn_critic(now, t, episodes);
  if (Z::FAMILY == Family::recurrent) learn_recurrent(now, episodes, e);
  if (owner) learn_hidden(now, t, episodes, e);
}

// The step of the two weights that this lane has in a tile of inputs; `odd` says which half of the fragment that is.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::climb(const Adam& adam, u32 (&weights)[4], int odd, int pair, float g_0, float g_1,
                                       float rate) {
  float4 x = moment(pair);
  adam.step(weights[2 * odd], weights[2 * odd + 1], g_0, g_1, x, rate);
  set_moment(pair, x);
}

// The weights between S and a tile, from the tile's E.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::climb_inputs(const Adam& adam, Inputs& weights, int pair, const Inputs& s,
                                              const Rows& rows, float rate) {
#pragma unroll
  for (int i = 0; i < Z::INPUT_TILES; i++) {
    float g[4] = {0, 0, 0, 0};
    mma(g, rows.f, s[i / 2][i % 2 * 2], s[i / 2][i % 2 * 2 + 1]);
    climb(adam, weights[i / 2], i % 2, pair + i, rows.down * (g[0] + g[2]), rows.down * (g[1] + g[3]), rate);
  }
}

// S for the gradient of a tile.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::load_inputs(u32 t, Inputs& s) const {
#pragma unroll
  for (int d = 0; d < Z::INPUT_DEPTH; d++) load_matrices(s[d], inputs(t) + for_gradient(Z::S_HALF) + d * PAIR_BYTES);
}

// Ascent on delta V(s).
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_critic(const Prepared& now, u32 t, const Episodes& episodes) {
  Inputs s;
  load_inputs(t, s);
  const bool tanh = settings.tanh_critic;
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
    climb_inputs(now.adam, V[n], Z::V_PAIRS + n * Z::INPUT_TILES, s, as_rows(back), now.rate_critic);
    now.adam.step(w[n], sum_episodes(forward) * (1 / 16.f), now.rate_critic);
  }
}

// Everything into and out of the hidden units but Algorithm 2's W_rec; Algorithm 1's W_rec is not trained on its diagonal.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_hidden(const Prepared& now, u32 t, const Episodes& episodes,
                                              const Errors& e) {
  Rows rows[Z::TILES];
  if (Z::FAMILY == Family::boltzmann && (Z::SIGNED_REC || Z::CENTRED)) {
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      float x[4];
      sent(n, Z::SIGNED_REC, x);
#pragma unroll
      for (int k = 0; k < 4; k++) x[k] *= Z::SIGNED_REC ? 0.5f * episodes.signal[k] : episodes.signal[k];
      rows[n] = as_rows(x);
    }
    learn_boltzmann(now, episodes, rows);
  }
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) rows[n] = as_rows(e[n]);
  if (Z::FAMILY == Family::boltzmann && !Z::SIGNED_REC && !Z::CENTRED) learn_boltzmann(now, episodes, rows);
  Inputs s;
  load_inputs(t, s);
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) {
    climb_inputs(now.adam, W[n], Z::W_PAIRS + n * Z::INPUT_TILES, s, rows[n], now.rate_hidden);
    float h[4];
    sent(n, Z::SIGNED_OUT, h);
#pragma unroll
    for (int k = 0; k < 4; k++) h[k] *= episodes.delta[k] * episodes.error[k];
    now.adam.step(W_out[n], sum_episodes(h) * (1 / 16.f), now.rate_output);
    if (Z::PREDICTS) learn_prediction(n, now, s);
  }
}

// U += alpha x (H - E)^T, whatever the reward.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_prediction(int n, const Prepared& now, const Inputs& s) {
  const int m = Z::PREDICTS ? n : 0;
  float x[4];
  sent(n, false, x);
#pragma unroll
  for (int k = 0; k < 4; k++) x[k] -= expected[m][k];
  climb_inputs(now.adam, U[m], Z::U_PAIRS + n * Z::INPUT_TILES, s, as_rows(x), now.rate_hidden * settings.centring_rate);
}

// rho E times the signal, for the pairs; E in half precision, as everybody else sees it.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::expected_rows(const Episodes& episodes, Rows (&rows)[CENTRED_TILES]) const {
#pragma unroll
  for (int n = 0; n < CENTRED_TILES; n++) {
    const float (&E)[4] = expected[Z::CENTRED ? n : 0];
    const float sign = real(n) ? 1.f : 0.f;
    float x[4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = Z::SIGNED_REC ? fmaf(2.f, E[k], -sign) : E[k];
    unpack(pack(x[0], x[1]), x[0], x[1]);
    unpack(pack(x[2], x[3]), x[2], x[3]);
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] *= (Z::SIGNED_REC ? 0.5f * rho : rho) * episodes.signal[k];
    rows[n] = as_rows(x);
  }
}

// W_rec += alpha c E H^T off the diagonal; where signals are signed, with 2 H - 1 for H and half of E. No branches: they would
// make the steps of the tiles wait for one another.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_boltzmann(const Prepared& now, const Episodes& episodes, const Rows (&rows)[Z::TILES]) {
  const float rate = Z::OWN_RATE ? now.rate_hidden * settings.recurrent_rate : now.rate_hidden;
  const float other_0 = row == 2 * column ? 0.f : 1.f, other_1 = row == 2 * column + 1 ? 0.f : 1.f;
  u32 h[4], E[4];
  Rows means[CENTRED_TILES];
  if (Z::CENTRED_PAIRS) expected_rows(episodes, means);
#pragma unroll
  for (int i = 0; i < Z::REC_TILES; i++) {
    if (i % 2 == 0) load_matrices(h, activity() + for_gradient(Z::H_HALF) + i / 2 * PAIR_BYTES);
    if (Z::CENTRED_PAIRS && i % 2 == 0) load_matrices(E, base + Z::AT_E + for_gradient(Z::H_HALF) + i / 2 * PAIR_BYTES);
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      float g[4] = {0, 0, 0, 0}, less_0 = 0.f, less_1 = 0.f;
      mma(g, rows[n].f, h[i % 2 * 2], h[i % 2 * 2 + 1]);
      const float down = c * rows[n].down;
      const bool diagonal = i == tile(n);
      const float down_0 = diagonal ? down * other_0 : down, down_1 = diagonal ? down * other_1 : down;
      if (Z::CENTRED_PAIRS) {
        const Rows& mean = means[n % CENTRED_TILES];
        const float share = c * mean.down;
        float q[4] = {0, 0, 0, 0};
        mma(q, mean.f, E[i % 2 * 2], E[i % 2 * 2 + 1]);
        less_0 = (diagonal ? share * other_0 : share) * (q[0] + q[2]);
        less_1 = (diagonal ? share * other_1 : share) * (q[1] + q[3]);
      }
      climb(now.adam, W_rec[n][i / 2 % Z::DEPTH], i % 2, rec_pair(n, i), down_0 * (g[0] + g[2]) - less_0,
            down_1 * (g[1] + g[3]) - less_1, rate);
    }
  }
}

// W_rec += alpha c sum_s lambda^(T-s) E_(s) H_(s-1)^T, from the last step back; `e` becomes the sum of the decayed E_(s).
// A larger layer's sums have no room in the registers beside the weights: they are taken in slices of the inputs.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::learn_recurrent(const Prepared& now, const Episodes& episodes, Errors& e) {
  constexpr int SLICE = Z::UNIT_TILES / Z::SLICES;
  const float rate = Z::OWN_RATE ? now.rate_hidden * settings.recurrent_rate : now.rate_hidden;
  Errors last;
#pragma unroll
  for (int n = 0; n < Z::TILES; n++)
#pragma unroll
    for (int k = 0; k < 4; k++) last[n][k] = e[n][k];
#pragma unroll
  for (int slice = 0; slice < Z::SLICES; slice++) {
    Slice g = {};
    if (slice) publish(before_last), hear();
    sum_slice(slice, episodes, last, e, g);
    if (!owner) return;
#pragma unroll
    for (int k = 0; k < Z::TILES * SLICE; k++) {
      const int n = Z::STREAMED ? k % Z::TILES : k / SLICE, j = Z::STREAMED ? k / Z::TILES : k % SLICE, i = slice * SLICE + j;
      climb(now.adam, W_rec[n][i / 2 % Z::DEPTH], i % 2, rec_pair(n, i), c * g[n][j][0], c * g[n][j][1], rate);
    }
  }
}

// g of a slice of the inputs; the first time also e.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::sum_slice(int slice, const Episodes& episodes, const Errors& last, Errors& e, Slice& g) {
  float error[Z::TILES][4], decay = 1.f;
#pragma unroll
  for (int n = 0; n < Z::TILES; n++)
#pragma unroll
    for (int k = 0; k < 4; k++) error[n][k] = last[n][k];
#pragma unroll 1
  for (u32 s = steps;; s--) {
    if (owner) add_outer(slice, error, g);
    if (s == 1) break;
    decay *= settings.decay;
    u32 before[Z::TILES][2] = {};
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      if (!owner) break;
      const float4 x = kept_errors[kept(s - 1, n)];
      const uint2 h = kept_activity[kept(s - 1, n)];
      before[n][0] = h.x, before[n][1] = h.y;
      const float errors[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
      for (int k = 0; k < 4; k++) {
        error[n][k] = decay * episodes.signal[k] * errors[k];
        if (slice == 0) e[n][k] += error[n][k];
      }
    }
    publish(before);
    hear();
  }
}

// g += E H^T with the H that was published last.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::add_outer(int slice, const Errors& e, Slice& g) {
  Rows rows[Z::TILES];
  u32 h[4];
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) rows[n] = as_rows(e[n]);
#pragma unroll
  for (int i = 0; i < Z::UNIT_TILES / Z::SLICES; i++) {
    const int at = slice * (Z::UNIT_TILES / Z::SLICES) + i;
    if (i % 2 == 0) load_matrices(h, activity() + for_gradient(Z::H_HALF) + at / 2 * PAIR_BYTES);
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      float x[4] = {0, 0, 0, 0};
      mma(x, rows[n].f, h[i % 2 * 2], h[i % 2 * 2 + 1]);
      g[n][i][0] = fmaf(rows[n].down, x[0] + x[2], g[n][i][0]);
      g[n][i][1] = fmaf(rows[n].down, x[1] + x[3], g[n][i][1]);
    }
  }
}
