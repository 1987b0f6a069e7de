"""HEBO; in an environment with hebo.txt, on Python 3.11."""

import math
import random
from typing import ClassVar

from protocol import Peer, serve


class Hebo(Peer):
    package = "HEBO"
    options: ClassVar = {"rand_sample": None}

    def begin(self, params, start, seed, rand_sample):
        import numpy
        import torch
        from hebo.design_space.design_space import DesignSpace
        from hebo.optimizers.hebo import HEBO

        # It draws from the global generators.
        random.seed(seed)
        numpy.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        space = DesignSpace().parse([described(param) for param in params])
        self.search = HEBO(space, rand_sample=rand_sample, scramble_seed=seed)
        self.waiting, self.worst = [], -math.inf

    def suggest(self):
        return self.search.suggest(n_suggestions=1).iloc[0].to_dict()

    def learn(self, values, loss):
        """HEBO drops losses that are no numbers: a failed trial gets the worst so far, once there is one."""
        import numpy
        import pandas

        self.waiting.append((values, loss))
        if loss is not None:
            self.worst = max(self.worst, loss)
        if self.worst > -math.inf:
            losses = [self.worst if loss is None else loss for _, loss in self.waiting]
            frame = pandas.DataFrame([values for values, _ in self.waiting])
            self.search.observe(frame, numpy.array(losses).reshape(-1, 1))
            self.waiting.clear()


def described(param):
    if param["type"] == "categorical":
        return {"name": param["name"], "type": "cat", "categories": param["choices"]}
    kinds = {"int": ("int", "pow_int"), "float": ("num", "pow")}
    kind = kinds[param["type"]][param["log"]]
    return {"name": param["name"], "type": kind, "lb": param["low"], "ub": param["high"]}


if __name__ == "__main__":
    serve(Hebo)
