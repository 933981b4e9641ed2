"""Rules and tasks of others, broken in one place: modules that a command line names, or packages that are installed."""

import sys

MODULE = """
import jax, jax.numpy as jnp, numpy as np
from coexplore import Rule, Task, choice, count, number, outer

{before}
class Mine(Rule):
    name, title = {name}, {title}
    strength: float = number({strength}, "s", low=0.0)

    def credit(self, layer, signal, above):
        x, params = layer.x, layer.params
        {credit}

class Own(Task):
    name, title = {task}, {title}
    size, actions = {size}, {actions}
    batch, episodes = {batch}, {episodes}

    def sample(self, B, key):
        {sample}

    def reward(self, state, action):
        {reward}
{after}
"""
SOUND = {
    "before": "",
    "after": "",
    "name": "'mine'",
    "title": "'of mine'",
    "strength": "1.0",
    "credit": "return outer(x, self.strength * signal * (layer.h - 0.5))",
    "task": "'own'",
    "size": "2",
    "actions": "2",
    "batch": "16",
    "episodes": "160",
    "sample": "return jax.random.uniform(key, (B, 2))",
    "reward": "return jnp.where(action == (state[:, 0] > 0.5), 1.0, -1.0)",
}
RAISED = (
    "1 / 0",
    "raise SystemExit(3)",
    "raise KeyError",
    "raise MemoryError",
    "raise ValueError('a\\nb\\udcff')",
    "f()",
)
VALUES = (
    "None",
    "-1",
    "0",
    "2.5",
    "'x'",
    "10**12",
    "10**30",
    "''",
    "'a b'",
    "'\\udcff'",
    "'\\n'",
    "[]",
    "True",
    "object()",
)
VALUES += (
    "float('nan')",
    "np.zeros(3)",
    "property(lambda self: 1 / 0)",
    "(2, 3)",
    "(2,) * 9",
    "'</script>'",
    "10**5",
    "Own",
)
GIVEN = (
    "return None",
    "return x",
    "return state",
    "return key",
    "return 1.0",
    "return jnp.zeros((3, 3))",
    "return 'x'",
)
GIVEN += (
    "return jnp.full((16,), jnp.nan)",
    "return jnp.zeros(0)",
    "return jnp.zeros((10**6, 10**6))",
    "while False: pass",
)
PLACES = dict.fromkeys(("name", "title", "strength", "task", "size", "actions", "batch", "episodes"), VALUES)
PLACES |= dict.fromkeys(("credit", "sample", "reward"), (*GIVEN, *RAISED))
PLACES |= {
    "before": (*RAISED, "def", "import nothing_like_it", "exit()"),
    "after": (*RAISED, "Own = 5", "Mine = Own", "del Own"),
}
ENTRIES = "[coexplore.rules]\nmine = {module}:Mine\n\n[coexplore.tasks]\nown = {module}:Own\n"


def written(rng, here):
    """The words that call for it, once it is there."""
    parts = dict(SOUND)
    for place in rng.sample(sorted(PLACES), rng.choice((0, 1, 1, 1, 2))):
        parts[place] = rng.choice(PLACES[place])
    module = f"module_{rng.randrange(10**9)}"
    (here / f"{module}.py").write_text(MODULE.format(**parts), errors="backslashreplace")
    task = rng.choice((f"{module}:Own", f"{module}:Own", f"{module}:Mine", f"{module}:nothing", "own", "multiplexer"))
    rule = rng.choice(("mine", "mine", "reinforce"))
    package = here / module
    about = package / f"{module}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1\n")
    (about / "entry_points.txt").write_text(ENTRIES.format(module=module))
    sys.path[:0] = [str(package), str(here)]
    return rng.choice(
        (
            ["train", rule, "--task", task, "--units", "5", "--episodes", "160"],
            ["train", rule, "--task", task, "--units", "5", "--episodes", "160", "--store", "runs"],
            ["train", rule, "--help"],
            [
                "tune",
                rule,
                "--task",
                task,
                "--grid",
                "strength=1,2",
                "--choose",
                "1",
                "--judge",
                "2",
                "--episodes",
                "160",
            ],
            ["evaluate", "runs", "--task", task, "--episodes", "10"],
            ["runs", "--select", f"rule={rule},task={task}"],
            ["list"],
            ["completion", "bash"],
        )
    )
