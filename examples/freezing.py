"""Why runs freeze, without any learning: one output unit hears N coins and is rewarded by another coin.

    h ~ Ber(½)ᴺ,  x = h or 2h − 1,  A ~ Ber(σ(wᵀx + b)),  R = ±1 by a coin,  w ← Adam(w, R (A − p) x), b likewise

Nothing can be learned, so w should wander around 0. But an update's N weights move together, by about α each: where all
inputs are ≥ 0 their steps add up to one of about N α / 2 in the drive, and once σ is flat nothing moves it back.

    python examples/freezing.py --units 16 32 64 128
"""

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import optax

BATCH, STATES = 16, 256


def heard(key, shape, signed):
    h = jax.random.bernoulli(key, 0.5, shape).astype(jnp.float32)
    return 2 * h - 1 if signed else h


@partial(jax.jit, static_argnums=(1, 2, 3))
def froze(seed, N, signed, updates, alpha):
    """Whether the output does the same in every one of 256 states after so many updates."""
    start_key, train_key, test_key = jax.random.split(jax.random.key(seed), 3)
    optimiser = optax.adam(-alpha)  # upwards
    w = jnp.append((2 / (N + 1)) ** 0.5 * jax.random.normal(start_key, N), 0.0)  # the bias last

    def update(carry, key):
        w, moments = carry
        x_key, a_key, r_key = jax.random.split(key, 3)
        x = heard(x_key, (BATCH, N), signed)
        p = jax.nn.sigmoid(x @ w[:-1] + w[-1])
        a = jax.random.bernoulli(a_key, p)
        e = jax.random.rademacher(r_key, (BATCH,), jnp.float32) * (a - p) / BATCH
        steps, moments = optimiser.update(jnp.append(e @ x, e.sum()), moments)
        return (w + steps, moments), None

    (w, _), _ = jax.lax.scan(update, (w, optimiser.init(w)), jax.random.split(train_key, updates))
    p = jax.nn.sigmoid(heard(test_key, (STATES, N), signed) @ w[:-1] + w[-1])
    return jnp.all(p < 0.01) | jnp.all(p > 0.99)


def shares(units, signed, updates, seeds, alpha=0.005):
    """The share of seeds that froze, for each N."""
    many = jax.vmap(froze, (0, None, None, None, None))
    return [float(many(jnp.arange(seeds), N, signed, updates, alpha).mean()) for N in units]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--updates", type=int, default=6250, help="of 16 episodes: 100,000 episodes")
    parser.add_argument("--seeds", type=int, default=50)
    options = parser.parse_args()
    print(f"share of {options.seeds} seeds whose output froze in {options.updates} updates")
    print("N      " + "".join(f"{N:>8}" for N in options.units))
    for signals in ("binary", "signed"):
        found = shares(options.units, signals == "signed", options.updates, options.seeds)
        print(f"{signals:<7}" + "".join(f"{share:8.2f}" for share in found))


if __name__ == "__main__":
    main()
