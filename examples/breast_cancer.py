"""Breast cancer of scikit-learn (569 tumours, 30 numbers each; a fifth held out): two rules, five seeds.

python examples/breast_cancer.py
"""

from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from coexplore import Backprop, Boltzmann, Dataset, Run, grid, train

x, y = load_breast_cancer(return_X_y=True)
tumours = Dataset(scale(x), y, name="breast-cancer")

if __name__ == "__main__":
    runs = grid(Run(task=tumours, hidden=32, episodes=32_000), rule=[Boltzmann(), Backprop()], seed=range(5))
    for result in train(runs):
        print(f"{result.run.rule.name}, seed {result.seed}: reward {result.last:.2f}, held out {result.accuracy:.3f}")
