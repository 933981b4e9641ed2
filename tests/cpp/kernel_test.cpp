// The kernel on its own, for the sanitizers: every rule over shapes that end inside and at the end of a vector.
// Prints what it checked and exits 1 if anything was wrong. With a number as argument it only runs that many updates
// of Algorithm 1 at the paper's size (for a profiler); with "extremes" it goes beyond what Python may ask for.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "training.h"

using namespace coexplore;

static int failures = 0;

static void check(bool right, const char* what, const Shape& z) {
  if (right) return;
  std::printf("wrong: %s (rule %d, N %d, T %d, B %d, bits %d)\n", what, (int)z.rule, z.N, z.T, z.B, z.bits);
  failures++;
}

struct Trained {
  std::vector<float> params, m, v;
  std::vector<uint32_t> random;
  std::vector<double> curve;
  double reward = 0;

  Trained(const Shape& z, int64_t updates)
      : params(z.end()), m(z.end()), v(z.end()), random(RANDOM_WORDS), curve(updates < 8 ? updates : 8) {
    seed(7, random.data());
    uint64_t x = 1;
    for (int i = 0; i < z.D(); i++)
      for (int n = 0; n < z.N; n++) params[i * z.NP() + n] = (float)(splitmix64(x) >> 40) / (1 << 24) - 0.5f;
    for (int n = 0; n < z.N; n++) params[z.W_out() + n] = (float)(splitmix64(x) >> 40) / (1 << 24) - 0.5f;
    if (z.critic_units())
      for (int n = 0; n < z.C; n++) params[z.w() + n] = (float)(splitmix64(x) >> 40) / (1 << 24) - 0.5f;
  }

  void go(const Shape& z, const Numbers& numbers, int64_t t, int64_t n) {
    reward += advance<false>(z, numbers, {params.data(), m.data(), v.data(), random.data(), curve.data(), (int64_t)curve.size()}, t, n);
  }
};

static Numbers numbers_for(int64_t updates) {
  const Linear rate{0.005, 0.001};
  return {{0.5, 0.1}, {1, 0.5}, {0.2, 1}, rate, rate, rate, 0.25, 0.5, 2, updates};
}

// Rates, couplings and strengths that no network survives.
static Numbers wild_numbers(int64_t updates) {
  const Linear most{1e6, -1e6};
  return {most, most, most, most, most, most, 1, 1e6, 1e6, updates};
}

static bool same(const std::vector<float>& a, const std::vector<float>& b) {  // also where they are no numbers
  return !std::memcmp(a.data(), b.data(), a.size() * sizeof(float));
}

static void check_padding(const Shape& z, const std::vector<float>& params) {
  for (int row = 0; row * z.NP() < z.b_out(); row++)  // W, b, W_rec and W_out follow one another
    for (int n = z.N; n < z.NP(); n++) check(params[row * z.NP() + n] == 0, "padding has moved", z);
  const int critic_end = z.critic_units() ? z.w_0() : z.U();
  for (int row = 0; z.V() + row * z.CP() < critic_end; row++)  // V, v and w
    for (int n = z.C; n < z.CP(); n++) check(params[z.V() + row * z.CP() + n] == 0, "padding has moved", z);
  for (int row = 0; z.U() + row * z.NP() < z.end(); row++)  // U and u
    for (int n = z.N; n < z.NP(); n++) check(params[z.U() + row * z.NP() + n] == 0, "padding has moved", z);
}

static void exercise(const Shape& z, int64_t updates = 20, bool wild = false) {
  const Numbers numbers = wild ? wild_numbers(updates) : numbers_for(updates);
  const int64_t first = updates / 3;
  Trained whole(z, updates), pieces(z, updates);
  whole.go(z, numbers, 0, updates);
  pieces.go(z, numbers, 0, first);
  pieces.go(z, numbers, first, 0);
  pieces.go(z, numbers, first, updates - first);
  check(same(whole.params, pieces.params) && whole.random == pieces.random && whole.curve == pieces.curve,
        "chunks change the result", z);
  for (double x : whole.curve) check(std::isfinite(x), "a reward is not finite", z);
  bool finite = true, moved = false;
  for (size_t i = 0; i < whole.params.size(); i++) {
    finite = finite && std::isfinite(whole.params[i]);
    moved = moved || whole.m[i] != 0;
  }
  check(finite || wild, "a parameter is not finite", z);
  check(moved || wild || z.B == 1, "nothing was learned", z);  // one episode may earn nothing
  if (finite) check_padding(z, whole.params);

  const size_t H = (size_t)(z.chain() ? z.T + 1 : 1) * z.B * z.N;
  std::vector<float> s((size_t)z.B * z.D()), u(H), h(H), u_a(z.B), a(z.B);
  const Draws draws{s.data(), u.data(), h.data(), u_a.data(), a.data()};
  Trained recorded(z, updates);
  advance<true>(z, numbers, {recorded.params.data(), recorded.m.data(), recorded.v.data(), recorded.random.data(), recorded.curve.data(), (int64_t)recorded.curve.size()}, 0, 1, &draws);
  for (float x : u) check(x >= 0 && x < 1, "a uniform is out of range", z);
  for (float x : h) check(x == 0 || x == 1, "a bit is no bit", z);
}

// All forms of a rule in turn.
static Shape extreme(int rule, int N, int T, int B, int bits, int i) {
  const Critic critic = (Critic)(i % 5);
  const int C = critic == Critic::linear || critic == Critic::mean ? 1 : N;
  return {(Rule)rule, critic, N, T, B, C, bits, i % 2 == 0, i % 5 != 0, i % 7 != 0, i % 3 != 0, i % 4 == 0, i % 4 < 2,
          (Rule)rule == Rule::boltzmann ? (Centre)(i % 4) : Centre::none, i % 6 < 3};
}

static int small_extremes() {
  int shapes = 0;
  for (int rule = 0; rule < 6; rule++)
    for (int N : {1, 2, 13, 256})
      for (int B : {1, 3, 63})
        if (N < 256 || B == 1) exercise(extreme(rule, N, N < 256 ? 200 : 7, B, 1 + shapes % 6, shapes), 3, true), shapes++;
  return shapes;
}

static int large_extremes() {
  int shapes = 0;
  for (int rule = 0; rule < 6; rule++) {
    for (int N : {1, 2, 13})
      for (int bits = 1; bits <= 6; bits++)
        for (int B : {1, 3, 16, 63, 64})
          for (bool wild : {false, true}) exercise(extreme(rule, N, 200, B, bits, shapes), 6, wild), shapes++;
    for (int bits : {1, 3, 6})
      for (bool wild : {false, true}) {
        exercise(extreme(rule, 1024, bits == 1 ? 200 : 2, bits == 6 ? 5 : 1, bits, shapes), 3, wild), shapes++;
        exercise(extreme(rule, 4096, 2, 1, bits, shapes), 2, wild), shapes++;
      }
  }
  exercise(extreme(2, 4096, 200, 1, 6, 0), 1, true);
  return shapes + 1;
}

int main(int argc, char** argv) {
  if (argc > 1 && !std::strcmp(argv[1], "extremes")) {
    std::printf("%d extreme shapes", large_extremes());
    std::printf(", %d failures\n", failures);
    return failures ? 1 : 0;
  }
  if (argc > 1) {
    const int64_t updates = std::atoll(argv[1]);
    const Rule rule = argc > 2 ? (Rule)std::atoi(argv[2]) : Rule::boltzmann;
    const Shape z{rule, Critic::relu, 64, rule == Rule::recurrent ? 2 : 25, 16, 64, 4, true, true, true, rule != Rule::boltzmann, false, false, Centre::none, false};
    Trained x(z, updates);
    x.go(z, numbers_for(updates), 0, updates);
    std::printf("mean reward %.3f\n", x.reward / (double)updates);
    return 0;
  }
  int shapes = 0;
  for (int rule = 0; rule < 6; rule++)
    for (int N : {1, 7, 8, 33, 100, 256})
      for (int bits : {1, 4, 6}) {
        const int B = N == 7 ? 1 : (N == 33 ? 64 : 5), T = N == 8 ? 6 : 2;
        const Critic critic = N % 3 == 0 ? Critic::none : (N % 2 ? Critic::tanh : Critic::relu);
        for (int centre = 0; centre < ((Rule)rule == Rule::boltzmann ? 4 : 1); centre++, shapes++)
          exercise({(Rule)rule, critic, N, T, B, N == 100 ? 9 : 64, bits, N != 7, N != 8, true, N != 33, bits > 1, bits == 4,
                    (Centre)centre, N == 33});
      }
  for (Critic critic : {Critic::linear, Critic::mean})
    for (int N : {7, 33})
      for (Centre centre : {Centre::none, Centre::predicted}) {
        exercise({Rule::boltzmann, critic, N, 2, 5, 1, 4, true, true, true, false, false, false, centre, false});
        shapes++;
      }
  shapes += small_extremes();
  std::printf("%d shapes, %d failures\n", shapes, failures);
  return failures ? 1 : 0;
}
