// The kernel for Python: flat arrays in and out, the interpreter's lock released while it works.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include "training.h"

namespace nb = nanobind;
using namespace coexplore;

// In the order of the enumerations. The last rule is a form of the one before it, not one that Python knows by name.
static const char* const RULES[] = {"reinforce", "boltzmann", "recurrent", "ste", "unbiased-weight-max", "expected"};
static const char* const CRITICS[] = {"none", "relu", "tanh", "linear", "mean"};
static const char* const CENTRES[] = {"none", "half", "drive", "predicted"};

// Arguments. Each is asked for by its name, and what it may not be is told in one line, as everywhere in Python.

static std::string shown(nb::handle x) {
  try {
    const bool is_array = nb::hasattr(x, "dtype") && nb::hasattr(x, "shape");
    const nb::object text = is_array ? nb::str("{0.dtype} array of shape {0.shape}").attr("format")(x) : nb::repr(x);
    return nb::cast<std::string>(nb::str(" ").attr("join")(text.attr("split")())).substr(0, 80);
  } catch (nb::python_error&) {
  } catch (nb::cast_error&) {
  }
  return "something that cannot be shown";
}

static std::invalid_argument refusal(const char* name, nb::handle x, const std::string& allowed) {
  return std::invalid_argument(std::string(name) + ": " + shown(x) + " is not allowed; give " + allowed);
}

template <class T>
static T given(const char* name, nb::handle x, const char* allowed) {
  T value;
  if (!nb::try_cast(x, value, false)) throw refusal(name, x, allowed);
  return value;
}

static bool yes(const char* name, nb::handle x) { return given<bool>(name, x, "True or False"); }

static int64_t whole(const char* name, nb::handle x, int64_t low, int64_t high) {
  int64_t value;
  const nb::object number = nb::steal(PyNumber_Index(x.ptr()));  // NumPy's are whole numbers too
  if (!number.is_valid()) PyErr_Clear();
  if (!number.is_valid() || !nb::try_cast(number, value) || value < low || value > high)
    throw refusal(name, x, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
  return value;
}

template <class E, size_t n>
static E one_of(const char* name, nb::handle x, const char* const (&options)[n]) {
  std::string text, all;
  const bool is_text = nb::try_cast(x, text, false);
  for (size_t i = 0; i < n; i++) {
    if (is_text && text == options[i]) return (E)i;
    all += (i ? " | " : "") + std::string(options[i]);
  }
  throw refusal(name, x, all);
}

static const char* called(float) { return "float32"; }
static const char* called(double) { return "float64"; }
static const char* called(uint32_t) { return "uint32"; }

// Numbers in a row, which are read and written where they are: nothing is converted, or what is written would be lost.
template <class T>
struct Row {
  nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;

  Row(const char* name, nb::handle x, size_t low, size_t high) {
    const bool fits = nb::try_cast(x, array, false) && low <= array.size() && array.size() <= high;
    if (fits && (uintptr_t)array.data() % sizeof(T) == 0) return;
    const std::string so_many = std::to_string(low) + (high > low ? " or more" : "");
    throw refusal(name, x, so_many + " " + called(T{}) + " in a row that can be written to");
  }
  Row(const char* name, nb::handle x, size_t size) : Row(name, x, size, size) {}
  operator T*() const { return array.data(); }
};

// All arguments of a call, which come as they are: Python's own checks would tell of theirs in many lines.
struct Arguments {
  const nb::args args;
  Arguments(const nb::args& args, const nb::kwargs& named, size_t count) : args(args) {
    if (args.size() != count || named.size()) throw std::invalid_argument("arguments: give " + std::to_string(count) + ", without names");
  }
  nb::object operator[](size_t i) const { return args[i]; }
};

static void new_shape(Shape* self, const nb::args& args, const nb::kwargs& named) {
  const Arguments x(args, named, 15);
  auto count = [&](const char* name, int i, int most) { return (int)whole(name, x[i], 1, most); };
  new (self) Shape{one_of<Rule>("rule", x[0], RULES),
                   one_of<Critic>("critic", x[1], CRITICS),
                   count("units", 2, MOST_UNITS),
                   count("steps", 3, MOST_STEPS),
                   count("batch", 4, MOST_BATCH),
                   count("critic's units", 5, MOST_UNITS),
                   count("bits", 6, MOST_BITS),
                   yes("signed_inputs", x[7]),
                   yes("signed_rewards", x[8]),
                   yes("centre_reward", x[9]),
                   yes("centre_activity", x[10]),
                   yes("signed_signals", x[11]),
                   yes("signed_chain", x[12]),
                   one_of<Centre>("centre", x[13], CENTRES),
                   yes("lazy", x[14])};
}

// Couplings and rates as (start, stop) pairs, then plain numbers, in the order of Numbers.
static Numbers numbers_of(nb::handle given_numbers, int64_t updates) {
  std::array<double, 15> x;
  if (!nb::try_cast(given_numbers, x)) throw refusal("numbers", given_numbers, "15 numbers");
  auto linear = [&](int i) { return Linear{x[2 * i], x[2 * i + 1]}; };
  return {linear(0), linear(1), linear(2), linear(3), linear(4), linear(5), x[12], x[13], x[14], updates};
}

static void new_seed(const nb::args& args, const nb::kwargs& named) {
  const Arguments x(args, named, 2);
  const auto number = given<uint64_t>("seed", x[0], "a whole number from 0 to 2^64 - 1");
  seed(number, Row<uint32_t>("state", x[1], RANDOM_WORDS));
}

static void random_words(const nb::args& args, const nb::kwargs& named) {
  const Arguments x(args, named, 2);
  const Row<uint32_t> words("state", x[0], RANDOM_WORDS), row("out", x[1], 0, SIZE_MAX);
  if (row.array.size() % LANES) throw refusal("out", x[1], "a multiple of " + std::to_string(LANES) + " uint32");
  Random random(words);
  for (size_t i = 0; i < row.array.size(); i += LANES) {
    const Words r = random.next();
    std::memcpy(row + i, &r, sizeof r);
  }
  random.save(words);
}

// Ctrl-C, where Python waits for it: in the main thread. Asking takes the interpreter's lock, so it is done now and then.
static void listen() {
  thread_local auto asked = std::chrono::steady_clock::now();
  const auto now = std::chrono::steady_clock::now();
  if (now - asked < std::chrono::milliseconds(250)) return;
  asked = now;
  nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals()) throw nb::python_error();
}

// The arguments that describe a run and what it is to do.
struct Given {
  const Shape& z;
  const int64_t updates;
  const Numbers numbers;
  const Row<float> params, m, v;
  const Row<uint32_t> random;
  const Row<double> curve;
  const int64_t t, n;

  static const Shape& shape_of(nb::handle x) {
    Shape* shape = nullptr;
    if (!nb::try_cast(x, shape, false) || !shape) throw refusal("shape", x, "a Shape");
    return *shape;
  }

  Given(const Arguments& x, nb::handle n)
      : z(shape_of(x[0])), updates(whole("updates", x[2], 1, INT32_MAX)), numbers(numbers_of(x[1], updates)),
        params("params", x[3], z.end()), m("m", x[4], z.end()), v("v", x[5], z.end()), random("random", x[6], RANDOM_WORDS),
        curve("curve", x[7], 1, INT32_MAX), t(whole("t", x[8], 0, updates)), n(whole("n", n, 0, updates - t)) {}

  template <bool RECORD>
  double advanced(const Draws* draws = nullptr) const {
    try {
      const double there = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
      if (Workspace::bytes(z) > there) throw std::bad_alloc();  // which may seem to succeed until the memory is used
      nb::gil_scoped_release release;
      return advance<RECORD>(z, numbers, {params, m, v, random, curve, (int64_t)curve.array.size(), listen}, t, n, draws);
    } catch (std::bad_alloc&) {
      PyErr_Format(PyExc_MemoryError, "%d units, batches of %d and %d steps need %zu MB, which are not free here", z.N, z.B,
                   z.T, (size_t)(Workspace::bytes(z) / 1e6));
      throw nb::python_error();
    }
  }
};

static double advance_run(const nb::args& args, const nb::kwargs& named) {
  const Arguments x(args, named, 10);
  return Given(x, x[9]).advanced<false>();
}

// One update that also returns what it drew.
static double record_update(const nb::args& args, const nb::kwargs& named) {
  const Arguments x(args, named, 14);
  const Given run(x, nb::int_(1));
  const size_t B = run.z.B, H = (run.z.chain() ? run.z.T + 1 : 1) * B * run.z.N;
  const Row<float> rows[] = {{"s", x[9], B * run.z.D()}, {"u", x[10], H}, {"h", x[11], H}, {"u_a", x[12], B}, {"a", x[13], B}};
  const Draws draws{rows[0], rows[1], rows[2], rows[3], rows[4]};
  return run.advanced<true>(&draws);
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
  module.attr("MOST_STEPS") = MOST_STEPS;
  module.attr("RANDOM_WORDS") = RANDOM_WORDS;
}
