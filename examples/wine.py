"""Wine of scikit-learn (178 wines of three growers, 13 numbers each; a fifth held out): two rules, five seeds.

python examples/wine.py
coexplore train boltzmann backprop --task wine:wines --units 32 --episodes 32000 --seeds 5     # in this folder
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from coexplore import Backprop, Boltzmann, Dataset, Run, grid, train

x, y = load_wine(return_X_y=True)
wines = Dataset(scale(x), y, name="wine")

if __name__ == "__main__":
    runs = grid(Run(task=wines, hidden=32, episodes=32_000), rule=[Boltzmann(), Backprop()], seed=range(5))
    for result in train(runs):
        print(f"{result.run.rule.name}, seed {result.seed}: reward {result.last:.2f}, held out {result.accuracy:.3f}")
