"""Runs of every variant of every rule, as plain data: what `Run.from_dict` reads, with only what differs from defaults.

`tests/bits.py` trains them. They are written as files have them, not made of the library's classes, so that a library
with other classes can train the same list: it goes on reading descriptions of before. So do not rewrite one: add.

`VARIANTS` has them by a name that is made of the description alone, such as "boltzmann steps=3 centring=both". The
digest of a run may change with its spelling; its name here stays.

On JAX's engines nearly all of the time goes into compiling: once for each structure, whatever the numbers in it.
"""

import itertools

import jax

import coexplore

ONE_STEP = {"hidden": [13], "episodes": 60 * 16}  # 13 units leave a rest in the vectors of the fused engines
IN_TIME = {"hidden": [6], "episodes": 8}
TWO, THREE = {"hidden": [9, 8]}, {"hidden": [7, 6, 5]}
SIGNED = {"chain_signals": ["signed"]}
FORMS = ("pre-without-post", "post-without-pre")
ESTIMATES = ("half", "drive", "usual", "predicted")  # of E[H], beside which pairs may be centred


def falling(start, stop):
    return {"start": start, "stop": stop}


def each(rule, **settings):
    """The rule with every combination of the values that `settings` list."""
    combined = itertools.product(*settings.values())
    return [{"name": rule, **dict(zip(settings, values, strict=True))} for values in combined]


def short(**settings):
    """Algorithm 1 with three steps instead of 25."""
    return each("boltzmann", steps=[3], **settings)


OF_REINFORCE = [
    *each("reinforce"),
    *each("reinforce", centring=["none", "activity", "reward", "predicted"]),
    *each("reinforce", centring=["activity", "predicted"], centring_strength=[0.7]),
    *each("reinforce", centring_strength=[falling(1.0, 0.2)]),
]
OF_BOLTZMANN = [
    *each("boltzmann"),
    *short(coupling=[0.0, 1.0, falling(0.4, 0.1)]),
    *short(recurrent_rate=[0.1]),
    *short(sampler=["lazy", "one-by-one"]),
    *short(centring=["none", "activity", "both", "mean", "learned", *ESTIMATES]),
    *short(centring=["both"], chains=[2], centring_strength=[0.5]),
    *short(centring=["activity"], sampler=["lazy"], centring_strength=[falling(1.0, 0.5)]),
    *short(centring=["both"], sampler=["one-by-one"]),
    *short(centring=ESTIMATES, pair_strength=[0.5]),
    *short(centring=["half"], centring_strength=[0.7], pair_strength=[falling(0.0, 1.0)]),
    *short(centring=["learned", "predicted"], centring_strength=[0.5]),
    *short(centring=["mean", "usual", "predicted", "learned"], centring_rate=[0.1]),
    *short(centring=["reward", "both", "learned"], **SIGNED),
    *short(centring=["half", "predicted"], pair_strength=[0.5], **SIGNED),
    *short(sampler=["lazy"], recurrent_rate=[2.0], **SIGNED),
    *short(depression=[*FORMS, "one-without-other"]),
    *short(depression=[*FORMS, "one-without-other"], depression_strength=[falling(0.5, 0.1)]),
    *short(depression=["pre-without-post"], centring=["predicted"], **SIGNED),
    *short(depression=["post-without-pre"], centring=["both"]),
    *short(depression=["one-without-other"], centring=["predicted"], pair_strength=[0.5]),
]
OF_RECURRENT = [
    *each("recurrent"),
    *each("recurrent", centring=["none", "activity", "reward", "predicted"]),
    *each("recurrent", coupling=[falling(0.5, 0.0)], trace_decay=[0.9]),
    *each("recurrent", trace_decay=[0.0, 1.0], steps=[3]),
    *each("recurrent", centring=["activity", "predicted"], centring_strength=[0.7]),
    *each("recurrent", centring=["both", "predicted"], **SIGNED),
    *each("recurrent", centring=["both"], recurrent_rate=[0.1], **SIGNED),
    *each("recurrent", depression=[*FORMS, "post-before-pre"]),
    *each("recurrent", depression=[*FORMS, "post-before-pre"], depression_strength=[0.25]),
    *each("recurrent", depression=FORMS, centring=["predicted"]),
]
OF_OTHERS = [
    *each("ste"),
    *each("ste", slope=["identity"]),
    *each("ste", centring=["activity"]),
    *each("weight-max"),
    *each("weight-max", centring=["activity"]),
    *each("unbiased-weight-max", expected=[False, True], centring=["both", "activity"]),
    *each("map-prop"),
    *each("map-prop", variance=[0.3], relax_steps=[0, 5]),
    *each("map-prop", centring=["activity"], relax_steps=[5]),
    *each("backprop", activation=["relu", "sigmoid", "tanh", "softplus"]),
    *each("backprop", centring=["activity"]),
]

REINFORCE, RECURRENT, STE = {"name": "reinforce"}, {"name": "recurrent"}, {"name": "ste"}
BOLTZMANN = {"name": "boltzmann", "steps": 3}
WEIGHT_MAX, UNBIASED = {"name": "weight-max"}, {"name": "unbiased-weight-max"}
MAP_PROP, BACKPROP = {"name": "map-prop", "relax_steps": 5}, {"name": "backprop"}
USUAL = (REINFORCE, BOLTZMANN, RECURRENT, STE, WEIGHT_MAX, UNBIASED, MAP_PROP, BACKPROP)
ONE_BY_ONE = {**BOLTZMANN, "sampler": "one-by-one"}
LEARNING = {**BOLTZMANN, "centring": "learned"}
PREDICTING = {**BOLTZMANN, "centring": "predicted", "pair_strength": 0.5}
CHAINED = {**RECURRENT, "chain_signals": "signed"}
FALLING = falling(0.01, 0.001)
EACH_RATE = {"learning_rate": [0.01, FALLING, 0.002, 0.005]}  # two hidden layers, the output, the critic


def networks():
    """One hidden layer: what a run may have besides its rule."""
    for rule in (BOLTZMANN, RECURRENT, BACKPROP):
        yield {"rule": rule, "critic": None}
    for rule in (REINFORCE, BOLTZMANN, RECURRENT):
        yield {"rule": rule, "signals": "signed", "initial_weights": "uniform"}
    for rule in (STE, WEIGHT_MAX, UNBIASED, PREDICTING):
        yield {"rule": rule, "signals": "signed"}
    tanh, deep = {"activation": "tanh", "width": 9}, {"width": [8, 6]}
    for critic in (tanh, {"activation": "softplus"}, deep, {"activation": "linear"}, {"activation": "mean"}):
        yield {"rule": BOLTZMANN, "critic": critic}
    yield {"rule": BOLTZMANN, "learning_rate": FALLING, "seed": 7}
    yield {"rule": RECURRENT, "learning_rate": [0.01, FALLING, 0.002], "seed": 7}
    yield {"rule": REINFORCE, "learning_rate": [0.01, 0.001, 0.002, 0.0005]}
    yield {"rule": BOLTZMANN, "task": {"name": "multiplexer", "bits": 3, "encoding": "binary", "rewards": "binary"}}
    yield {"rule": RECURRENT, "task": {"name": "multiplexer", "bits": 1}, "batch": 5, "episodes": 300}
    yield {"rule": REINFORCE, "batch": 1, "hidden": [1], "episodes": 60}
    yield {"rule": UNBIASED, "hidden": [40]}
    yield {"rule": BOLTZMANN, "hidden": [70], "critic": {"width": 33}}


def deep():
    """Two and three hidden layers: of one rule, and of several."""
    for rule in (*USUAL, LEARNING, ONE_BY_ONE, {**RECURRENT, "centring": "predicted"}):
        yield {"rule": rule, **TWO, "learning_rate": FALLING}
    for rule, reward in itertools.product((BOLTZMANN, CHAINED), ("path", "last")):
        yield {"rule": {**rule, "layer_reward": reward}, **TWO}
    yield {"rule": {**BOLTZMANN, "layer_reward": "path"}, **THREE}
    yield {"rule": {**CHAINED, "layer_reward": "last"}, **THREE}
    signed = {"signals": "signed", "rate_scaling": "fan-in"}
    yield {"rule": {**PREDICTING, "layer_reward": "last"}, **TWO, **signed}
    yield {"rule": {**LEARNING, "layer_reward": "path"}, **TWO}
    yield {"rule": {**BOLTZMANN, "centring": "mean", "layer_reward": "last"}, **TWO}
    yield {"rule": {**ONE_BY_ONE, "centring": "both", "layer_reward": "last"}, **TWO}
    for rule in (STE, WEIGHT_MAX, UNBIASED, CHAINED):
        yield {"rule": rule, **TWO, **signed, "initial_weights": "uniform"}
    yield from mixed()
    yield {
        "rule": [{"name": "map-prop", "variance": 0.3}, {"name": "map-prop"}],
        "task": {"name": "multiplexer", "bits": 5},
        **{
            "hidden": [16, 8],
            "batch": 128,
            "episodes": 40 * 128,
            "learning_rate": [0.04, 4e-05, 4e-06],
            "critic": None,
        },
    }


def mixed():
    yield {"rule": [REINFORCE, BOLTZMANN], **TWO, **EACH_RATE}
    yield {"rule": [BOLTZMANN, RECURRENT], **TWO, **EACH_RATE}
    yield {"rule": [STE, MAP_PROP], **TWO, **EACH_RATE}
    yield {"rule": [MAP_PROP, REINFORCE], **TWO, **EACH_RATE}
    yield {"rule": [WEIGHT_MAX, UNBIASED], **TWO, **EACH_RATE}
    yield {"rule": [UNBIASED, BACKPROP], **TWO, **EACH_RATE}
    yield {"rule": [BACKPROP, PREDICTING], **TWO, **EACH_RATE}
    own = [{**BOLTZMANN, "layer_reward": "last"}, {**CHAINED, "layer_reward": "path"}, WEIGHT_MAX]
    yield {"rule": own, **THREE}
    yield {"rule": [{**CHAINED, "layer_reward": "last"}, MAP_PROP], **TWO, "critic": None}


def labelled():
    """Labels that are drawn or given; data and a reward of one's own; several bits at once."""
    graded = {"name": "boolean", "rewards": "loss", "bits": 4}
    expected = {**UNBIASED, "expected": True}
    for rule in (BOLTZMANN, STE, WEIGHT_MAX, UNBIASED, MAP_PROP, BACKPROP, PREDICTING):
        yield {"rule": rule, "task": graded}
    for rule in (STE, WEIGHT_MAX, expected, MAP_PROP, BACKPROP, {**BOLTZMANN, "layer_reward": "last"}):
        yield {"rule": rule, "task": graded, **TWO, "learning_rate": FALLING}
    yield {"rule": REINFORCE, "task": {"name": "boolean", "function": "majority", "bits": 5, "held_out": 0.1}}
    yield {"rule": RECURRENT, "task": {"name": "boolean", "function": "random"}}
    yield {"rule": BOLTZMANN, "task": {"name": "digits"}}
    yield {"rule": BACKPROP, "task": {"name": "digits", "rewards": "loss"}}
    for rule in (REINFORCE, LEARNING, RECURRENT, UNBIASED, BACKPROP):
        yield {"rule": rule, "task": {"name": "joint-bits"}}
    yield {"rule": LEARNING, "task": {"name": "joint-bits", "joint": 1.0, "policy": "joint"}}
    yield {"rule": CHAINED, "task": {"name": "joint-bits", "joint": 0.25}, **TWO}
    yield {"rule": RECURRENT, "task": RINGS}
    yield {"rule": BACKPROP, "task": {**RINGS, "rewards": "loss"}}
    yield {"rule": BOLTZMANN, "task": PAID}
    for rule in (RECURRENT, UNBIASED):
        yield {"rule": rule, "task": PARTS}


def environments():
    """Episodes of many steps, in environments that two engines have: as functions, and stepped."""
    poles = {"name": "control", "env": "phys2d/CartPole-v1", "max_steps": 40}
    rules = [*USUAL, LEARNING, PREDICTING, ONE_BY_ONE, {**LEARNING, "centring_rate": 0.1}]
    rules += short(centring=["mean", "usual", "both"], **SIGNED) + short(sampler=["lazy"], recurrent_rate=[0.1])
    rules += short(coupling=[falling(0.4, 0.1)], depression=["one-without-other"])
    rules += each("recurrent", centring=["predicted", "reward"], depression=["post-before-pre"])
    rules += each("reinforce", centring=["predicted"], centring_strength=[0.7])
    for rule in rules:
        yield {"rule": rule, "task": poles}
    for rule in (BOLTZMANN, RECURRENT):
        yield {"rule": {**rule, "layer_reward": "last"}, "task": poles, "hidden": [6, 5], "signals": "signed"}
    task = {**poles, "anneal": 100, "scaling": "none"}
    yield {"rule": REINFORCE, "task": task, "learning_rate": FALLING, "batch": 2}
    yield {"rule": RECURRENT, "task": {**poles, "env": "phys2d/Pendulum-v0"}, "critic": None}
    yield {"rule": STE, "task": {"name": "control", "env": "tabular/Blackjack-v0"}}
    in_time = {"name": "control", "env": "coexplore/JointBits-v0", "env_arg": [["joint", 0.5]]}
    yield {"rule": LEARNING, "task": in_time, "batch": 4}


def stepped():
    """Environments that one engine has."""
    short = {"name": "control", "max_steps": 40}
    for rule in (REINFORCE, LEARNING, RECURRENT, MAP_PROP, BACKPROP):
        yield {"rule": rule, "task": short}
    critic = {"activation": "softplus"}
    yield {"rule": [REINFORCE, RECURRENT], "task": short, "hidden": [8, 6], "batch": 2, "critic": critic}
    yield {"rule": REINFORCE, "task": short, "critic": {"activation": "linear"}}
    task = {**short, "env_steps": 200, "truncation": "ignore", "discount": 0.9}
    yield {"rule": WEIGHT_MAX, "task": task, "episodes": 1000}
    task = {**short, "env": "FrozenLake-v1", "env_arg": [["is_slippery", False]], "drives": "all"}
    yield {"rule": REINFORCE, "task": task}
    yield {"rule": REINFORCE, "task": {**short, "env": "Pendulum-v1", "action_scale": 2.0, "reward_limit": 5.0}}
    yield from as_the_author()


def as_the_author():
    """What presets have: rates of every layer's own, deep critics, one of which learns by MAP propagation."""
    two, hidden = [{**MAP_PROP, "variance": 0.03}, {**MAP_PROP, "variance": 0.1}], [8, 6]
    critic = {"activation": "softplus", "width": [8, 6]}
    rates = [FALLING, falling(1e-05, 1e-06), falling(1e-06, 1e-08), falling(0.02, 0.002), 2e-05, 2e-06]
    task = {
        "name": "control",
        "max_steps": 40,
        "scaling": "none",
        "truncation": "ignore",
        "anneal": 50,
        "temperature": 2.0,
    }
    for rule, trace in ((two, 0.95), (WEIGHT_MAX, 0.0)):
        traced = {**task, "actor_trace": trace, "critic_trace": 0.95}
        yield {"rule": rule, "task": traced, "hidden": hidden, "learning_rate": rates, "critic": critic}
    car = {
        "name": "control",
        "env": "MountainCarContinuous-v0",
        "max_steps": 40,
        "action_variance": 0.5,
        "action_shift": 1.0,
    }
    drawing = {**critic, "rule": "map-prop", "variance": [0.003, 0.01, 0.05]}
    yield {"rule": two, "task": car, "hidden": hidden, "critic": drawing, "initial_weights": "uniform"}


def _rings():
    """Inputs and labels that no library's random numbers make."""
    x = [[((7 * i + 3 * j) % 16) / 8 - 1 for j in range(5)] for i in range(60)]
    return coexplore.Dataset(x, [i * i % 3 for i in range(60)], name="rings")


def _paid(state, action):
    return state[:, 0] * (2 * action - 1)


class Parts(coexplore.Task):
    """An action of three parts, each of them paid for."""

    name = "parts"
    version = "1"
    size = 4
    actions = (2, 3, 4)

    def sample(self, B, key):
        return jax.random.normal(key, (B, self.size))

    def reward(self, state, action):
        return (state[:, :3] * action).mean(axis=1)


MINE = _rings(), coexplore.Bandit(_paid, 3, name="paid", version="1")  # a process must have made them to train on them
RINGS = {"name": "dataset", "called": "rings", "sha256": MINE[0].sha256, "inputs": 5, "labels": 3}
PAID = {"name": "bandit", "called": "paid", "version": "1", "inputs": 3, "choices": 2}
PARTS = {"name": "parts", "edition": "1"}


def name_of(run):
    """Made of the description, and so as lasting as that."""
    return ", ".join([_text(run["rule"]), *(f"{key} {_text(value)}" for key, value in run.items() if key != "rule")])


def _text(value):
    if isinstance(value, list):
        return "/".join(map(_text, value))
    if not isinstance(value, dict):
        return "none" if value is None else str(value)
    if set(value) == {"start", "stop"}:
        return f"{value['start']}..{value['stop']}"
    named = [value["name"]] if "name" in value else []
    return " ".join([*named, *(f"{key}={_text(one)}" for key, one in value.items() if key not in ("name", "sha256"))])


def _all():
    rules = [*OF_REINFORCE, *OF_BOLTZMANN, *OF_RECURRENT, *OF_OTHERS]
    one_step = [*({"rule": rule} for rule in rules), *networks(), *deep(), *labelled()]
    found = {name_of(run): {**ONE_STEP, **run} for run in one_step}
    in_time = {name_of(run): {**IN_TIME, **run} for run in (*environments(), *stepped())}
    return found | in_time


VARIANTS = _all()
