"""How well units predict themselves: the table of docs/open-questions.md (a minute of one core).

    python docs/prediction.py

Trains one network of 64 units at the setting that `one-rule` chose, and compares E[H | x], the mean of 1,024 chains on
each of 512 inputs, with four guesses: ½, σ(Wᵀx + b), the learned E = σ(Uᵀx + u), and the best logistic guess there is.
"""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import minimize

from coexplore import Boltzmann, Linear, Run, train
from coexplore.laws import Synchronous
from coexplore.results.tables import markdown
from coexplore.rules.baseline import Predicted
from coexplore.units import drive, probability

CHAINS, INPUTS = 1024, 512
RULE = Boltzmann(Linear(0.4, 0.1), steps=51, baseline=Predicted(pairs=0.5))
RUN = Run(rule=RULE, learning_rate=Linear(0.008, 0.0004), seed=4100)


def means(layer, c, x):
    """E[H | x]."""
    chain = Synchronous(c, RULE.steps)
    draw = jax.jit(lambda key: chain.explore(layer, x, key).h)
    return sum(draw(key) for key in jax.random.split(jax.random.key(1), CHAINS)) / CHAINS


def best(x, target):
    """The logistic function of x that is nearest to each column in log-loss: where x (H − E)ᵀ is 0 on average."""
    inputs = np.c_[x, np.ones(len(x))]

    def loss(w, y):
        d = inputs @ w
        return np.sum(np.logaddexp(0, d) - y * d) + 1e-6 * w @ w, inputs.T @ (1 / (1 + np.exp(-d)) - y) + 2e-6 * w

    fits = [minimize(loss, np.zeros(inputs.shape[1]), y, jac=True, method="L-BFGS-B").x for y in target.T]
    return 1 / (1 + np.exp(-inputs @ np.array(fits).T))


def rows(layer, prediction, c):
    bits = np.random.default_rng(0).random((INPUTS, 20)) < 0.5
    x = jnp.where(jnp.asarray(bits), 1.0, -1.0)
    mean = np.asarray(means(layer, c, x))
    found = {
        "½": np.full_like(mean, 0.5),
        "σ(Wᵀx + b)": np.asarray(probability(drive(layer, x))),
        "the prediction σ(Uᵀx + u)": np.asarray(probability(x @ prediction.U + prediction.u)),
    }
    found["the best logistic function of x"] = best(np.asarray(x), mean)
    noise = np.sqrt(np.mean(mean * (1 - mean)) / CHAINS)
    return [[name, f"{np.sqrt(np.mean((E - mean) ** 2)):.3f}"] for name, E in found.items()], noise


def main():
    result = train(RUN, progress=False)[0]
    found, noise = rows(result.params.layers[0], result.params.parts[0].baseline, RULE.coupling.stop)
    print(markdown(["E", "root mean square of E[H given x] − E"], found))
    print(f"noise of E[H given x] itself: {noise:.3f}; reward, last quarter: {result.last:.3f}")


if __name__ == "__main__":
    main()
