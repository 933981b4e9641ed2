// The kernel for Python: flat arrays in and out, the interpreter's lock released while it works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <array>
#include <stdexcept>

#include "training.h"

namespace nb = nanobind;
using namespace coexplore;

template <class T>
using Flat = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Rates and couplings as (start, stop) pairs, in this order.
static Numbers numbers_of(const std::array<double, 11>& x, int64_t updates) {
  auto linear = [&](int i) { return Linear{x[2 * i], x[2 * i + 1]}; };
  return {linear(0), linear(1), linear(2), linear(3), linear(4), x[10], updates};
}

static void expect(bool right, const char* what) {
  if (!right) throw std::invalid_argument(what);
}

static void check(const Shape& z) {
  expect(z.N >= 1 && z.N <= 256 && z.T >= 1 && z.B >= 1 && z.B <= MAX_BATCH && z.C >= 1 && z.C <= 256 && z.bits >= 1 &&
             z.bits <= 6,
         "shape out of range");
}

NB_MODULE(COEXPLORE_MODULE, module) {
  nb::class_<Shape>(module, "Shape")
      .def("__init__",
           [](Shape* self, const std::string& rule, const std::string& critic, int N, int T, int B, int C, int bits,
              bool signed_inputs, bool signed_rewards, bool centre_reward, bool centre_activity) {
             const char* rules[] = {"reinforce", "boltzmann", "recurrent", "ste", "unbiased-weight-max", "expected"};
             const char* critics[] = {"none", "relu", "tanh"};
             int r = 0, c = 0;
             while (r < 6 && rule != rules[r]) r++;
             while (c < 3 && critic != critics[c]) c++;
             expect(r < 6 && c < 3, "unknown rule or critic");
             new (self) Shape{(Rule)r, (Critic)c, N, T, B, C, bits, signed_inputs, signed_rewards, centre_reward,
                              centre_activity};
             check(*self);
           })
      .def_prop_ro("offsets", [](const Shape& z) {
        return std::array<int, 10>{0, z.b(), z.W_rec(), z.W_out(), z.b_out(), z.V(), z.v(), z.w(), z.w_0(), z.end()};
      });

  module.def("seed", [](uint64_t value, Flat<uint32_t> state) {
    expect(state.size() == RANDOM_WORDS, "wrong length");
    seed(value, state.data());
  });

  module.def("random_words", [](Flat<uint32_t> state, Flat<uint32_t> out) {
    expect(state.size() == RANDOM_WORDS && out.size() % LANES == 0, "wrong length");
    Random random(state.data());
    for (size_t i = 0; i < out.size(); i += LANES) {
      const Words r = random.next();
      std::memcpy(out.data() + i, &r, sizeof r);
    }
    random.save(state.data());
  });

  module.def("advance", [](const Shape& z, const std::array<double, 11>& numbers, int64_t updates, Flat<float> params,
                           Flat<float> m, Flat<float> v, Flat<uint32_t> random, Flat<double> curve, int64_t t, int64_t n) {
    const size_t end = z.end();
    expect(params.size() == end && m.size() == end && v.size() == end && random.size() == RANDOM_WORDS &&
               curve.size() >= 1 && t >= 0 && n >= 0 && t + n <= updates,
           "wrong length");
    nb::gil_scoped_release release;
    const Training x{params.data(), m.data(), v.data(), random.data(), curve.data(), (int64_t)curve.size()};
    return advance<false>(z, numbers_of(numbers, updates), x, t, n);
  });

  // One update that also returns what it drew.
  module.def("record", [](const Shape& z, const std::array<double, 11>& numbers, int64_t updates, Flat<float> params,
                          Flat<float> m, Flat<float> v, Flat<uint32_t> random, Flat<double> curve, int64_t t,
                          Flat<float> s, Flat<float> u, Flat<float> h, Flat<float> u_a, Flat<float> a) {
    const size_t end = z.end(), H = (size_t)(z.chain() ? z.T + 1 : 1) * z.B * z.N;
    expect(params.size() == end && m.size() == end && v.size() == end && random.size() == RANDOM_WORDS &&
               s.size() == (size_t)z.B * z.D() && u.size() == H && h.size() == H && u_a.size() == (size_t)z.B &&
               a.size() == (size_t)z.B && t >= 0 && t < updates,
           "wrong length");
    const Draws draws{s.data(), u.data(), h.data(), u_a.data(), a.data()};
    const Training x{params.data(), m.data(), v.data(), random.data(), curve.data(), (int64_t)curve.size()};
    return advance<true>(z, numbers_of(numbers, updates), x, t, 1, &draws);
  });

  module.def("has_avx2", [] {
#if defined(__x86_64__)
    return (bool)__builtin_cpu_supports("avx2") && (bool)__builtin_cpu_supports("fma");
#else
    return false;
#endif
  });
}
