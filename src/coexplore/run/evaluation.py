"""What a trained network earns: on its own task or on another that fits it, in episodes that nothing is learned from.

Every episode has random numbers of its own, from `seed` and its number: more episodes begin with the same ones.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from numpy.typing import NDArray

from coexplore import network
from coexplore.laws import with_first
from coexplore.network import Actor, Params
from coexplore.programs import in_our_config, jit, make_room
from coexplore.run.kinds import TaskName
from coexplore.run.policy import OPTIONS, Floats, Ints, Policy, expected, in_parts, output
from coexplore.run.run import Run
from coexplore.settings import Count, FieldError, refusal
from coexplore.stats.bounded import Bounds
from coexplore.stats.estimates import Summary, over_episodes
from coexplore.tasks.arrays import on_device
from coexplore.tasks.base import AnyTask, Task
from coexplore.tasks.control import Control, is_environment, name_of
from coexplore.tasks.spaces import Flat, spaces_of
from coexplore.tasks.supervised import Labelled

EPISODES = Count("how many episodes", low=1, high=10**7)
SEED = Count("seed of the states and of what is drawn", low=0, high=2**32 - 1)
ONE_STEP, MANY_STEPS = 1000, 100  # episodes, if nobody says how many
TINY = np.float32(1e-37)  # a probability that is 0 by rounding
SIDE_BY_SIDE = 16  # environments: a network acts on many observations as fast as on one
Rewards = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluation:
    """`rewards` are those of each episode (in an environment its return), `mean` theirs, `low` and `high` the ends of
    its 95 % interval: Gaffke's where rewards have bounds, else Student's. It is of this network, not of its setting.
    Actions were drawn or, if it is `deterministic`, the most probable ones; `held_out` says whether the episodes were
    the inputs that were held out, each once."""

    rewards: Rewards
    bounds: Bounds | None = None
    deterministic: bool = False
    held_out: bool = False

    @functools.cached_property
    def summary(self) -> Summary:
        return over_episodes(self.rewards, self.bounds)

    @property
    def mean(self) -> float:
        return self.summary.mean

    @property
    def sd(self) -> float:
        """Of the episodes' rewards."""
        return self.summary.sd

    @property
    def low(self) -> float:
        return self.summary.low

    @property
    def high(self) -> float:
        return self.summary.high

    @property
    def actions(self) -> str:
        """How they were made, in words."""
        return "most probable actions" if self.deterministic else "actions drawn"

    def __repr__(self) -> str:
        count, of = len(self.rewards), "held-out input" if self.held_out else "episode"
        level = f"reward {self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"
        return f"{level} over {count} {of}{'s' * (count > 1)}, {self.actions}"


@dataclasses.dataclass(frozen=True)
class How:
    """How to evaluate; `held_out`: on inputs that were held out, where a task has such, each of them once."""

    episodes: int | None
    seed: int
    deterministic: bool
    held_out: bool

    def __post_init__(self) -> None:
        if self.episodes is not None:
            EPISODES.check("episodes", self.episodes)
        SEED.check("seed", self.seed)


@in_our_config
def evaluated(run: Run, policy: Policy, where: object, how: How) -> Evaluation:
    """The network of a run on a task, an environment or whatever has that name; on its own task if it is None."""
    make_room()
    if is_environment(where):
        _check_fit(run, name_of(where), *_fit_of_spaces(where))
        return Evaluation(_returns(policy, [Flat(where)], how), deterministic=how.deterministic)
    task = run.task if where is None else TaskName().check("task", where)
    if task.missing:
        raise FieldError(task.missing)
    _check_fit(run, TaskName().show(task), *_fit(task))
    if isinstance(task, Task):
        return _one_step(policy, task, how)
    assert isinstance(task, Control)
    worlds = [Flat(task.made()) for _ in range(min(how.episodes or MANY_STEPS, SIDE_BY_SIDE))]
    try:
        return Evaluation(_returns(policy, worlds, how), deterministic=how.deterministic)
    finally:
        for world in worlds:
            world.env.close()


Fit = tuple[int, str]  # the size of an observation, and what an action is


def _fit(task: AnyTask) -> Fit:
    return task.size, task.output.told(task.outputs)


def _fit_of_spaces(env: object) -> Fit:
    found = spaces_of(name_of(env), env)
    return found.size, found.law().told(found.outputs)


def _check_fit(run: Run, name: str, *fit: int | str) -> None:
    size, acts = _fit(run.task)
    if fit != (size, acts):
        raise refusal("task", name, f"one that fits this network: observations of {size} numbers, {acts}")


def _one_step(policy: Policy, task: Task, how: How) -> Evaluation:
    """As many states as there are episodes; those that were held out in an order at random."""
    key, n = jax.random.key(how.seed), how.episodes
    states = None
    if isinstance(task, Labelled) and how.held_out and len(held := np.asarray(task.held_out_states)):
        if n is not None and n > len(held):
            raise refusal("episodes", n, f"at most {len(held)}, as many as are held out; or held_out=False")
        states = np.random.default_rng(how.seed).permutation(held)[:n]
        n = len(states)
    number = np.arange(n or ONE_STEP, dtype=np.int32)
    parts = zip(in_parts(number), itertools.repeat(None) if states is None else in_parts(states), strict=False)
    cpu = jax.devices("cpu")[0]
    with jax.default_device(cpu):
        held_task = task.holding(on_device(task.load(), cpu))
        found = [_rewards(policy.actor, policy.params, held_task, key, *part, how.deterministic) for part in parts]
    rewards, least, most = (np.concatenate(each)[: len(number)].astype(np.float64) for each in zip(*found, strict=True))
    known = task.reward_range
    bounds = known and (min(known[0], float(least.min())), max(known[1], float(most.max())))
    return Evaluation(rewards, bounds, how.deterministic, states is not None)


@functools.partial(jit, static_argnames="deterministic", compiler_options=OPTIONS)
def _rewards(
    actor: Actor,
    params: Params,
    task: Task,
    key: Key[Array, ""],
    number: Int[Array, " n"],
    states: Int[Array, " n"] | None,
    deterministic: bool,
) -> tuple[Float[Array, " n"], Float[Array, " n"], Float[Array, " n"]]:
    """The reward of each episode, and the least and the most that any action would have had there."""
    reward = functools.partial(_decided_reward if deterministic else _drawn_reward, actor, params, task)

    def episode(number: Int[Array, ""], given: Array | None) -> tuple[Array, Array, Array]:
        state_key, act_key = jax.random.split(jax.random.fold_in(key, number))
        state = task.sample(1, state_key) if given is None else given[None]
        r = reward(state, act_key)
        if (choices := task.output.every(task.outputs)) is None:
            return r[0], r[0], r[0]
        each = jax.vmap(lambda a: task.reward(state, a[None])[0])(choices)
        return r[0], each.min(), each.max()

    return jax.vmap(episode)(number, states)


def _drawn_reward(actor: Actor, params: Params, task: Task, state: Array, key: Key[Array, ""]) -> Float[Array, " 1"]:
    return network.outcome(task, actor, params, state, network.act(actor, params, task.observe(state), key))[1]


def _decided_reward(actor: Actor, params: Params, task: Task, state: Array, key: Key[Array, ""]) -> Float[Array, " 1"]:
    """Of the most probable action; where the task grades, the log of the answer's probability over all draws."""
    mean = expected(actor, params, task.observe(state)[0])[None]
    if not task.graded:
        return task.reward(state, output(actor).decided(mean))
    right = jnp.take_along_axis(with_first(mean), task.answer(state)[:, None], axis=1)[:, 0]
    return jnp.log(jnp.maximum(right, TINY))


def _returns(policy: Policy, worlds: Sequence[Flat], how: How) -> Rewards:
    """The return of each episode. Whichever environment is free takes the next."""
    n, key = how.episodes or MANY_STEPS, jax.random.key(how.seed)
    totals, free = np.zeros(n), iter(range(n))
    busy = {slot: next(free) for slot in range(len(worlds))}
    o = np.stack([np.asarray(world.begin(_seed(how.seed, i)), np.float32) for i, world in enumerate(worlds)])
    t = np.zeros(len(worlds), np.int32)
    while busy:
        episodes = np.array([busy.get(slot, 0) for slot in range(len(worlds))], np.int32)
        actions = policy.decided(o) if how.deterministic else policy.drawn_each(o, key, episodes, t)
        t += 1
        for slot, episode in list(busy.items()):
            o[slot], r, *ended = worlds[slot].take(actions[slot])
            totals[episode] += r
            if any(ended):
                _next(worlds[slot], busy, slot, free, how, o, t)
    return totals


def _next(world: Flat, busy: dict[int, int], slot: int, free: Iterator[int], how: How, o: Floats, t: Ints) -> None:
    """Begin another episode where one has ended, if any is left."""
    del busy[slot]
    for episode in itertools.islice(free, 1):
        busy[slot], t[slot], o[slot] = episode, 0, world.begin(_seed(how.seed, episode))


def _seed(seed: int, episode: int) -> int:
    """Of a reset; no run is trained from it."""
    return int(np.random.SeedSequence((seed, episode), spawn_key=(1,)).generate_state(1)[0])
