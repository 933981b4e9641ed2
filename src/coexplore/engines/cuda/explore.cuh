// Sampling: S, then H, then the output's drive.
#pragma once
#include "training.cuh"

constexpr float NEVER = 1e30f;  // what -log2(e) times the drive is for a unit that never fires

// One warp, lane i for input i (and i + 32) of all episodes.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::sample_states(u32 t) {
  u32 word[Z::INPUT_LANES];
#pragma unroll
  for (u32 j = 0; j < Z::INPUT_LANES; j++) word[j] = random_words(lane + 32 * j, t, seed, STATES).x[0] & 0xFFFFu;
  const u32 b = lane % 16, k = settings.bits;
  const u32 zero = settings.signed_inputs ? ONE | 0x8000u : 0u, flip = zero ^ ONE;  // what 0 is; what 1 changes of it
#pragma unroll
  for (u32 j = 0; j < Z::INPUT_LANES; j++) {
    const u32 input = lane + 32 * j;
    u32* to = (u32*)(memory + Z::AT_S + t % TURNS * Z::S_BYTES + input * ROW_BYTES);
    if (input < k + (1 << k) || input == Z::BIAS) {
#pragma unroll
      for (int i = 0; i < 8; i++) {
        const u32 two = word[j] >> (2 * i), apart = (two | two << 15) & 0x10001u;  // two bits, one in each half of a word
        to[i / 4 * (Z::S_HALF / 4) + i % 4] = input == Z::BIAS ? ONE | ONE << 16 : (zero | zero << 16) ^ flip * apart;
      }
    }
  }
  u32 address = 0;
#pragma unroll
  for (int i = 0; i < Z::MAX_BITS; i++) {
    const u32 bit = shuffle(word[0], i) >> b & 1;
    if (i < k) address = 2 * address + bit;
  }
  u32 answer = shuffle(word[0], k + address) >> b & 1;
  if (Z::INPUT_LANES > 1) {
    const u32 further = shuffle(word[Z::INPUT_LANES - 1], k + address) >> b & 1;
    if (k + address >= 32) answer = further;
  }
  if (lane < 16) answers(t)[b] = answer;
}

// x = W^T S for a tile.
template <int DEPTH>
DEVICE void affine(const u32 (&weights)[DEPTH][4], const u32 (&s)[DEPTH][4], float (&x)[4]) {
#pragma unroll
  for (int half = 0; half < 2; half++) {
    float sum[4] = {0, 0, 0, 0};
#pragma unroll
    for (int d = 0; d < DEPTH; d++) mma(sum, weights[d], s[d][2 * half], s[d][2 * half + 1]);
    x[2 * half] = sum[0] + sum[2];
    x[2 * half + 1] = sum[1] + sum[3];
  }
}

// The drive of the hidden units, and the critic's V(s) as a sum for each of its tiles.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::read_states(u32 t) {
  Inputs s;
#pragma unroll
  for (int d = 0; d < Z::INPUT_DEPTH; d++) load_matrices_transposed(s[d], inputs(t) + for_x(Z::S_HALF) + d * PAIR_BYTES);
  if (RECORD) record_states(t);
  if (owner) {
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) {
      const float beyond = real(n) ? 0.f : NEVER;
      float x[4];
      affine(W[n], s, x);
#pragma unroll
      for (int k = 0; k < 4; k++) drive[n][k] = fmaf(-LOG2E, x[k], beyond);
      if (Z::CENTRED) expect_units(n, x, s);
    }
  }
  const bool tanh = settings.tanh_critic;
#pragma unroll
  for (int n = 0; n < Z::CRITIC_SHARE; n++) {
    if (!has_critic_tile(n)) break;
    float x[4], value[4];
    affine(V[n], s, x);
    if (tanh) {
      only_here();
#pragma unroll
      for (int k = 0; k < 4; k++) hidden[n][k] = 1.f - 2.f * reciprocal(1.f + exp2_(2.f * LOG2E * x[k]));
    } else {
#pragma unroll
      for (int k = 0; k < 4; k++) hidden[n][k] = fmaxf(x[k], 0.f);
    }
#pragma unroll
    for (int k = 0; k < 4; k++) value[k] = hidden[n][k] * w[n].p;
    const float sum = sum_units(value, lane);
    if (!(lane & 4)) partial_value(t)[critic_tile(n) * 16 + episode_of(lane)] = sum;
  }
}

// E of a tile whose drive is x; padding is expected to do nothing.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::expect_units(int n, const float (&x)[4], const u32 (&s)[Z::INPUT_DEPTH][4]) {
  float y[4] = {x[0], x[1], x[2], x[3]};
  if (Z::PREDICTS) affine(U[Z::PREDICTS ? n : 0], s, y);
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const float E = Z::CENTRE == Centre::half ? 0.5f : reciprocal(1.f + exp2_(-LOG2E * y[k]));
    expected[Z::CENTRED ? n : 0][k] = real(n) ? E : 0.f;
  }
}

// H_(s) ~ Ber(sigma(x)) for a tile, y = -log2(e) x; and p = sigma(x) where the rule needs it. u < sigma(x) is
// u 2^y + u - 1 < 0, one special function a draw, of which the GPU does few at a time (u against x in logarithms would take
// two); since u - 1 is exact, the sign is right for the 2^y it is given. It goes into H without a comparison: those are slow.
// Lazy: 2 u in place of u, which is below 1 where the word has no leading bit; elsewhere H stays what it was.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::draw(int n, const float (&y)[4], const Words& words, u32 s, bool lazy) {
  float excess[4];
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const float u = lazy ? 2.f * uniform(words.x[k]) : uniform(words.x[k]), odds = exp2_(y[k]);  // against firing
    excess[k] = fmaf(u, odds, u - 1.f);
    if (Z::FAMILY != Family::boltzmann) p[n][k] = reciprocal(1.f + odds);
  }
  const u32 before[2] = {H[n][0], H[n][1]};
  H[n][0] = negative(excess[0], excess[1]) & (ONE | ONE << 16);
  H[n][1] = negative(excess[2], excess[3]) & (ONE | ONE << 16);
  if (lazy) {
    H[n][0] |= before[0] & negative(from_bits(words.x[0]), from_bits(words.x[1]));
    H[n][1] |= before[1] & negative(from_bits(words.x[2]), from_bits(words.x[3]));
  }
  if (RECORD) record_draws(n, words, s);
}

// One synchronous step of the chain: x = c W_rec^T H_(s-1) + drive.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::step(u32 t, u32 s) {
  constexpr int READ = Z::DEPTH > 8 ? 4 : Z::DEPTH, MORE = Z::CHAINS > 1 ? Z::TILES : 1;  // as much as registers have room for
  float sum[Z::TILES][2][4] = {}, more[MORE][2][4] = {};
  u32 h[READ][4];
#pragma unroll
  for (int d = 0; d < READ; d++) load_matrices_transposed(h[d], activity() + for_x(Z::H_HALF) + d * PAIR_BYTES);
#pragma unroll
  for (int d = 0; d < Z::DEPTH; d++) {
    const u32 (&now)[4] = h[d % READ];
#pragma unroll
    for (int n = 0; n < Z::TILES; n++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        mma(d % Z::CHAINS ? more[n % MORE][half] : sum[n][half], W_rec[n][d], now[2 * half], now[2 * half + 1]);
    if (d + READ < Z::DEPTH)
      load_matrices_transposed(h[d % READ], activity() + for_x(Z::H_HALF) + (d + READ) * PAIR_BYTES);
  }
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) {
    float y[4];
    if (Z::CHAINS > 1)
#pragma unroll
      for (int k = 0; k < 8; k++) sum[n][k / 4][k % 4] += more[n % MORE][k / 4][k % 4];
#pragma unroll
    for (int k = 0; k < 4; k++)
      y[k] = fmaf(-LOG2E * c, sum[n][k / 2][k % 2] + sum[n][k / 2][k % 2 + 2], drive[n][k]);
    draw(n, y, Z::CLUSTER > 1 ? next[n] : random_words(tile(n) * 32 + lane, t, seed, s), s, Z::LAZY);
  }
}

// Writes what the chain hears of this warp's units where the next step, or the gradient, reads it: in every block of the run.
// The buffer it takes was last read before the last barrier; the next barrier makes it readable.
template <class Z, bool RECORD>
template <bool AS_IT_IS>
DEVICE void Training<Z, RECORD>::publish(const u32 (&h)[Z::TILES][2]) {
  turn ^= 1;
  const u32 at = base + Z::AT_H + turn * Z::H_BYTES + (tile(0) * TILE + row) * ROW_BYTES + column * 4;
  if (!owner) return;
  if (Z::CLUSTER > 1 && thread_index() == 0) expect(counter(turn), Z::H_BYTES);
#pragma unroll
  for (u32 i = 0; i < Z::CLUSTER; i++) {
    const u32 block = (rank + i) % Z::CLUSTER, to = Z::CLUSTER > 1 ? address_in(block, at) : at;
    const u32 on = Z::CLUSTER > 1 ? address_in(block, counter(turn)) : 0;
#pragma unroll
    for (int n = 0; n < Z::TILES; n++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const u32 word = Z::SIGNED_REC && !AS_IT_IS ? (real(n) ? signs(h[n][half]) : 0u) : h[n][half];
        const u32 there = to + half * Z::H_HALF + n * TILE * ROW_BYTES;
        if (Z::CLUSTER > 1) send(there, word, on);
        else store_shared(there, word);
      }
  }
}

// E (2 E - 1 where the chain hears signs) of all units, in half precision, where the gradient of the pairs reads it. It comes by
// the way of H, whose buffer is free before the chain and again after everybody has made a copy.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::share_expected() {
  u32 words[Z::TILES][2];
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) {
    const float (&E)[4] = expected[Z::CENTRED ? n : 0];
    const float sign = real(n) ? 1.f : 0.f;
    float x[4];
#pragma unroll
    for (int k = 0; k < 4; k++) x[k] = Z::SIGNED_REC ? fmaf(2.f, E[k], -sign) : E[k];
    words[n][0] = pack(x[0], x[1]), words[n][1] = pack(x[2], x[3]);
  }
  publish<true>(words);
  hear();
  const u32 *const from = (const u32*)(memory + Z::AT_H + turn * Z::H_BYTES);
  u32* const to = (u32*)(memory + Z::AT_E);
  for (u32 i = thread_index(); i < Z::H_BYTES / 4; i += Z::THREADS) to[i] = from[i];
}

// Algorithm 2 needs, once the reward is known, p_(s) and H_(s) and H_(s-1) of every step. A thread keeps its own share in
// global memory: H_(s) - kappa p_(s) and H_(s-1) of the steps before the last, which it has at hand.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::keep(u32 s, const u32 (&before)[Z::TILES][2]) {
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) {
    if (!owner) break;
    float h[4];
    unpack(H[n][0], h[0], h[1]);
    unpack(H[n][1], h[2], h[3]);
    kept_errors[kept(s, n)] = float4{fmaf(-kappa, p[n][0], h[0]), fmaf(-kappa, p[n][1], h[1]),
                                     fmaf(-kappa, p[n][2], h[2]), fmaf(-kappa, p[n][3], h[3])};
    kept_activity[kept(s, n)] = uint2{before[n][0], before[n][1]};
  }
}

// H_(0) from the drive alone; with a chain, T synchronous steps. The last H_(T) is published only for Algorithm 1's gradient.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::explore(u32 t) {
#pragma unroll
  for (int n = 0; n < Z::TILES; n++)
    if (owner) draw(n, drive[n], random_words(tile(n) * 32 + lane, t, seed, 0), 0);
  if (!Z::CHAIN) return;
  if (Z::CENTRED_PAIRS) share_expected();
  publish(H);
#pragma unroll 1
  for (u32 s = 1; s <= steps; s++) {
    if (Z::CLUSTER > 1)  // here what was published takes long enough to come to have random words meanwhile
#pragma unroll
      for (int n = 0; n < Z::TILES; n++) next[n] = random_words(tile(n) * 32 + lane, t, seed, s);
    hear();
    u32 before[Z::TILES][2];
#pragma unroll
    for (int n = 0; n < Z::TILES; n++) before[n][0] = H[n][0], before[n][1] = H[n][1];
    if (owner) step(t, s);
    if (Z::FAMILY == Family::boltzmann) publish(H);
    else if (s < steps) keep(s, before), publish(H);
    if (Z::SLICES > 1)
#pragma unroll
      for (int n = 0; n < Z::TILES; n++) before_last[n][0] = before[n][0], before_last[n][1] = before[n][1];
  }
}

// H of unit (n, row) in the four episodes, or 2 H - 1, as those hear it that it is sent to; padding is silent.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::sent(int n, bool as_signs, float (&x)[4]) const {
  unpack(H[n][0], x[0], x[1]);
  unpack(H[n][1], x[2], x[3]);
  if (!as_signs) return;
  const float sign = real(n) ? 1.f : 0.f;
#pragma unroll
  for (int k = 0; k < 4; k++) x[k] = fmaf(2.f * sign, x[k], -sign);
}

// W_out^T H (or 2 H - 1) as a sum for each tile.
template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::vote(u32 t) {
  if (!owner) return;
  float sum[Z::TILES];
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) {
    float h[4];
    sent(n, Z::SIGNED_OUT, h);
#pragma unroll
    for (int k = 0; k < 4; k++) h[k] *= W_out[n].p;
    sum[n] = sum_units(h, lane);
  }
  if (Z::CLUSTER > 1 && thread_index() == 0) expect(counter(2 + t % 2), Z::UNIT_TILES * 64);
  if (lane & 4) return;
#pragma unroll
  for (int n = 0; n < Z::TILES; n++) {
    float* const at = &partial_out(t)[tile(n) * 16 + episode_of(lane)];
    if (Z::CLUSTER == 1) *at = sum[n];
    else
#pragma unroll
      for (u32 i = 0; i < Z::CLUSTER; i++)
        send(address_in(i, base + (u32)((unsigned char*)at - memory)), bits(sum[n]), address_in(i, counter(2 + t % 2)));
  }
}

template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::record_states(u32 t) {
  const u32 input = thread_index(), D = Z::INPUTS;
  if (input >= D || rank != 0) return;
  const u32* from = (const u32*)(memory + Z::AT_S + t % TURNS * Z::S_BYTES + input * ROW_BYTES);
  for (int i = 0; i < 8; i++) {
    const u32 pair = from[i / 4 * (Z::S_HALF / 4) + i % 4];
    unpack(pair, draws.s[2 * i * D + input], draws.s[(2 * i + 1) * D + input]);
  }
}

template <class Z, bool RECORD>
DEVICE void Training<Z, RECORD>::record_draws(int n, const Words& words, u32 s) {
#pragma unroll
  for (int k = 0; k < 4; k++) {
    const u32 b = 8 * (k / 2) + 2 * column + k % 2, at = (s * B + b) * Z::UNITS + tile(n) * TILE + row;
    draws.u[at] = uniform(words.x[k]);
    draws.h[at] = H[n][k / 2] >> (16 * (k % 2)) & ONE ? 1.f : 0.f;
  }
}
