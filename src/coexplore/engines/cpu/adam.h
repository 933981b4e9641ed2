// Adam, upwards. t counts from 1; the bias corrections are worked out once per update.
#pragma once
#include "lanes.h"

namespace coexplore {

// rate (m first) / (sqrt(v second) + 1e-8), first and second = 1 / (1 - beta^t), with sqrt(second) taken out of the fraction.
struct Adam {
  float *p, *m, *v;
  float correction, epsilon;

  Adam(float* p, float* m, float* v, int64_t t) : p(p), m(m), v(v) {
    const double first = 1 / (1 - std::pow(0.9, (double)t)), second = 1 / (1 - std::pow(0.999, (double)t));
    correction = (float)(first / std::sqrt(second));
    epsilon = (float)(1e-8 / std::sqrt(second));
  }

  // The vector of parameters at `at` climbs along g.
  INLINE void step(int at, Lanes g, float rate) const {
    const Lanes m_now = all(0.9f) * load(m + at) + all(0.1f) * g;
    const Lanes v_now = all(0.999f) * load(v + at) + all(0.001f) * (g * g);
    store(m + at, m_now);
    store(v + at, v_now);
    store(p + at, load(p + at) + all(rate * correction) * m_now / (root(v_now) + all(epsilon)));
  }
};

}  // namespace coexplore
