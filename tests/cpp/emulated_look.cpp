// The cuda engine's look.cu for one shape, compiled for the processor: `launch` does what a launch on the GPU does.
#include "emulated_warp.h"
#include "look.cu"  // as one file, without instructions.cuh

extern "C" void launch(u32 runs, int backwards, const Settings* settings, const u32* weights, float progress, float* seen) {
  for (u32 run = 0; run < runs; run++) {
    emulated::block.index = run;
    emulated::block.body = [=] { look(settings, weights, progress, seen); };
    emulated::run(BLOCK_THREADS, backwards);
  }
}
