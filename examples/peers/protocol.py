"""What the peers share: the conversation of docs/protocol.md, with Python's standard library only.

A peer is a subclass of `Peer` in a script of its own, which ends with `serve(ItsClass)`.
"""

import importlib.metadata
import json
import logging
import os
import sys
import warnings
from abc import ABC, abstractmethod
from typing import ClassVar

# The packages square losses.
LARGEST_LOSS = 1e100


class Exhausted(Exception):
    """Nothing new is left to propose."""


class Peer(ABC):
    """A package that is asked for configurations; the start comes first.

    The package gets only the hyperparameters that have more than one value, as `params`: dicts of the
    protocol. A choice is its index: one of the `choices` 0, 1, ..., or a whole number of a range if the
    choices are ordered.
    """

    package: str  # its name on the index
    options: ClassVar[dict] = {}  # each with its default

    def __init__(self, space, start, seed, options):
        self.space, self.start = space, start
        self.searched = [param for param in space if not is_fixed(param)]
        self.asked = 0
        if self.searched:
            values = {param["name"]: encoded(param, start[param["name"]]) for param in self.searched}
            # Packages add to the seed and pass it to generators that take 32 bits.
            self.begin([plain(param) for param in self.searched], values, seed % 2**31, **options)

    @abstractmethod
    def begin(self, params, start, seed, **options):
        """Make the package's search; `start` are the values that are evaluated first."""

    @abstractmethod
    def suggest(self):
        """The package's next values; never asked for the first ones."""

    @abstractmethod
    def learn(self, values, loss):
        """Tell the package the loss of the latest values, or None if their trial failed."""

    def ask(self):
        self.asked += 1
        if self.asked == 1:
            return self.start
        if not self.searched:
            raise Exhausted("every hyperparameter has a single value: there is nothing to search")
        values = self.suggest()
        searched = {param["name"]: decoded(param, values[param["name"]]) for param in self.searched}
        return {**self.start, **searched}

    def tell(self, config, loss):
        if self.searched:
            values = {param["name"]: encoded(param, config[param["name"]]) for param in self.searched}
            self.learn(values, None if loss is None else min(max(loss, -LARGEST_LOSS), LARGEST_LOSS))


def is_fixed(param):
    """Whether a hyperparameter has a single value."""
    if param["type"] == "categorical":
        return len(param["choices"]) == 1
    return param["low"] == param["high"]


def plain(param):
    """The hyperparameter as a package gets it, with indices for its choices."""
    if param["type"] != "categorical":
        return param
    count = len(param["choices"])
    if param["ordered"]:
        return {"type": "int", "name": param["name"], "low": 0, "high": count - 1, "log": False}
    return {**param, "choices": list(range(count))}


def encoded(param, value):
    """The value as a package gets it: a choice as its index, a number as it is."""
    return param["choices"].index(value) if param["type"] == "categorical" else value


def decoded(param, value):
    """The value of the space for that of a package, which may be off a bound by a rounding error."""
    if param["type"] == "categorical":
        return param["choices"][int(value)]
    value = min(max(float(value), param["low"]), param["high"])
    return round(value) if param["type"] == "int" else value


def hello_of(peer):
    """What a peer answers first: its options and versions, or that its package is missing."""
    try:
        version = importlib.metadata.version(peer.package)
    except importlib.metadata.PackageNotFoundError:
        remedy = "name the Python of its environment"
        return {"error": f"{peer.package} is not installed for {sys.executable}: {remedy}"}
    python = ".".join(map(str, sys.version_info[:3]))
    return {"protocol": 1, "options": peer.options, "version": f"{peer.package} {version}, Python {python}"}


def serve(peer):
    """Answer the questions on stdin until it ends. What packages print, log or warn of is dropped."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    hello, method = hello_of(peer), None
    for line in sys.stdin:
        message = json.loads(line)
        answer = {}
        try:
            if message["do"] == "hello":
                answer = hello
            elif message["do"] == "begin":
                method = peer(*(message[key] for key in ("space", "start", "seed", "options")))
            elif message["do"] == "ask":
                answer = {"config": method.ask()}
            elif message["do"] == "tell":
                method.tell(message["config"], message["loss"])
        except Exhausted as error:
            answer = {"exhausted": str(error)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer, allow_nan=False), file=answers, flush=True)
