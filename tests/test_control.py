"""Control: probes whose values are known on paper, the algorithm again in plain NumPy, resumed to the same bits."""

import dataclasses
import functools

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import probes
import pytest

from coexplore import Boltzmann, Critic, Linear, MapProp, Recurrent, Reinforce, Run, engines, grid, network, train
from coexplore.engines import control
from coexplore.engines.control import agent, worlds
from coexplore.rules import BUILT_IN
from coexplore.rules.layer import likelihood
from coexplore.rules.learning_signal import Reward
from coexplore.run import Result
from coexplore.settings import FieldError
from coexplore.store import Store
from coexplore.study import study
from coexplore.tasks.control import Control
from coexplore.units import drive

probes.register()
GAMMA = 0.9
DRAWING = Critic("softplus", 5, rule="map-prop", variance=(0.2, 0.1))
SMALL = {"hidden": (8,), "critic": Critic(width=8), "learning_rate": 0.02}


def probe(rule, name, episodes=900, **settings):
    task = Control(env=f"probe/{name}", discount=GAMMA, scaling="none", **settings)
    return Run(rule=rule, task=task, episodes=episodes, **SMALL)


def finished(runs):
    """The runs as one group, whatever their environments: what is compiled does not depend on them."""
    state = control.start(runs)
    while state.done < runs[0].updates:
        state = control.advance(state, runs[0].updates)
    return control.finish(state)


def value(result, o):
    critic = jax.tree.map(jnp.asarray, result.params.critic)
    return float(result.run.critic.value(critic, jnp.full((1, 1), float(o)))[0])


def chosen(result, o):
    """How often the action 1 is taken at o."""
    return result.act(np.full((200, 1), o, np.float32), key=0).mean()


@pytest.mark.learning
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_rule_solves_the_probes(name):
    """V is the mean discounted reward to come; the last two have a right action, and V follows from taking it."""
    rule = BUILT_IN[name]()
    found = dict(zip(probes.PROBES, finished([probe(rule, each) for each in probes.PROBES]), strict=True))
    assert value(found["constant-v0"], 0) == pytest.approx(1, abs=0.1)
    assert [value(found["observation-v0"], o) for o in (-1, 1)] == pytest.approx([-1, 1], abs=0.15)
    assert [value(found["delayed-v0"], o) for o in (0, 1)] == pytest.approx([GAMMA, 1], abs=0.15)
    assert chosen(found["action-v0"], 0) > 0.9
    assert value(found["action-v0"], 0) == pytest.approx(1, abs=0.2)
    assert chosen(found["both-v0"], 1) > 0.9
    assert chosen(found["both-v0"], -1) < 0.1
    assert found["both-v0"].last > 0.8


# The algorithm again, in plain NumPy and a loop over environments; only what a layer draws and how it gives credit to
# a batch of one is taken from the rules, which have an oracle of their own.


def flat(params):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)]).astype(np.float64)


def values_by_hand(run, params, s):
    """V(s), and its gradient as the parameters are ordered, of a critic of ReLU units or of none."""
    critic = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params.critic)
    if run.critic.activation == "mean":
        return critic.output.b[0], [np.ones(1)]
    if run.critic.activation == "linear":
        return (s @ critic.output.W + critic.output.b)[0], [s[:, None], np.ones(1)]
    before = s @ critic.hidden.W + critic.hidden.b
    h = np.maximum(before, 0)
    back = critic.output.W[:, 0] * (before > 0)
    return (h @ critic.output.W + critic.output.b)[0], [np.outer(s, back), back, h[:, None], np.ones(1)]


def acted(net, params, s, key):
    activities = network.act(net.actor, params, s, key)
    return network.eligibility(net, params, s, activities), network.action(net, activities)[0]


def predicted(critic, params, s, key):
    """V(s) of a critic that draws, and what it adds to the trace: these have their oracle in test_critic.py."""
    mine = jax.random.fold_in(key, agent.CRITICS)
    return network.value(critic, params.critic, s, mine)[0], network._relaxed_credit(critic, params.critic, s, mine)


def actor_of(run):
    """Its network without the critic."""
    return dataclasses.replace(run.network, critic=None)


class ByHand:
    """One run with B environments, step by step."""

    def __init__(self, run):
        self.run, self.params = run, run.init()
        self.theta, self.structure = flat(self.params), jax.tree.structure(self.params)
        self.shapes = [leaf.shape for leaf in jax.tree.leaves(self.params)]
        self.m, self.v, self.t = np.zeros_like(self.theta), np.zeros_like(self.theta), 0
        self.z = np.zeros((run.batch, len(self.theta)))
        actor = len(flat(self.params.layers))
        self.decay = np.where(np.arange(len(self.theta)) < actor, run.task.actor_trace, run.task.critic_trace)
        self.s, self.acted = None, jax.jit(functools.partial(acted, actor_of(run)))
        self.old, self.drawn = np.zeros(run.batch), jax.jit(functools.partial(predicted, run.critic))

    def step(self, after, start, r, terminated, truncated):
        task, B, draws = self.run.task, self.run.batch, bool(self.run.critic.laws)
        keys = jax.random.split(jax.random.fold_in(network.root_keys(self.run.seed)[1], self.t), B)
        new = [self.drawn(self.params, start[b : b + 1], keys[b])[0] for b in range(B)] if draws else None
        if self.s is not None:
            ascent = np.zeros_like(self.theta)
            for b in range(B):
                if draws:  # V(s) is what was predicted there
                    v, later = self.old[b], self.drawn(self.params, after[b : b + 1], keys[b])[0]
                else:
                    v, _ = values_by_hand(self.run, self.params, self.s[b])
                    later, _ = values_by_hand(self.run, self.params, after[b])
                delta = r[b] + task.discount * (0 if terminated[b] else later) - v
                if truncated[b] and task.truncation == "ignore":
                    delta = 0
                ascent += delta * self.z[b] / B
            self.adam(ascent)
        actions, self.old = [], new
        for b in range(B):
            if terminated[b] or truncated[b]:
                self.z[b] = 0
            mine, action = self.acted(self.params, jnp.asarray(start[b : b + 1]), keys[b])
            if draws:
                slope = jax.tree.leaves(self.drawn(self.params, start[b : b + 1], keys[b])[1])
            else:
                _, slope = values_by_hand(self.run, self.params, start[b])
            e = np.concatenate([flat(mine.layers), *map(np.ravel, slope)])
            self.z[b] = task.discount * self.decay * self.z[b] + e
            actions.append(action)
        self.s, self.t = start.copy(), self.t + 1
        return np.array(actions)

    def adam(self, g):
        self.m, self.v = 0.9 * self.m + 0.1 * g, 0.999 * self.v + 0.001 * g**2
        m, v = self.m / (1 - 0.9**self.t), self.v / (1 - 0.999**self.t)
        self.theta = self.theta + self.run.learning_rate * m / (np.sqrt(v) + 1e-8)
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        parts = np.split(self.theta.astype(np.float32), ends[:-1])
        leaves = [jnp.asarray(part.reshape(shape)) for part, shape in zip(parts, self.shapes, strict=True)]
        self.params = jax.tree.unflatten(self.structure, leaves)


@pytest.mark.parametrize(
    ("name", "truncation", "batch", "critic"),
    [
        ("walk-v0", "bootstrap", 2, Critic(width=5)),
        ("cut-v0", "bootstrap", 1, Critic(width=5)),
        ("cut-v0", "ignore", 1, Critic(width=5)),
        ("numbers-v0", "bootstrap", 1, Critic(width=5)),
        ("dials-v0", "bootstrap", 2, Critic(width=5)),
        ("walk-v0", "bootstrap", 2, Critic("linear")),
        ("cut-v0", "bootstrap", 1, Critic("mean")),
        ("walk-v0", "bootstrap", 2, DRAWING),
        ("cut-v0", "bootstrap", 1, DRAWING),
    ],
)
def test_forty_steps_are_the_algorithm_written_out_in_numpy(name, truncation, batch, critic):
    """Several episodes, in which traces live and end, terminated or cut short; each environment has its own trace."""
    task = Control(env=f"probe/{name}", discount=0.9, actor_trace=0.7, critic_trace=0.4, scaling="none")
    task = dataclasses.replace(task, truncation=truncation)
    run = Run(rule=Recurrent(), task=task, hidden=(6,), critic=critic, batch=batch, episodes=40 * batch)
    mine, state = ByHand(run), control.start([run])
    rough = 2e-3 if critic.laws else 1e-7  # a quotient may be large, and its last digits anything
    for step in range(40):
        D = task.size
        answers = state.answers[0]
        rest = answers[:, 2 * D :]
        expected = mine.step(answers[:, :D], answers[:, D : 2 * D], rest[:, 0], rest[:, 1] > 0, rest[:, 2] > 0)
        np.testing.assert_allclose(np.asarray(state.actions)[0], expected, atol=1e-4)
        np.testing.assert_allclose(np.asarray(state.agents[0])[0], mine.theta, atol=2e-4, err_msg=f"step {step}")
        np.testing.assert_allclose(np.asarray(state.agents[3])[0], mine.z, atol=2e-4, rtol=rough)
        for world, actions in zip(state.worlds, np.asarray(state.actions), strict=False):
            world.step(actions)
        agents, actions = control._act(state, state.agents)
        state = dataclasses.replace(state, agents=agents, actions=actions)
    assert state.worlds[0].episodes > 5
    assert np.abs(mine.theta - flat(run.init())).max() > 0.05


# What a run must not depend on.

PLAIN = Run(
    rule=Boltzmann(steps=3), task=Control(env="probe/walk-v0"), hidden=(6,), critic=Critic(width=5), episodes=60
)


def same(one, other):
    assert np.array_equal(one.curve, other.curve)
    for a, b in zip(jax.tree.leaves(one.params), jax.tree.leaves(other.params), strict=True):
        assert np.array_equal(a, b)


def test_neighbours_and_pieces_do_not_change_a_run():
    alone = finished([PLAIN])[0]
    other = dataclasses.replace(PLAIN, seed=7)
    same(finished([other, PLAIN])[1], alone)
    state = control.start([PLAIN, other])
    while state.done < PLAIN.updates:
        state = control.advance(state, 1)
    same(control.finish(state)[0], alone)
    assert not np.array_equal(control.finish(state)[1].curve, alone.curve)


@pytest.mark.parametrize("critic", [PLAIN.critic, DRAWING])
def test_a_checkpoint_replays_the_episode_under_way_and_goes_on_to_the_same_bits(monkeypatch, critic):
    """Stopped after every few steps, mostly in the middle of an episode, some runs done and others not."""
    runs = [PLAIN, dataclasses.replace(PLAIN, seed=3), dataclasses.replace(PLAIN, task=Control(env="probe/both-v0"))]
    runs = [dataclasses.replace(run, critic=critic) for run in runs]
    whole = finished(runs)
    monkeypatch.setattr(control, "SECONDS", 0.0)  # comes back at once
    state, stops = control.start(runs), 0
    while state.done < PLAIN.updates:
        for _ in range(11):
            monkeypatch.setattr(control, "SECONDS", 0.001)
            state = control.advance(state, 1)
        saved = control.tensors(state)
        assert all("agent.0" in one for one in saved)
        state, stops = control.restore(runs, saved), stops + 1
    assert stops > 5
    for one, other in zip(control.finish(state), whole, strict=True):
        same(one, other)


def test_a_world_that_does_not_come_back_as_it_was_is_noticed(monkeypatch):
    state = control.advance(control.start([PLAIN]), 1)
    saved = control.tensors(state)
    saved[0]["world.answers"] = saved[0]["world.answers"] + 1
    with pytest.raises(RuntimeError, match="did not repeat itself"):
        control.restore([PLAIN], saved)


def test_an_environment_that_cannot_be_replayed_says_so_and_starts_again(tmp_path, capfd):
    run = dataclasses.replace(PLAIN, task=Control(env="probe/forgetful-v0"))
    assert "probe/forgetful-v0" in control.caution(run)
    assert control.caution(PLAIN) is None
    state = control.advance(control.start([run]), 1)
    (saved,) = control.tensors(state)
    assert set(saved) == {"done"}
    assert control.restore([run], [saved]).done == 0
    assert len(study([run], store=tmp_path).results) == 1
    assert "will start again" in capfd.readouterr().err


def test_a_stored_run_comes_back_and_can_act(tmp_path):
    run = dataclasses.replace(PLAIN, task=Control(env="probe/both-v0"))
    (result,) = train([run], progress=False, store=tmp_path)
    (again,) = train([run], progress=False, store=tmp_path)
    same(result, again)
    assert result.engine == "control"
    assert set(again.act(np.ones((9, 1)), key=0)) <= {0, 1}
    assert len(result.curve) == 60
    assert result.provenance["steps"] == 60


def test_a_result_whose_environment_is_missing_can_still_be_read(tmp_path, monkeypatch, forget):
    run = dataclasses.replace(PLAIN, task=Control(env="probe/both-v0"))
    train([run], progress=False, store=tmp_path)

    def gone(env, *_):
        raise FieldError(f"env: {env!r} is not installed")

    monkeypatch.setattr("coexplore.tasks.control.spaces", gone)
    forget()  # as a process that has just begun
    found, problems = Store(tmp_path).find(run)
    assert not problems
    assert found.params is None
    assert len(found.curve) == 60


# What an agent sees and does.


def test_numbers_are_learned_and_kept_within_the_limits_of_the_environment():
    run = probe(Reinforce(), "numbers-v0", 2000, action_variance=0.3)
    (result,) = finished([run])
    assert result.act(np.zeros((200, 1)), key=0).mean() == pytest.approx(0.5, abs=0.15)
    world = worlds.World(run, 0)
    assert world.taken(np.array([7.0], np.float32)) == 1.0
    assert world.taken(np.array([-7.0], np.float32)) == -1.0


def test_what_is_done_is_an_affine_map_of_what_was_drawn():
    run = probe(Reinforce(), "numbers-v0", 60, action_variance=0.3)
    (plain,) = finished([run])
    task = dataclasses.replace(run.task, action_scale=2.0, action_shift=-1.0)
    mapped = Result(dataclasses.replace(run, task=task), plain.engine, plain.curve, plain.params, {})
    o = np.zeros((20, 1))
    for how in ({"key": 0}, {"deterministic": True}):
        np.testing.assert_allclose(mapped.act(o, **how), 2 * plain.act(o, **how) - 1, rtol=1e-5, atol=1e-6)


def test_an_affine_map_reaches_the_environment_and_not_the_score():
    """The first step of two runs that differ in it: the same draw and the same trace, another action."""
    run = probe(Reinforce(), "numbers-v0", 60)
    task = dataclasses.replace(run.task, action_scale=2.0, action_shift=1.0)
    one, other = (control.start([each]) for each in (run, dataclasses.replace(run, task=task)))
    np.testing.assert_allclose(np.asarray(other.actions)[0], 2 * np.asarray(one.actions)[0] + 1, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(other.agents[3])[0], np.asarray(one.agents[3])[0])


def test_choices_that_do_not_begin_at_zero_and_observations_that_are_names():
    run = probe(Reinforce(), "late-v0")
    assert run.task.size == 3
    (result,) = finished([run])
    assert result.last > 0.8
    assert worlds.World(run, 0).reset().sum() == 1


def test_running_scaling_gives_observations_of_mean_zero_and_variance_one():
    o = np.random.default_rng(0).normal(5.0, 3.0, (400, 1)).astype(np.float32)
    scale, seen = agent.Scale(jnp.zeros(()), jnp.zeros(1), jnp.zeros(1)), []
    step = jax.jit(functools.partial(agent.scaled, "running"))
    for row in o:
        o_t = jnp.asarray(row[None])
        scale, _, start = step(scale, agent.Seen(o_t, o_t, *[jnp.zeros(1)] * 3, jnp.zeros(())))
        seen.append(float(start[0, 0]))
    assert float(scale.mean[0]) == pytest.approx(o.mean(), rel=1e-4)
    assert float(scale.squares[0] / 400) == pytest.approx(o.var(), rel=1e-3)
    assert np.mean(seen[100:]) == pytest.approx(0, abs=0.2)
    assert np.std(seen[100:]) == pytest.approx(1, abs=0.2)


def test_a_trained_network_takes_observations_as_the_environment_gives_them():
    """What the run learned of their scale is in its first layers: the same drives and values as of scaled ones."""
    run = PLAIN
    state = control.advance(control.start([run]), 5)
    of_agent = jax.tree.unflatten(jax.tree.structure(agent.fresh(run)), [array[0] for array in state.agents])
    o = jnp.asarray([[0.3], [-0.8]])
    width = np.sqrt(of_agent.scale.squares / of_agent.scale.count)
    inner, outer = control._named(run, np.asarray(of_agent.weights)), control._params(run, state.agents, 0)
    inner, outer = (jax.tree.map(jnp.asarray, params) for params in (inner, outer))
    seen = (o - of_agent.scale.mean) / width
    assert np.abs(np.asarray(seen - o)).max() > 0.05
    np.testing.assert_allclose(drive(outer.layers[0], o), drive(inner.layers[0], seen), atol=1e-4)
    np.testing.assert_allclose(run.critic.value(outer.critic, o), run.critic.value(inner.critic, seen), atol=1e-4)


def test_schedules_move_with_episodes_or_with_steps():
    run = dataclasses.replace(PLAIN, learning_rate=Linear(0.1, 0.01))
    world = worlds.Worlds(run, np.zeros((1, worlds.answer_size(run)), np.float32))
    for _ in range(14):  # two episodes of seven steps
        world.step(np.zeros(1, np.int32))
    assert world.progress == pytest.approx(2 / 60)
    world.anneal = 28
    assert world.progress == pytest.approx(0.5)


def test_a_curve_is_the_mean_return_of_each_stretch_of_episodes():
    run = dataclasses.replace(PLAIN, task=Control(env="probe/constant-v0"), episodes=3000)
    (result,) = finished([run])
    assert len(result.curve) == 1000
    assert np.all(result.curve == 1)
    assert result.reward == 1


# Wrong input.


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Control(env="os:system"), "env: 'os:system' is not allowed"),
        (lambda: Control(env="NoSuch-v0").size, "NoSuch-v0"),
        (lambda: Control(env="probe/odd-v0").outputs, "actions that are one choice or several"),
        (lambda: Control(discount=1.5), "discount: 1.5 is not allowed"),
        (lambda: Run(rule=Reinforce(learning_signal=Reward()), task=Control()), "the TD error"),
        (lambda: train(Run(rule=Reinforce(), task=Control()), engine="xla"), "it has no environments"),
        (lambda: train(Run(rule=Reinforce()), engine="control"), "it steps environments"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(make, words):
    with pytest.raises(FieldError, match=r"^[^\n]*$") as error:
        make()
    assert words in str(error.value)


def test_a_missing_dependency_is_named(monkeypatch):
    def fail(*args, **kwargs):
        raise gymnasium.error.DependencyNotInstalled("Box2D is not installed")

    monkeypatch.setattr(gymnasium, "make", fail)
    with pytest.raises(FieldError, match=r"^env: 'LunarLander-v3' needs Box2D: pip install 'coexplore\[box2d\]'$"):
        engines.choose(Run(rule=Reinforce(), task=Control(env="LunarLander-v3")))


def test_map_propagation_relaxes_before_its_eligibility_is_taken():
    """With the action clamped the relaxed activity differs from the drawn one, and so does what it is credited with."""
    run = Run(rule=MapProp(), task=Control(env="probe/both-v0"), hidden=(4,), critic=None)
    net, params, s = run.network, run.init(), jnp.ones((1, 1))
    activities = network.act(net.actor, params, s, jax.random.key(0))
    mine = network.eligibility(net, params, s, activities)
    hidden, top = net.actor.layers(params, s, activities)
    unmoved = net.rules[0].credit(hidden, jnp.ones((1, 1)), likelihood(top, of_output=True))
    assert np.abs(np.asarray(mine.layers[0].W) - np.asarray(unmoved.W)).max() > 1e-3


def test_map_propagation_trains_in_pendulum_with_its_defaults():
    """v‖w‖² is 20 times the action's variance there, where steps of η = 1 diverge from the first action on."""
    run = Run(rule=MapProp(), task=Control(env="Pendulum-v1", env_steps=60))
    results = train(grid(run, seed=range(3)), progress=False)
    assert all(np.isfinite(leaf).all() for result in results for leaf in jax.tree.leaves(result.params))
