"""What one call of `result.act` takes after the first, beside the same network drawn without being compiled.

Milliseconds of wall time, the best of several rounds in which all candidates take turns; 64 hidden units, one
observation of the 4-bit multiplexer a call, and 1000 a call where it says so. Asserts nothing.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import time

import jax
import numpy as np

from coexplore import Backprop, Boltzmann, MapProp, Recurrent, Reinforce, Result, Run, network
from coexplore.settings import at_the_end

ROUNDS = 5
RULES = {
    "boltzmann, T = 25": Boltzmann(),
    "recurrent, T = 2": Recurrent(),
    "reinforce": Reinforce(),
    "map-prop": MapProp(),
    "backprop": Backprop(),
}


def uncompiled(result):
    """What `act` did before it was compiled."""
    actor, params = at_the_end(result.run.network.actor), jax.tree.map(jax.numpy.asarray, result.params)
    return lambda s, key: np.asarray(network.act(actor, params, jax.numpy.asarray(s), jax.random.key(key))[-1].h)


def measured(candidates):
    """Milliseconds per call of each (function, arguments, calls a round)."""
    best = dict.fromkeys(candidates, float("inf"))
    for call, args, *_ in candidates.values():
        call(*args)
    for _ in range(ROUNDS):
        for name, (call, args, count) in candidates.items():
            began = time.perf_counter()
            for _ in range(count):
                call(*args)
            best[name] = min(best[name], 1e3 * (time.perf_counter() - began) / count)
    return best


def main():
    one = np.where(np.random.default_rng(0).random((1, 20)) < 0.5, -1, 1).astype(np.float32)
    many = np.tile(one, (1000, 1))
    print("\nresult.act, N = 64: ms per call after the first")
    for name, rule in RULES.items():
        run = Run(rule=rule)
        result = Result(run, "xla", np.zeros(1, np.float32), run.init())

        def decide(s, act=result.act):
            return act(s, deterministic=True)

        best = measured(
            {
                "uncompiled": (uncompiled(result), (one, 1), 2),
                "drawn": (result.act, (one, 1), 200),
                "deterministic": (decide, (one,), 200),
                "drawn, 1000 at once": (result.act, (many, 1), 5),
                "deterministic, 1000 at once": (decide, (many,), 3),
            }
        )
        shown = ", ".join(f"{how} {ms:.2f}" for how, ms in best.items() if how != "uncompiled")
        print(f"  {name:<20}{shown} (not compiled {best['uncompiled'] / best['drawn']:.0f} times drawn)")


if __name__ == "__main__":
    main()
