"""A loop of your own: CFO says what to try, you say what came of it.

python examples/ask_tell.py
"""

from cfo_bench import CFO, Float, Int, Result, Space, Status

space = Space([Int("trees", 4, 1000, log=True), Float("rate", 0.01, 1.0, log=True)])
method = CFO(space, {"trees": 4, "rate": 0.1}, seed=1)

best = None
for _ in range(60):
    trial = method.ask()
    if trial.config["trees"] > 800:  # too large for this machine, say: CFO steps back from it
        method.tell(trial, Result(Status.FAILED, error="too large"))
        continue
    loss = (trial.config["trees"] - 100) ** 2 / 1e4 + abs(trial.config["rate"] - 0.1)
    method.tell(trial, Result.ok(loss))
    if best is None or loss < best[0]:
        best = loss, trial
        print(f"trial {trial.number}: loss {loss:.4f} with {trial.config}")
