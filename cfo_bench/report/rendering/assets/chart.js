// One panel of the explorer: the curves of all methods on one task, as SVG.
// A curve is a step function: from t[i] on, the mean over folds is mean[i], with low[i]…high[i] around it.
"use strict";

class CurveChart {
  static #SVG = "http://www.w3.org/2000/svg";
  static #MARGIN = { left: 62, right: 12, top: 10, bottom: 40 };

  /** `view` is shared by all panels: { off: Set of methods, logTime, logValue, asScore, band }. */
  constructor(panel, task, view) {
    this.panel = panel;
    this.task = task;
    this.view = view;
    this.range = null; // seconds, when zoomed
    this.cursor = null; // seconds under the pointer or the keyboard's cursor
    this.svg = this.#add(panel.querySelector(".plot"), "svg", { tabindex: 0, role: "img" });
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    panel.append(this.tip);
    this.reset = panel.querySelector(".reset");
    this.said = panel.querySelector("[aria-live]");
    this.reset.addEventListener("click", () => this.zoom(null));
    this.#listen();
    new ResizeObserver(() => this.draw()).observe(panel);
  }

  get visible() {
    return this.task.methods.filter((method) => !this.view.off.has(method.name) && method.t.length);
  }

  value(loss) {
    const { zero, one } = this.task.scale;
    return this.view.asScore ? (zero - loss) / (zero - one) : loss;
  }

  zoom(range) {
    this.range = range;
    this.reset.hidden = range === null;
    this.draw();
  }

  draw() {
    const width = Math.max(this.svg.parentElement.clientWidth, 240);
    const height = Math.round(Math.min(Math.max(width * 0.58, 220), 420));
    const { left, right, top, bottom } = CurveChart.#MARGIN;
    this.box = { left, top, right: width - right, bottom: height - bottom };
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.replaceChildren();
    this.svg.setAttribute("aria-label", this.#summary());
    this.time = CurveChart.#axis(this.#timeDomain(), this.view.logTime, this.box.left, this.box.right);
    const domain = this.#valueDomain();
    this.level = CurveChart.#axis(domain, this.view.logValue && domain[0] > 0, this.box.bottom, this.box.top);
    this.#drawAxes();
    const clip = `clip-${CurveChart.#serial++}`;
    const shape = this.#add(this.#add(this.svg, "clipPath", { id: clip }), "rect", this.#inside());
    shape.removeAttribute("class");
    const drawn = this.#add(this.svg, "g", { "clip-path": `url(#${clip})` });
    for (const method of this.visible) {
      const group = this.#add(drawn, "g", { class: "method curve" });
      group.dataset.method = method.name;
      group.style.setProperty("--on-light", method.light);
      group.style.setProperty("--on-dark", method.dark);
      if (this.view.band && method.low) this.#add(group, "path", { class: "band", d: this.#band(method) });
      const line = this.#add(group, "path", { class: "line", d: this.#steps(method, method.mean) });
      if (method.dash) line.setAttribute("stroke-dasharray", method.dash);
    }
    if (!this.visible.length) {
      this.#text("No method is switched on", (left + width) / 2, height / 2, "middle");
    }
    this.overlay = this.#add(this.svg, "g", {});
    this.#drawCursor();
  }

  // --- what is drawn ------------------------------------------------------------------------

  #timeDomain() {
    if (this.range) return this.range;
    const starts = this.visible.map((method) => method.t[0]);
    const first = starts.length ? Math.min(...starts) : this.task.budget / 1000;
    return this.view.logTime ? [Math.max(first, this.task.budget * 1e-6), this.task.budget] : [0, this.task.budget];
  }

  /** All that is to be seen between the ends of the time axis, with a little room. */
  #valueDomain() {
    const [from, to] = this.time.domain;
    const seen = [];
    for (const method of this.visible) {
      const first = Math.max(CurveChart.#indexAt(method.t, from), 0);
      const last = CurveChart.#indexAt(method.t, to);
      for (let i = first; i <= last; i++) seen.push(this.value(method.mean[i]));
    }
    if (!seen.length) return [0, 1];
    const low = Math.min(...seen), high = Math.max(...seen);
    if (this.view.logValue && low > 0) return [low / 1.08, high * 1.08];
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    return [low - room, high + room];
  }

  #steps(method, values) {
    let d = "";
    let y = null;
    for (let i = 0; i < method.t.length; i++) {
      const x = this.time.at(method.t[i]);
      const next = this.#y(values[i]);
      d += y === null ? `M${x},${next}` : `L${x},${y}L${x},${next}`;
      y = next;
    }
    return `${d}L${this.time.at(this.task.budget)},${y}`;
  }

  #band(method) {
    const there = [], back = [];
    const ends = [...method.t.slice(1), this.task.budget];
    for (let i = 0; i < method.t.length; i++) {
      const x = this.time.at(method.t[i]), to = this.time.at(ends[i]);
      there.push(`${x},${this.#y(method.high[i])}`, `${to},${this.#y(method.high[i])}`);
      back.push(`${x},${this.#y(method.low[i])}`, `${to},${this.#y(method.low[i])}`);
    }
    return `M${there.join("L")}L${CurveChart.#pairwiseReversed(back).join("L")}Z`;
  }

  static #pairwiseReversed(points) {
    const turned = [];
    for (let i = points.length - 2; i >= 0; i -= 2) turned.push(points[i + 1], points[i]);
    return turned;
  }

  /** A band may reach below 0, where a log axis has no place: it is cut off at the edge. */
  #y(loss) {
    const y = this.level.at(this.value(loss));
    return Number.isFinite(y) ? Math.round(Math.min(Math.max(y, -5000), 5000) * 100) / 100 : this.box.bottom + 50;
  }

  #drawAxes() {
    const { left, right, top, bottom } = this.box;
    for (const tick of this.time.ticks((right - left) / 60)) {
      const x = this.time.at(tick);
      this.#add(this.svg, "line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom });
      this.#text(CurveChart.short(tick), x, bottom + 16, "middle");
    }
    for (const tick of this.level.ticks((bottom - top) / 44)) {
      const y = this.level.at(tick);
      this.#add(this.svg, "line", { class: "grid", x1: left, x2: right, y1: y, y2: y });
      this.#text(CurveChart.short(tick), left - 7, y + 4, "end");
    }
    this.#add(this.svg, "path", { class: "axis", fill: "none", d: `M${left},${top}V${bottom}H${right}` });
    this.#text("seconds", (left + right) / 2, bottom + 34, "middle");
    const name = this.#text(this.view.asScore ? "score" : "mean best loss", 0, 0, "middle");
    name.setAttribute("transform", `translate(13 ${(top + bottom) / 2}) rotate(-90)`);
  }

  #drawCursor() {
    this.overlay.replaceChildren();
    this.tip.hidden = this.cursor === null;
    if (this.cursor === null) return;
    const x = this.time.at(this.cursor);
    this.#add(this.overlay, "line", { class: "cursor", x1: x, x2: x, y1: this.box.top, y2: this.box.bottom });
    const rows = this.at(this.cursor);
    const body = document.createElement("table");
    for (const { method, value, half } of rows) {
      const dot = this.#add(this.overlay, "circle", { class: "method dot", r: 4, cx: x, cy: this.level.at(value) });
      const row = body.insertRow();
      const swatch = document.createElement("span");
      swatch.className = "method swatch";
      for (const one of [dot, swatch]) {
        one.style.setProperty("--on-light", method.light);
        one.style.setProperty("--on-dark", method.dark);
      }
      row.insertCell().append(swatch);
      row.insertCell().textContent = method.name;
      row.insertCell().textContent = CurveChart.number(value);
      row.insertCell().textContent = half === null ? "" : `± ${CurveChart.number(half)}`;
    }
    const when = document.createElement("strong");
    when.textContent = CurveChart.seconds(this.cursor);
    this.tip.replaceChildren(when, body);
    this.#placeTip(x);
  }

  #placeTip(x) {
    const scale = this.svg.clientWidth / this.svg.viewBox.baseVal.width;
    const at = this.svg.offsetLeft + x * scale;
    const room = this.panel.clientWidth;
    const beside = at + 14 + this.tip.offsetWidth < room ? at + 14 : at - 14 - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(Math.min(beside, room - this.tip.offsetWidth - 4), 4)}px`;
    this.tip.style.top = `${this.svg.offsetTop + 16}px`;
  }

  /** The methods at a moment, the best first; one that has no mean yet is not among them. */
  at(seconds) {
    const rows = [];
    for (const method of this.visible) {
      const i = CurveChart.#indexAt(method.t, seconds);
      if (i < 0) continue;
      const value = this.value(method.mean[i]);
      const half = method.low ? Math.abs(this.value(method.high[i]) - value) : null;
      rows.push({ method, value, half });
    }
    return rows.sort((a, b) => (this.view.asScore ? b.value - a.value : a.value - b.value));
  }

  #summary() {
    const rows = this.at(this.task.budget);
    const found = rows.map((row) => `${row.method.name} ${CurveChart.number(row.value)}`).join(", ");
    const what = this.view.asScore ? "Score" : "Mean best loss";
    return `${what} against seconds on ${this.task.name}. At the end: ${found || "nothing shown"}. ` +
      "Arrow keys move the cursor, plus and minus zoom, 0 shows all.";
  }

  // --- pointer and keyboard -----------------------------------------------------------------

  #listen() {
    let from = null;
    const timeOf = (event) => {
      const shown = this.svg.getBoundingClientRect();
      const x = ((event.clientX - shown.left) / shown.width) * this.svg.viewBox.baseVal.width;
      return this.time.inverse(Math.min(Math.max(x, this.box.left), this.box.right));
    };
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = timeOf(event);
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      this.cursor = timeOf(event);
      this.#drawCursor();
      if (from === null) return;
      const [x1, x2] = [this.time.at(from), this.time.at(this.cursor)].sort((a, b) => a - b);
      const { top, bottom } = this.box;
      this.#add(this.overlay, "rect", { class: "brush", x: x1, y: top, width: x2 - x1, height: bottom - top });
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const to = timeOf(event);
      const wide = Math.abs(this.time.at(to) - this.time.at(from)) > 8;
      const range = [Math.min(from, to), Math.max(from, to)];
      from = null;
      if (wide) this.zoom(range);
    });
    this.svg.addEventListener("pointercancel", () => { from = null; });
    this.svg.addEventListener("pointerleave", () => { if (from === null) this.#hideCursor(); });
    this.svg.addEventListener("blur", () => this.#hideCursor());
    this.svg.addEventListener("dblclick", () => this.zoom(null));
    this.svg.addEventListener("keydown", (event) => this.#key(event));
  }

  #hideCursor() {
    this.cursor = null;
    this.#drawCursor();
  }

  #key(event) {
    const { left, right } = this.box;
    const middle = (left + right) / 2;
    const x = this.cursor === null ? middle : this.time.at(this.cursor);
    const step = (right - left) / (event.shiftKey ? 10 : 40);
    const width = (right - left) / 2;
    const moves = { ArrowLeft: x - step, ArrowRight: x + step, Home: left, End: right };
    if (event.key in moves) {
      this.cursor = this.time.inverse(Math.min(Math.max(moves[event.key], left), right));
      this.#drawCursor();
      const found = this.at(this.cursor).map((row) => `${row.method.name} ${CurveChart.number(row.value)}`);
      this.said.textContent = `${CurveChart.seconds(this.cursor)}: ${found.join(", ") || "no result yet"}`;
    } else if (event.key === "+" || event.key === "=") {
      this.zoom([this.time.inverse(Math.max(x - width / 2, left)), this.time.inverse(Math.min(x + width / 2, right))]);
    } else if (event.key === "-") {
      this.zoom(this.range && this.#wider());
    } else if (event.key === "0") {
      this.zoom(null);
    } else if (event.key === "Escape") {
      this.#hideCursor();
    } else {
      return;
    }
    event.preventDefault();
  }

  /** Twice the range about its middle; null when that is everything. */
  #wider() {
    const { left, right } = this.box;
    const quarter = (right - left) / 2;
    const range = [this.time.inverse(left - quarter), Math.min(this.time.inverse(right + quarter), this.task.budget)];
    this.range = null;
    const [first, last] = this.#timeDomain();
    const wider = [Math.max(range[0], first), range[1]];
    return wider[0] <= first && wider[1] >= last ? null : wider;
  }

  // --- axes and numbers ---------------------------------------------------------------------

  static #serial = 0;

  static #axis([from, to], isLog, start, end) {
    const f = isLog ? Math.log10 : (v) => v;
    const g = isLog ? (v) => 10 ** v : (v) => v;
    const a = f(from), span = f(to) - a || 1;
    return {
      domain: [from, to],
      at: (v) => Math.round((start + ((f(v) - a) / span) * (end - start)) * 100) / 100,
      inverse: (x) => g(a + ((x - start) / (end - start)) * span),
      ticks: (n) => (isLog ? CurveChart.#logTicks(from, to, n) : CurveChart.#niceTicks(from, to, n)),
    };
  }

  static #niceTicks(from, to, n) {
    const raw = (to - from) / Math.max(n, 2);
    const unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((m) => m * unit >= raw) * unit;
    const ticks = [];
    for (let i = Math.ceil(from / step); i * step <= to * (1 + 1e-12); i++) ticks.push(i * step);
    return ticks;
  }

  /** Powers of ten, with 2 and 5 between them when there is room; a short range is ticked like a linear one. */
  static #logTicks(from, to, n) {
    const decades = Math.log10(to / from);
    if (decades < 0.7) return CurveChart.#niceTicks(from, to, n);
    const factors = decades * 3 <= n ? [1, 2, 5] : [1];
    for (let every = Math.max(Math.ceil(decades / Math.max(n, 2)), 1); every > 0; every--) {
      const ticks = [];
      for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
        if (power % every) continue;
        for (const factor of factors) {
          const tick = factor * 10 ** power;
          if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
        }
      }
      if (ticks.length > 1) return ticks;
    }
    return CurveChart.#niceTicks(from, to, n);
  }

  /** The last index whose time is not after `seconds`; -1 before the first. */
  static #indexAt(times, seconds) {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= seconds) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  static short(value) {
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(0).replace("e+", "e");
    return String(Number(value.toPrecision(6)));
  }

  static number(value) {
    return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(2) : value.toPrecision(4);
  }

  static seconds(value) {
    return `${Number(value.toPrecision(3))} s`;
  }

  // --- SVG ----------------------------------------------------------------------------------

  #inside() {
    const { left, right, top, bottom } = this.box;
    return { x: left, y: top, width: right - left, height: bottom - top };
  }

  #add(parent, name, attributes) {
    const element = document.createElementNS(CurveChart.#SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  }

  #text(content, x, y, anchor) {
    const text = this.#add(this.svg, "text", { x, y, "text-anchor": anchor });
    text.textContent = content;
    return text;
  }
}
