// The cuda engine's train.cu for one shape, compiled for the processor: `launch` does what a launch on the GPU does.
#include "emulated_warp.h"
#include "train.cu"  // as one file, without instructions.cuh

extern "C" void launch(u32 runs, int backwards, const Settings* settings, u32* weights, float* first, float* second,
                       u32* curve, u32* totals, float4* errors, uint2* activity, float4* streamed, u32 t, u32 n, u32 updates, u32 bins,
                       float* s, float* u, float* h, float* u_a, float* a) {
  for (u32 run = 0; run < runs; run++) {
    emulated::block.index = run;
    emulated::block.body = [=] {
      train(settings, weights, first, second, curve, totals, errors, activity, streamed, t, n, updates, bins, s, u, h, u_a, a);
    };
    emulated::run(BLOCK_THREADS, backwards);
  }
}

// Random numbers against published ones.
extern "C" void philox_words(int rounds, const u32* counter, const u32* key, u32* out) {
  const Words c{{counter[0], counter[1], counter[2], counter[3]}};
  const Words words = rounds == 7 ? philox<7>(c, key[0], key[1]) : philox<10>(c, key[0], key[1]);
  std::copy(words.x, words.x + 4, out);
}
