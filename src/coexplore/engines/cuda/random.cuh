// Random numbers: Philox4x32-7 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"), a bijection of counters.
//
//     counter   (who, update, seed, what)        key: constant, so that the rounds' keys are constants too
//     what      0, 1, 2 ...   H_(what): who = 4 unit + pair, its words serve episodes 2 pair + {0, 1, 8, 9}
//               ACTION        who = episode, its first word serves A
//               STATES        who = input, bit b of its first word is that input in episode b
//
// So a draw depends on the run's seed and on what it is for, and on nothing of how the work is spread.
#pragma once
#include "instructions.cuh"

constexpr u32 STATES = 0xFFFFFFFFu, ACTION = 0xFFFFFFFEu;

struct Words {
  u32 x[4];
};

template <int ROUNDS>
DEVICE Words philox(Words c, u32 key_0, u32 key_1) {
#pragma unroll
  for (int round = 0; round < ROUNDS; round++) {
    u32 low_0, high_0, low_1, high_1;
    multiply_wide(c.x[0], 0xD2511F53u, low_0, high_0);
    multiply_wide(c.x[2], 0xCD9E8D57u, low_1, high_1);
    c = Words{{high_1 ^ c.x[1] ^ key_0, low_1, high_0 ^ c.x[3] ^ key_1, low_0}};
    key_0 += 0x9E3779B9u;
    key_1 += 0xBB67AE85u;
  }
  return c;
}

DEVICE Words random_words(u32 who, u32 update, u32 seed, u32 what) {
  return philox<7>(Words{{who, update, seed, what}}, 0x243F6A88u, 0x85A308D3u);
}

// (k + 1/2) 2^-23 from the upper 23 bits k: never 0, never 1, and 1 - u is exact.
DEVICE float uniform(u32 word) { return from_bits(word >> 9 | 0x3F800000u) - 0.99999994f; }
