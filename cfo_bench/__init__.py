"""cfo-bench: given the same seconds, which method finds the better model, and when?

As a library:

>>> from cfo_bench import CFO, Float, Int, Space, minimize
>>> space = Space([Int("trees", 4, 1000, log=True), Float("rate", 0.01, 1.0, log=True)])
>>> def loss(config):
...     return (config["trees"] - 100) ** 2 / 1e4 + abs(config["rate"] - 0.1)
>>> best = minimize(loss, space, {"trees": 4, "rate": 0.1}, max_trials=200, seed=1)
>>> best.loss < 0.05
True

The public names are listed in `__init__.pyi`. Each is loaded at first use, so that `cfo-bench --help` stays
light.
"""

import lazy_loader

__version__ = "0.3.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
