"""BORE of Syne Tune, asked and told as by its scheduler; in an environment with bore.txt."""

import random
from typing import ClassVar

from protocol import Peer, serve


class Bore(Peer):
    package = "syne-tune"
    options: ClassVar = {"init_random": 6}

    def begin(self, params, start, seed, init_random):
        import numpy
        from syne_tune.optimizer.schedulers.searchers.bore import Bore as Searcher

        # It draws from the global generators, besides its own.
        random.seed(seed)
        numpy.random.seed(seed)  # noqa: NPY002
        self.trial_id = 0
        self.searcher = Searcher(
            {param["name"]: domain_of(param) for param in params},
            points_to_evaluate=[start],
            random_seed=seed,
            init_random=init_random,
        )
        self.searcher.suggest()  # the start

    def suggest(self):
        self.trial_id += 1
        return self.searcher.suggest()

    def learn(self, values, loss):
        if loss is None:
            self.searcher.on_trial_error(self.trial_id)
        else:
            self.searcher.on_trial_complete(self.trial_id, values, loss)


def domain_of(param):
    from syne_tune import config_space

    if param["type"] == "categorical":
        return config_space.choice(param["choices"])
    kinds = {"int": ("randint", "lograndint"), "float": ("uniform", "loguniform")}
    return getattr(config_space, kinds[param["type"]][param["log"]])(param["low"], param["high"])


if __name__ == "__main__":
    serve(Bore)
