// Adam, upwards. Kept are m / 0.1 and v / 0.001, which saves two multiplications per weight; with
//
//     r = sqrt(0.001 / (1 - 0.999^t)):    alpha m^ / (sqrt(v^) + eps)  =  alpha gain  m / (sqrt(v) + eps / r)
//     gain = 0.1 / ((1 - 0.9^t) r)        where m, v on the right are the ones kept
#pragma once
#include "fragments.cuh"

// 1 - e^-x for x > 0, also where x is small.
DEVICE float one_minus_exp(float x) {
  const float series = x * (1.f - x * (1 / 2.f) * (1.f - x * (1 / 3.f) * (1.f - x * (1 / 4.f))));
  return x < 0.1f ? series : 1.f - exp2_(-LOG2E * x);
}

// A parameter outside the matrices, with its moments.
struct Single {
  float p, m, v;
};

struct Adam {
  float gain, epsilon;

  // t counts from 1.
  DEVICE explicit Adam(u32 t) {
    const float first = one_minus_exp(0.105360516f * (float)t), second = one_minus_exp(0.0010005003f * (float)t);
    const float inverse = square_root(1000.f * second);
    gain = 0.1f * inverse * reciprocal(first);
    epsilon = 1e-8f * inverse;
  }

  DEVICE float direction(float g, float& m, float& v) const {
    m = fmaf(0.9f, m, g);
    v = fmaf(0.999f, v, g * g);
    return m * reciprocal(square_root(v) + epsilon);
  }

  // Steps are given the rate alpha gain.
  DEVICE void step(Single& x, float g, float rate) const { x.p = fmaf(rate, direction(g, x.m, x.v), x.p); }

  // Two neighbouring weights of a fragment, `high` + `low`; their moments are (m, m, v, v).
  DEVICE void step(u32& high, u32& low, float g_0, float g_1, float4& moments, float rate) const {
    float h_0, h_1, l_0, l_1;
    unpack(high, h_0, h_1);
    unpack(low, l_0, l_1);
    split(fmaf(rate, direction(g_0, moments.x, moments.z), h_0 + l_0),
          fmaf(rate, direction(g_1, moments.y, moments.w), h_1 + l_1), high, low);
  }
};
