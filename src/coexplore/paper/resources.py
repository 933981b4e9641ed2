"""What a setting costs per episode, and what it has reached when a budget is spent; for one hidden layer."""

import itertools

import numpy as np

from coexplore.paper.measures import draws
from coexplore.rules import Boltzmann, Recurrent
from coexplore.run import Result, Run


def parameters(run: Run) -> int:
    """Of the network that acts: the critic is the same for all."""
    D, N, K = run.sizes
    recurrent = N * N if isinstance(run.rules[0], Boltzmann | Recurrent) else 0
    return D * N + N + N * K + K + recurrent


def multiply_adds(run: Run) -> int:
    """Per episode: forward, once for W and once per step for W_rec; credit, once for each weight, and for W_rec of
    Algorithm 2 once per step; the output there and back for each step of relaxation; the critic forward, back and its
    credit."""
    D, N, K = run.sizes
    steps = draws(run) - 1  # of a chain; else 0
    credits = steps if isinstance(run.rules[0], Recurrent) else min(steps, 1)
    critic = 3 * sum(inputs * units for inputs, units in itertools.pairwise(run.critic.sizes(D) if run.critic else ()))
    relaxing = 2 * run.rules[0].law.relax_steps * N * K
    return 2 * (D * N + N * K) + (steps + credits) * N * N + relaxing + critic


def within(result: Result, share: float) -> float | None:
    """Reward of the last quarter of a training that stops after this share of its episodes; None where the curve is too
    coarse to tell."""
    points = len(result.curve) * min(share, 1.0)
    if points < 4:
        return None
    earned = np.concatenate([[0.0], np.cumsum(result.curve, dtype=np.float64)])
    before, after = np.interp([0.75 * points, points], np.arange(len(earned)), earned)
    return float((after - before) / (0.25 * points))
