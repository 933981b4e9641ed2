"""Optuna chooses a learning rate and a coupling, and gives up early on runs that do worse than the others did."""

import optuna

from coexplore import STOP, Boltzmann, Multiplexer, Run, train


def objective(trial: optuna.Trial) -> float:
    rule = Boltzmann(coupling=trial.suggest_float("coupling", 0.0, 0.5), steps=5)
    rate = trial.suggest_float("learning_rate", 1e-4, 1e-1, log=True)
    run = Run(rule=rule, task=Multiplexer(bits=2), hidden=16, episodes=160_000, learning_rate=rate)

    def watch(moment):
        trial.report(moment.reward, moment.updates)
        return STOP if trial.should_prune() else None

    results = train(run, progress=False, callback=watch)
    if not results:
        raise optuna.TrialPruned
    return results[0].last


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", pruner=optuna.pruners.MedianPruner(n_startup_trials=4))
    study.optimize(objective, n_trials=20)
    print(f"best: reward {study.best_value:.2f} with {study.best_params}")
    pruned = study.get_trials(states=[optuna.trial.TrialState.PRUNED])
    print(f"{len(pruned)} of {len(study.trials)} runs were stopped early")
