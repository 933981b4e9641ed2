"""The last two lines of `make setup`: what this machine can train with, and what to do next."""

from coexplore import engines

here = {name: engines.find(name).missing() for name in engines.NAMES}
print("ready: engines", ", ".join(name for name, why in here.items() if not why), end="")
print("".join(f"; no {name}: {why}" for name, why in here.items() if why))
print("next: `make demo`, or `source .venv/bin/activate` and then `coexplore`")
