"""Ax, with the strategy that it chooses by default; in an environment with ax.txt."""

from typing import ClassVar

from protocol import Exhausted, Peer, serve


class Ax(Peer):
    package = "ax-platform"
    options: ClassVar = {"initialization_budget": None}

    def begin(self, params, start, seed, initialization_budget):
        from ax.api.client import Client

        self.client = Client(random_seed=seed)
        self.client.configure_experiment([described(param) for param in params])
        self.client.configure_optimization("-loss")  # it maximises
        self.client.configure_generation_strategy(
            initialization_budget=initialization_budget, initialization_random_seed=seed
        )
        self.index = self.client.attach_trial(start)

    def suggest(self):
        trials = self.client.get_next_trials(max_trials=1)
        if not trials:
            raise Exhausted("Ax has no other trial to propose")
        [(self.index, values)] = trials.items()
        return values

    def learn(self, values, loss):
        if loss is None:
            self.client.mark_trial_abandoned(self.index)
        else:
            self.client.complete_trial(self.index, raw_data={"loss": loss})


def described(param):
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    if param["type"] == "categorical":
        return ChoiceParameterConfig(param["name"], param["choices"], "int", is_ordered=False)
    return RangeParameterConfig(
        param["name"],
        (param["low"], param["high"]),
        param["type"],
        scaling="log" if param["log"] else "linear",
    )


if __name__ == "__main__":
    serve(Ax)
