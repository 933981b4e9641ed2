// xoshiro128+ (Blackman and Vigna), one generator per lane. The state belongs to the run, so results depend on the run alone.
#pragma once
#include "lanes.h"

namespace coexplore {

inline uint64_t splitmix64(uint64_t& x) {
  uint64_t z = (x += 0x9E3779B97F4A7C15ull);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

struct Random {
  Words s[4];

  // Reads and writes the state as 4 rows of LANES words.
  explicit Random(const uint32_t* state) { std::memcpy(s, state, sizeof s); }
  void save(uint32_t* state) const { std::memcpy(state, s, sizeof s); }

  INLINE Words next() {
    const Words result = s[0] + s[3], t = s[1] << 9;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = (s[3] << 11) | (s[3] >> 21);
    return result;
  }
};

constexpr int RANDOM_WORDS = 4 * LANES;

inline void seed(uint64_t seed, uint32_t* state) {
  uint64_t x = seed;
  for (int i = 0; i < RANDOM_WORDS; i++) state[i] = (uint32_t)(splitmix64(x) >> 32);
}

}  // namespace coexplore
