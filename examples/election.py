"""The election of the paper's section 1.1: how should a town of N voters learn whom to elect?

Each year everyone votes, the winner governs, and all hear the same verdict: +1 if the better candidate won, -1 if not.
Every voter is a REINFORCE unit with one bias. Three ways to vote and to remember the vote:

    independent     flip your own coin, and learn from what you voted
    hindsight       flip your own coin, but believe that you voted for the winner
    communication   flip your coin, then ask a few others, again and again, and vote as most of them would

    python examples/election.py --out election.png
"""

import argparse
import math

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from coexplore import Layer, Reinforce
from coexplore.laws import Activity
from coexplore.rules.learning_signal import Reward
from coexplore.units import Affine

RULE = Reinforce(learning_signal=Reward())  # the signal is the verdict itself: no critic in town
WAYS = ("independent", "hindsight", "communication")
ASKED, ROUNDS = 5, 4
HERE = jnp.ones((1, 1))  # nothing to see: a voter's input is the constant 1


def majority(votes):
    return (votes.mean() > 0.5).astype(votes.dtype)


def talked(votes, key):
    """Everyone asks a few people, chosen at random, and comes round to what most of them say."""
    for round_key in jax.random.split(key, ROUNDS):
        asked = jax.random.randint(round_key, (len(votes), ASKED), 0, len(votes))
        votes = (votes[asked].mean(axis=1) > 0.5).astype(votes.dtype)
    return votes


def year(town, key, way, alpha):
    """One election and what everyone learns from it; returns the town and the chance that the better one wins."""
    vote_key, talk_key = jax.random.split(key)
    votes = RULE.law.explore(town, HERE, vote_key).h[0]
    if way == "communication":
        votes = talked(votes, talk_key)
    winner = majority(votes)
    verdict = jnp.where(winner == 1, 1.0, -1.0)
    remembered = jnp.full_like(votes, winner) if way == "hindsight" else votes
    layer = Layer(RULE.law, town, HERE, Activity(remembered[None], votes[None, None]))
    credit = RULE.eligibility(layer, RULE.baseline(None, layer)).times(verdict[None, None], town)
    return jax.tree.map(lambda p, step: p + alpha * step, town, Affine(0 * credit.W, credit.b)), winner


def curves(voters, way, years, towns, alpha=0.1, seed=0):
    """Share of towns that elect the better candidate, year by year."""

    def one_town(key):
        start = Affine(jnp.zeros((1, voters)), jnp.zeros(voters))
        return jax.lax.scan(lambda town, key: year(town, key, way, alpha), start, jax.random.split(key, years))[1]

    return np.asarray(jax.jit(jax.vmap(one_town))(jax.random.split(jax.random.key(seed), towns)).mean(axis=0))


def pivotal(voters, elections=20_000, seed=0):
    """The chance that the others split evenly, so that one vote decides: exact, and counted in simulated elections."""
    others = voters - 1
    exact = math.comb(others, others // 2) / 2**others
    votes = np.random.default_rng(seed).binomial(others, 0.5, elections)
    return exact, float(np.mean(votes == others // 2))


def picture(found, years):
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    for axes, (voters, by_way) in zip(figure.subplots(1, len(found), sharey=True), found.items(), strict=True):
        for (way, curve), style in zip(by_way.items(), ("-", "--", "-."), strict=True):
            group = max(1, years // 60)
            smooth = curve[: years // group * group].reshape(-1, group).mean(axis=1)
            axes.plot(np.arange(len(smooth)) * group, smooth, style, label=way)
        exact, seen = pivotal(voters)
        axes.set_title(f"{voters} voters\none vote decides: {exact:.4f} (seen {seen:.4f})", size=9)
        axes.set_xlabel("years")
        axes.grid(alpha=0.25)
    figure.axes[0].set_ylabel("better candidate elected")
    figure.axes[0].legend(frameon=False)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voters", type=int, nargs="+", default=[9, 99, 999], help="odd numbers")
    parser.add_argument("--years", type=int, default=200)
    parser.add_argument("--towns", type=int, default=200)
    parser.add_argument("--out", default="election.png")
    options = parser.parse_args()
    if any(voters < 3 or voters % 2 == 0 for voters in options.voters):
        parser.error(f"--voters: {options.voters} is not allowed; give odd numbers of at least 3")
    found = {v: {way: curves(v, way, options.years, options.towns) for way in WAYS} for v in options.voters}
    for voters, by_way in found.items():
        exact, seen = pivotal(voters)
        ends = ", ".join(f"{way} {curve[-options.years // 10 :].mean():.2f}" for way, curve in by_way.items())
        print(f"{voters:>4} voters: pivotal {exact:.4f} (seen {seen:.4f}); better candidate at the end: {ends}")
    picture(found, options.years).savefig(options.out, dpi=150)
    print(f"picture: {options.out}")


if __name__ == "__main__":
    main()
