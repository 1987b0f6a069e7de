"""A method in a program of its own, with Python's standard library only: see docs/protocol.md.

cfo-bench run --task wine --method "exec:python3 examples/hill_climb.py" --method cfo --budget 5
"""

import json
import math
import random
import sys

HELLO = {"protocol": 1, "options": {"share": 0.3}, "parallel": 64, "version": "1"}


class HillClimb:
    """The start comes first; then a share of the best configuration's values is drawn anew."""

    def __init__(self, space, start, seed, options, parallel):
        self.space, self.best, self.loss, self.share = space, start, math.inf, options["share"]
        self.share_now, self.random = 0, random.Random(seed)
        if not 0 < self.share <= 1:
            raise ValueError(f"share is {self.share}: give a number above 0, and at most 1")

    def ask(self):
        share, self.share_now = self.share_now, self.share
        names = [one["name"] for one in self.space if self.random.random() < share]
        return {**self.best, **{one["name"]: self.drawn(one) for one in self.space if one["name"] in names}}

    def drawn(self, one):
        if one["type"] == "categorical":
            return self.random.choice(one["choices"])
        low, high = (math.log(one[end]) if one["log"] else one[end] for end in ("low", "high"))
        value = self.random.uniform(low, high)
        value = min(max(math.exp(value) if one["log"] else value, one["low"]), one["high"])
        return round(value) if one["type"] == "int" else value

    def tell(self, config, loss):
        if loss is not None and loss < self.loss:
            self.best, self.loss = config, loss


def answer(message):
    global method
    if message["do"] == "hello":
        return HELLO
    if message["do"] == "begin":
        method = HillClimb(*(message[key] for key in ("space", "start", "seed", "options", "parallel")))
    elif message["do"] == "ask":
        return {"config": method.ask()}
    elif message["do"] == "tell":
        method.tell(message["config"], message["loss"])
    return {}


for line in sys.stdin:
    try:
        said = answer(json.loads(line))
    except Exception as error:
        said = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps(said, allow_nan=False), flush=True)
