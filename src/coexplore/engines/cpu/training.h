// The updates of one run on the k-bit multiplexer: flat arrays in and out, so that chunks and checkpoints change nothing.
#pragma once
#include "explore.h"
#include "learn.h"

namespace coexplore {

// Flushes tiny numbers to zero while it lives (Adam's second moments decay into them, and they are slow).
class FlushToZero {
#if defined(__SSE2__)
  unsigned before = _mm_getcsr();

 public:
  FlushToZero() { _mm_setcsr(before | 0x8040); }
  ~FlushToZero() { _mm_setcsr(before); }
#elif defined(__aarch64__)
  uint64_t before;

 public:
  FlushToZero() {
    asm volatile("mrs %0, fpcr" : "=r"(before));
    asm volatile("msr fpcr, %0" ::"r"(before | (1ull << 24)));
  }
  ~FlushToZero() { asm volatile("msr fpcr, %0" ::"r"(before)); }
#endif
};

struct Training {
  float *params, *m, *v;
  uint32_t* random;
  double* curve;
  int64_t bins;
  void (*listen)() = [] {};  // called before every update; may throw, and then nothing but the curve has changed
};

// Update t, as the algorithm boxes have it; returns the mean reward of the batch.
template <Rule RULE, bool RECORD>
double update(const Shape& z, Workspace& w, const Numbers& numbers, Random& random, int64_t t, const Draws* record) {
  const double progress = (double)t / (double)(numbers.updates > 1 ? numbers.updates - 1 : 1);
  const float c = (float)numbers.coupling.at(progress);
  const bool centred = z.centre_activity || z.centre != Centre::none;
  const float kappa = centred ? (float)numbers.centring_strength.at(progress) : 0.f;
  const float rho = z.centre != Centre::none ? (float)numbers.pair_strength.at(progress) : 0.f;
  Episodes episodes;
  const double reward = Explore<RULE, RECORD>{z, w, random, record, episodes, c, kappa}.run();
  Learn<RULE>{z, w, numbers, episodes, progress, c, kappa, rho}.run(Adam(w.params, w.m, w.v, t + 1));
  return reward;
}

template <Rule RULE, bool RECORD>
double advance(const Shape& shape, const Numbers& numbers, const Training& x, int64_t t, int64_t n, const Draws* record) {
  Workspace workspace(shape);
  Random random(x.random);
  const int length = shape.end();
  std::copy(x.params, x.params + length, workspace.params);
  std::copy(x.m, x.m + length, workspace.m);
  std::copy(x.v, x.v + length, workspace.v);
  double sum = 0;
  for (int64_t i = t; i < t + n; i++) {
    x.listen();
    const double reward = update<RULE, RECORD>(shape, workspace, numbers, random, i, record);
    x.curve[i * x.bins / numbers.updates] += reward;  // both below 2^31: fits
    sum += reward;
  }
  std::copy(workspace.params, workspace.params + length, x.params);
  std::copy(workspace.m, workspace.m + length, x.m);
  std::copy(workspace.v, workspace.v + length, x.v);
  random.save(x.random);
  return sum;
}

// n updates from update t on; adds the rewards to the curve's bins and returns their sum.
template <bool RECORD>
double advance(const Shape& shape, const Numbers& numbers, const Training& x, int64_t t, int64_t n,
               const Draws* record = nullptr) {
  FlushToZero guard;
  (void)guard;
  switch (shape.rule) {
    case Rule::reinforce: return advance<Rule::reinforce, RECORD>(shape, numbers, x, t, n, record);
    case Rule::boltzmann: return advance<Rule::boltzmann, RECORD>(shape, numbers, x, t, n, record);
    case Rule::recurrent: return advance<Rule::recurrent, RECORD>(shape, numbers, x, t, n, record);
    case Rule::straight_through: return advance<Rule::straight_through, RECORD>(shape, numbers, x, t, n, record);
    case Rule::unbiased_weight_max: return advance<Rule::unbiased_weight_max, RECORD>(shape, numbers, x, t, n, record);
    case Rule::expected_weight_max: return advance<Rule::expected_weight_max, RECORD>(shape, numbers, x, t, n, record);
  }
  return 0;
}

}  // namespace coexplore
