"""Draws docs/images/cfo.svg: CFO and random search on the same landscape, for the same seconds.

    python -m scripts.docs.cfo_figure

Both methods are the real ones. Loss and seconds are formulas of two hyperparameters, the numbers of trees
and of leaves, so that the whole landscape can be drawn. The picture moves by CSS alone; where it can't, or
where the reader wants no motion, it shows the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from contourpy import FillType, contour_generator

from cfo_bench.optimizers import METHODS
from cfo_bench.records import Result
from cfo_bench.space import Config, Int, Space

FILE = Path(__file__).resolve().parents[2] / "docs" / "images" / "cfo.svg"

SPACE = Space([Int("trees", 4, 4096, log=True), Int("leaves", 4, 4096, log=True)])
START = {"trees": 4, "leaves": 4}
BEST = (7.4, 6.2)  # log2 of the best numbers of trees and leaves
BUDGET_SECONDS = 100.0
METHOD_SEEDS = {"cfo": 1, "rs": 1}


def loss(trees: float, leaves: float) -> float:
    """A valley: more trees want fewer leaves. Far from the best it is flat, near 0.5."""
    a, b = math.log2(trees) - BEST[0], math.log2(leaves) - BEST[1]
    q = 0.05 * a * a + 0.06 * b * b + 0.05 * (a + 0.6 * b) ** 2
    return 0.1 + 0.4 * q / (1 + q)


def seconds(trees: float, leaves: float) -> float:
    """Training costs as much as there are leaves in all: 1 ms at the start, 17 minutes at the far corner."""
    return 0.001 * (trees * leaves) / 16


@dataclass(frozen=True)
class Step:
    """One trial of a run: when it ended, and whether it is the best so far."""

    config: Config
    loss: float
    ended: float
    is_best: bool


def run(name: str) -> list[Step]:
    """A run of a method until the next trial would end past the budget."""
    method = METHODS.load(name)(SPACE, START, METHOD_SEEDS[name], **METHODS.options(name, {}))
    clock, best, steps = 0.0, math.inf, []
    while True:
        trial = method.ask()
        found, cost = loss(**trial.config), seconds(**trial.config)
        clock += cost
        if clock > BUDGET_SECONDS:
            return steps
        method.tell(trial, Result.ok(found, cost))
        steps.append(Step(trial.config, found, clock, found < best))
        best = min(best, found)


# --- the picture ----------------------------------------------------------------------------------

WIDTH, HEIGHT, SIDE, TOP, LEFT, GAP = 800, 680, 340, 62, 50, 40
CURVE_TOP, CURVE_HEIGHT, CURVE_WIDTH = 486, 130, 2 * SIDE + GAP
FIRST_SECOND = 0.001  # where the time axis begins: the first trial of both methods
LOOP_SECONDS, MOVING = 16, 88.0  # the loop, and the percentage of it after which nothing moves any more
COLOURS = {"cfo": "#d1495b", "rs": "#30638e"}
TITLES = {"cfo": "CFO", "rs": "Random search"}


def moment(ended: float) -> float:
    """The percentage of the loop at which a moment of the runs is shown: the clock is logarithmic."""
    share = math.log(max(ended, FIRST_SECOND) / FIRST_SECOND) / math.log(BUDGET_SECONDS / FIRST_SECOND)
    return round(2 + (MOVING - 2) * share, 1)


def place(config: Config) -> tuple[float, float]:
    """A configuration's place in its panel."""
    x, y = (math.log2(config[name] / 4) / 10 for name in ("trees", "leaves"))
    return round(x * SIDE, 1), round((1 - y) * SIDE, 1)


def landscape() -> Iterator[str]:
    """The loss as filled contours, and lines of equal cost."""
    axis = np.linspace(2, 12, 101)
    grid = np.array([[loss(2.0**a, 2.0**b) for a in axis] for b in axis])
    levels = np.linspace(0.1, 0.48, 12)
    drawn = contour_generator(axis, axis, grid, fill_type=FillType.OuterCode)
    for index, (low, high) in enumerate(zip(levels, [*levels[1:], 1.0], strict=True)):
        shade = 1 - index / (len(levels) - 1)
        red, green, blue = (round(bright + (dark - bright) * shade) for bright, dark in
                            ((246, 120), (244, 158), (238, 128)))  # fmt: skip
        for points, codes in zip(*drawn.filled(low, high), strict=True):
            path = []
            for (x, y), code in zip(points, codes, strict=True):
                where = f"{(x - 2) / 10 * SIDE:.0f} {(1 - (y - 2) / 10) * SIDE:.0f}"
                path.append("Z" if code == 79 else f"{'M' if code == 1 else 'L'}{where}")
            yield f'<path d="{"".join(path)}" fill="#{red:02x}{green:02x}{blue:02x}"/>'
    for cost, words in ((0.01, "10 ms"), (0.1, "0.1 s"), (1, "1 s"), (10, "10 s"), (100, "100 s")):
        total = math.log2(cost / 0.001 * 16)  # log2 trees + log2 leaves
        low = max(2, total - 12)
        (x1, y1), (x2, y2) = (place({"trees": 2**a, "leaves": 2 ** (total - a)}) for a in (low, total - low))
        yield f'<path class="cost" d="M{x1} {y1}L{x2} {y2}"/>'
        x, y = place({"trees": 2 ** (total / 2), "leaves": 2 ** (total / 2)})
        yield f'<text class="small" x="{x + 3}" y="{y - 3}" text-anchor="start">{words}</text>'


def panel(name: str, steps: Sequence[Step], left: int) -> Iterator[str]:
    yield f'<g transform="translate({left} {TOP})">'
    yield f'<text x="0" y="-12" class="title" style="fill:{COLOURS[name]}">{TITLES[name]}</text>'
    yield f'<text x="{SIDE}" y="-12" class="small" text-anchor="end">{len(steps)} trials</text>'
    yield f'<svg width="{SIDE}" height="{SIDE}"><use href="#land"/></svg>'
    for step in steps:
        x, y = place(step.config)
        r, fill = (4, COLOURS[name]) if step.is_best else (3, "#fff")
        look = f'fill="{fill}" stroke="{COLOURS[name]}" class="{_class_of(step)}"'
        yield f'<circle cx="{x}" cy="{y}" r="{r}" {look}/>'
    x, y = place([step for step in steps if step.is_best][-1].config)
    yield f'<circle r="9" class="incumbent {name}" transform="translate({x} {y})"/>'
    x, y = place({"trees": 2 ** BEST[0], "leaves": 2 ** BEST[1]})
    yield f'<path d="M{x - 6} {y - 6}l12 12m0 -12l-12 12" stroke="#222" stroke-width="2.5"/>'
    yield f'<rect width="{SIDE}" height="{SIDE}" fill="none" stroke="#888"/>'
    yield f'<text x="{SIDE / 2}" y="{SIDE + 20}" text-anchor="middle">trees, 4 to 4096</text>'
    turned = f'transform="translate(-12 {SIDE / 2}) rotate(-90)"'
    yield f'<text {turned} text-anchor="middle">leaves, 4 to 4096</text>'
    yield "</g>"


def curve(runs: dict[str, list[Step]]) -> Iterator[str]:
    """The best loss so far over the seconds spent."""
    yield f'<g transform="translate({LEFT} {CURVE_TOP})">'
    yield '<text x="0" y="-14">Loss of the best configuration so far</text>'
    for at, words in (
        (0.001, "1 ms"),
        (0.01, "10 ms"),
        (0.1, "0.1 s"),
        (1, "1 s"),
        (10, "10 s"),
        (100, "100 s"),
    ):
        x = _x(at)
        anchor = "end" if at == BUDGET_SECONDS else "middle" if at > FIRST_SECOND else "start"
        yield f'<path class="grid" d="M{x} 0V{CURVE_HEIGHT}"/>'
        yield f'<text class="small" x="{x}" y="{CURVE_HEIGHT + 18}" text-anchor="{anchor}">{words}</text>'
    for level in (0.1, 0.3, 0.5):
        yield f'<path class="grid" d="M0 {_y(level)}H{CURVE_WIDTH}"/>'
        yield f'<text class="small" x="-8" y="{_y(level) + 5}" text-anchor="end">{level}</text>'
    below = f'x="{CURVE_WIDTH / 2}" y="{CURVE_HEIGHT + 40}" text-anchor="middle"'
    yield f"<text {below}>seconds of training, spent in all (logarithmic)</text>"
    yield '<g class="reveal">'
    for name, steps in runs.items():
        corners = [f"H{_x(step.ended)}V{_y(step.loss)}" for step in steps if step.is_best]
        path = f"M0 {_y(steps[0].loss)}{''.join(corners)}H{CURVE_WIDTH}"
        yield f'<path d="{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="3"/>'
    yield f'</g><path class="cursor" d="M0 0V{CURVE_HEIGHT}"/></g>'


def _x(at: float) -> float:
    return round((moment(at) - 2) / (MOVING - 2) * CURVE_WIDTH, 1)


def _y(level: float) -> float:
    return round((0.5 - level) / 0.4 * CURVE_HEIGHT, 1)


def _class_of(step: Step) -> str:
    return f"t{moment(step.ended):.1f}".replace(".", "-")


def style(runs: dict[str, list[Step]]) -> Iterator[str]:
    yield (
        "text{font:15px system-ui,sans-serif;fill:#222}.title{font-size:19px;font-weight:600}"
        ".small{font-size:13px;fill:#555}.cost{stroke:#777;stroke-dasharray:3 4;fill:none}"
        ".grid{stroke:#ddd}.cursor{stroke:#222;stroke-width:1.5}.incumbent{fill:none;stroke:#111;stroke-width:2.5}"
    )
    yield "@media (prefers-reduced-motion:no-preference){"
    for at in sorted({moment(step.ended) for steps in runs.values() for step in steps}):
        name = f"t{at:.1f}".replace(".", "-")
        yield _animation(f".{name}", name, f"0%,{at - 0.1:.1f}%{{opacity:0}}{at:.1f}%,to{{opacity:1}}")
    for name, steps in runs.items():
        x, y = place(steps[0].config)
        frames = [f"0%{{transform:translate({x}px,{y}px)}}"]
        for step in steps:
            if step.is_best and step is not steps[0]:
                at = moment(step.ended)
                frames.append(f"{at - 0.6:.1f}%{{transform:translate({x}px,{y}px)}}")
                x, y = place(step.config)
                frames.append(f"{at:.1f}%{{transform:translate({x}px,{y}px)}}")
        frames.append(f"to{{transform:translate({x}px,{y}px)}}")
        yield _animation(f".incumbent.{name}", name, "".join(frames))
    hidden, shown = "clip-path:inset(-9px 100% -9px 0)", "clip-path:inset(-9px 0 -9px 0)"
    yield _animation(".reveal", "reveal", f"0%,2%{{{hidden}}}{MOVING}%,to{{{shown}}}", "linear ")
    first, last = "transform:translateX(0)", f"transform:translateX({CURVE_WIDTH}px)"
    yield _animation(".cursor", "cursor", f"0%,2%{{{first}}}{MOVING}%,to{{{last}}}", "linear ")
    yield "}"


def _animation(what: str, name: str, frames: str, pace: str = "") -> str:
    return f"@keyframes {name}{{{frames}}}{what}{{animation:{name} {LOOP_SECONDS}s {pace}infinite}}"


def draw() -> str:
    runs = {name: run(name) for name in METHOD_SEEDS}
    lefts = {"cfo": LEFT, "rs": LEFT + SIDE + GAP}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>CFO and random search on the same landscape, for the same seconds of training</title>",
        f"<style>{''.join(style(runs))}</style>",
        f'<defs><g id="land">{"".join(landscape())}</g></defs>',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#fff"/>',
        *(line for name, steps in runs.items() for line in panel(name, steps, lefts[name])),
        *curve(runs),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    FILE.write_text(draw(), encoding="utf-8")
    print(f"{FILE}: {FILE.stat().st_size / 1024:.0f} kB")
