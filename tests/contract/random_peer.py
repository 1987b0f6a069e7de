"""Random draws by the base that the peers share."""

import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "peers"))

from protocol import Peer, serve


class Draws(Peer):
    package = "cfo-bench"

    def begin(self, params, start, seed):
        self.params, self.random = params, random.Random(seed)

    def suggest(self):
        print("a package prints what is no answer")
        return {param["name"]: self.drawn(param) for param in self.params}

    def drawn(self, param):
        if param["type"] == "categorical":
            return self.random.choice(param["choices"])
        # Off the bounds by a rounding error.
        return self.random.uniform(param["low"] * (1 - 1e-12), param["high"] * (1 + 1e-12))

    def learn(self, values, loss):
        assert loss is None or abs(loss) <= 1e100
        for param in self.params:
            assert not isinstance(values[param["name"]], str)


serve(Draws)
