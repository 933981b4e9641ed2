"""What a type checker sees of a Run: narrow to read, wide to write. `make check` reads this; nobody runs it."""

from typing import assert_type

from coexplore import Boltzmann, Linear, Run
from coexplore.tasks.base import AnyTask

run = Run(rule=[Boltzmann(coupling=Linear(0.4, 0.1))], hidden=64, episodes=1e6, learning_rate=Linear(0.01, 0.001))
assert_type(run.task, AnyTask)
assert_type(run.hidden, tuple[int, ...])
assert_type(run.episodes, int)
assert_type(run.batch, int)
assert_type(run.seed, int)
assert_type(run.learning_rate, float | tuple[float, ...])
