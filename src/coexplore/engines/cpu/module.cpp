// The kernel for Python: flat arrays in and out, the interpreter's lock released while it works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "training.h"

namespace nb = nanobind;
using namespace coexplore;

template <class T>
using Flat = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Couplings and rates as (start, stop) pairs, then plain numbers, in the order of Numbers.
using FlatNumbers = std::array<double, 15>;
static Numbers numbers_of(const FlatNumbers& x, int64_t updates) {
  auto linear = [&](int i) { return Linear{x[2 * i], x[2 * i + 1]}; };
  return {linear(0), linear(1), linear(2), linear(3), linear(4), linear(5), x[12], x[13], x[14], updates};
}

static void expect(bool right, const char* what) {
  if (!right) throw std::invalid_argument(what);
}

// In the order of the enumerations. The last rule is a form of the one before it, not one that Python knows by name.
static const char* const RULES[] = {"reinforce", "boltzmann", "recurrent", "ste", "unbiased-weight-max", "expected"};
static const char* const CRITICS[] = {"none", "relu", "tanh"};
static const char* const CENTRES[] = {"none", "half", "drive", "predicted"};

static void check(const Shape& z) {
  auto within = [](int x, int most) { return 1 <= x && x <= most; };
  const bool units = within(z.N, MOST_UNITS) && within(z.C, MOST_UNITS);
  if (units && within(z.B, MOST_BATCH) && within(z.bits, MOST_BITS) && z.T >= 1) return;
  auto up_to = [](int most) { return "1 to " + std::to_string(most); };
  throw std::invalid_argument("shape out of range: " + up_to(MOST_UNITS) + " units, batches of " + up_to(MOST_BATCH) + ", " +
                              up_to(MOST_BITS) + " bits, at least 1 step");
}

static void new_shape(Shape* self, const std::string& rule, const std::string& critic, int N, int T, int B, int C, int bits,
                      bool signed_inputs, bool signed_rewards, bool centre_reward, bool centre_activity, bool signed_signals,
                      bool signed_chain, const std::string& centre, bool lazy) {
  const auto r = std::find(RULES, std::end(RULES), rule);
  const auto c = std::find(CRITICS, std::end(CRITICS), critic);
  const auto e = std::find(CENTRES, std::end(CENTRES), centre);
  expect(r != std::end(RULES) && c != std::end(CRITICS) && e != std::end(CENTRES), "unknown rule, critic or centre");
  new (self) Shape{(Rule)(r - RULES), (Critic)(c - CRITICS), N, T, B, C, bits, signed_inputs, signed_rewards, centre_reward,
                   centre_activity, signed_signals, signed_chain, (Centre)(e - CENTRES), lazy};
  check(*self);
}

static void new_seed(uint64_t value, Flat<uint32_t> state) {
  expect(state.size() == RANDOM_WORDS, "wrong length");
  seed(value, state.data());
}

static void random_words(Flat<uint32_t> state, Flat<uint32_t> out) {
  expect(state.size() == RANDOM_WORDS && out.size() % LANES == 0, "wrong length");
  Random random(state.data());
  for (size_t i = 0; i < out.size(); i += LANES) {
    const Words r = random.next();
    std::memcpy(out.data() + i, &r, sizeof r);
  }
  random.save(state.data());
}

static Training training_of(const Shape& z, int64_t updates, const Flat<float>& params, const Flat<float>& m,
                            const Flat<float>& v, const Flat<uint32_t>& random, const Flat<double>& curve, int64_t t, int64_t n) {
  const size_t end = z.end();
  expect(params.size() == end && m.size() == end && v.size() == end && random.size() == RANDOM_WORDS && curve.size() >= 1 &&
             t >= 0 && n >= 0 && t + n <= updates,
         "wrong length");
  return {params.data(), m.data(), v.data(), random.data(), curve.data(), (int64_t)curve.size()};
}

static double advance_run(const Shape& z, const FlatNumbers& numbers, int64_t updates, Flat<float> params,
                          Flat<float> m, Flat<float> v, Flat<uint32_t> random, Flat<double> curve, int64_t t, int64_t n) {
  const Training x = training_of(z, updates, params, m, v, random, curve, t, n);
  nb::gil_scoped_release release;
  return advance<false>(z, numbers_of(numbers, updates), x, t, n);
}

// One update that also returns what it drew.
static double record_update(const Shape& z, const FlatNumbers& numbers, int64_t updates, Flat<float> params,
                            Flat<float> m, Flat<float> v, Flat<uint32_t> random, Flat<double> curve, int64_t t,
                            Flat<float> s, Flat<float> u, Flat<float> h, Flat<float> u_a, Flat<float> a) {
  const Training x = training_of(z, updates, params, m, v, random, curve, t, 1);
  const size_t B = z.B, H = (z.chain() ? z.T + 1 : 1) * B * z.N;
  expect(s.size() == B * z.D() && u.size() == H && h.size() == H && u_a.size() == B && a.size() == B, "wrong length");
  const Draws draws{s.data(), u.data(), h.data(), u_a.data(), a.data()};
  return advance<true>(z, numbers_of(numbers, updates), x, t, 1, &draws);
}

static bool has_avx2() {
#if defined(__x86_64__)
  return (bool)__builtin_cpu_supports("avx2") && (bool)__builtin_cpu_supports("fma");
#else
  return false;
#endif
}

NB_MODULE(COEXPLORE_MODULE, module) {
  nb::class_<Shape>(module, "Shape").def("__init__", new_shape).def_prop_ro("offsets", [](const Shape& z) {
    return std::array<int, 12>{0, z.b(), z.W_rec(), z.W_out(), z.b_out(), z.V(), z.v(), z.w(), z.w_0(), z.U(), z.u(), z.end()};
  });
  module.def("seed", new_seed);
  module.def("random_words", random_words);
  module.def("advance", advance_run);
  module.def("record", record_update);
  module.def("has_avx2", has_avx2);

  // What Python has to know of the limits.
  nb::list rules;
  for (const char* const* rule = RULES; rule + 1 != std::end(RULES); rule++) rules.append(*rule);
  module.attr("RULES") = nb::tuple(rules);
  nb::list centres;
  for (const char* centre : CENTRES) centres.append(centre);
  module.attr("CENTRES") = nb::tuple(centres);
  module.attr("MOST_UNITS") = MOST_UNITS;
  module.attr("MOST_BATCH") = MOST_BATCH;
  module.attr("RANDOM_WORDS") = RANDOM_WORDS;
}
