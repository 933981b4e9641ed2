// Adam, upwards. t counts from 1; the bias corrections are worked out once an update.
#pragma once
#include <cmath>

namespace coexplore {

struct Adam {
  float first, second;  // 1 / (1 - beta^t)

  explicit Adam(int64_t t)
      : first((float)(1 / (1 - std::pow(0.9, (double)t)))), second((float)(1 / (1 - std::pow(0.999, (double)t)))) {}

  void step(float* __restrict p, float* __restrict m, float* __restrict v, const float* __restrict g, int n,
            float alpha) const {
    for (int i = 0; i < n; i++) {
      m[i] = 0.9f * m[i] + 0.1f * g[i];
      v[i] = 0.999f * v[i] + 0.001f * (g[i] * g[i]);
      p[i] += alpha * (m[i] * first) / (std::sqrt(v[i] * second) + 1e-8f);
    }
  }
};

}  // namespace coexplore
