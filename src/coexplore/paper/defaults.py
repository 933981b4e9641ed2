"""The paper's settings: its two algorithms, their rivals, and the values that its figures give them."""

from coexplore.results.palette import SHORT
from coexplore.rules import Boltzmann, Recurrent, Reinforce, StraightThrough, UnbiasedWeightMax
from coexplore.run import Run

C = [0.0, 0.05, 0.10, 0.25, 0.40, 0.50, 0.75, 1.0]
NS = [8, 16, 32, 64, 96, 128]
STEPS = {"boltzmann": [1, 2, 4, 10, 15, 20, 25, 30, 50], "recurrent": [1, 2, 4, 8, 10, 20]}
TRACE_DECAYS = [0.0, 0.10, 0.25, 0.40, 0.50, 0.75, 0.90, 0.99]

# The rules' own defaults are the paper's settings: N = 64, c = 0.25; T = 25 for Algorithm 1; T = 2, λ = 0.25 for 2.
ALG_1, ALG_2, INDEPENDENT = Run(rule=Boltzmann()), Run(rule=Recurrent()), Run(rule=Reinforce())
WEIGHT_MAX, STE = Run(rule=UnbiasedWeightMax()), Run(rule=StraightThrough())
RULES = {SHORT[run.rules[0].name]: run for run in (ALG_1, ALG_2, INDEPENDENT, WEIGHT_MAX, STE)}
