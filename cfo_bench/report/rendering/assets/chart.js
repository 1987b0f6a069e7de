// A plot with one line for each method, as SVG, with the methods' names at the ends of the lines.
// A curve of the explorer is a step function: from t[i] on, the mean over folds is mean[i], with
// low[i]…high[i] around it. Other charts state in `task` what differs.
"use strict";

class CurveChart {
  static #SVG = "http://www.w3.org/2000/svg";
  static #MARGIN = { left: 62, top: 12, bottom: 40 };
  static #LABEL = { height: 13, letter: 6.3, gap: 16, letters: 16 };
  static #LINE = 15; // between the lines of an axis' name
  static #MOST_COLOURED = 8; // with more methods only the leaders are in colour

  /** `view` is shared by all panels: { off: Set of methods, logTime, logValue, asScore, band }.
   *  If `logValue` is null, `task.log` decides. */
  constructor(panel, task, view) {
    this.panel = panel;
    this.task = task;
    this.view = view;
    this.range = null; // seconds, when zoomed
    this.cursor = null; // seconds under the pointer or the keyboard's cursor
    this.svg = CurveChart.add(panel.querySelector(".plot"), "svg", { tabindex: 0, role: "img" });
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    panel.append(this.tip);
    this.reset = panel.querySelector(".reset");
    this.spoken = panel.querySelector("[aria-live]");
    this.reset.addEventListener("click", () => this.zoom(null));
    (panel.closest("figure") ?? panel).querySelector("button.svg").addEventListener("click", () => this.save());
    this.#listen();
    this.svg.setAttribute("aria-label", this.#summary()); // the plot is drawn later, when its size is known
    new ResizeObserver(() => this.draw()).observe(panel);
  }

  get visible() {
    return this.task.methods.filter((method) => !this.view.off.has(method.name) && method.t.length);
  }

  value(loss) {
    const { zero, one } = this.task.scale ?? {};
    return this.view.asScore ? (zero - loss) / (zero - one) : loss;
  }

  zoom(range) {
    this.range = range;
    this.reset.hidden = range === null;
    this.draw();
  }

  draw() {
    const methods = this.visible;
    const width = Math.max(this.svg.parentElement.clientWidth, 240);
    const { left, top, bottom } = CurveChart.#MARGIN;
    const { height: line, letter, gap, letters } = CurveChart.#LABEL;
    const room = Math.max(0, ...methods.map((method) => Math.min(method.name.length, letters))) * letter + gap;
    const least = top + bottom + (methods.length + 1) * line;
    const height = Math.round(Math.max(Math.min(Math.max(width * 0.55, 220), 420), least));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.svg.replaceChildren();
    const names = this.#wrapped(this.#names.y, height - top - bottom);
    this.box = {
      left: left + (names.length - 1) * CurveChart.#LINE, top,
      right: width - Math.min(room, width * 0.35), bottom: height - bottom,
    };
    this.svg.setAttribute("aria-label", this.#summary());
    this.time = CurveChart.axis(this.#timeDomain(), this.view.logTime, this.box.left, this.box.right);
    const domain = this.#valueDomain();
    const [low, high] = this.task.bestOnTop ? [this.box.top, this.box.bottom] : [this.box.bottom, this.box.top];
    this.level = CurveChart.axis(domain, this.#isLog && domain[0] > 0, low, high);
    this.#drawAxes(names);
    const clip = `clip-${CurveChart.#serial++}`;
    const shape = CurveChart.add(CurveChart.add(this.svg, "clipPath", { id: clip }), "rect", this.#inside());
    shape.removeAttribute("class");
    const drawn = CurveChart.add(this.svg, "g", { "clip-path": `url(#${clip})` });
    const many = methods.length > CurveChart.#MOST_COLOURED;
    // Leaders are drawn last, over the others.
    for (const method of [...methods].sort((a, b) => a.leads - b.leads)) {
      const group = CurveChart.add(drawn, "g", { class: `method curve${many && !method.leads ? " muted" : ""}` });
      group.dataset.method = method.name;
      CurveChart.colour(group, method);
      if (this.view.band && method.low && method.leads) CurveChart.add(group, "path", { class: "band", d: this.#band(method) });
      const line = CurveChart.add(group, "path", { class: "line", d: this.#steps(method, method.mean) });
      if (method.dash) line.setAttribute("stroke-dasharray", method.dash);
    }
    this.#drawLabels(methods, many);
    if (!methods.length) {
      this.#text("No method is switched on", (left + width) / 2, height / 2, "middle");
    }
    this.overlay = CurveChart.add(this.svg, "g", {});
    this.#drawCursor();
  }

  /** Names at the ends of the lines, moved apart if they would overlap. */
  #drawLabels(methods, many) {
    const { right, top, bottom } = this.box;
    const { height, letters } = CurveChart.#LABEL;
    const ends = methods.map((method) => {
      const i = Math.max(CurveChart.#indexAt(method.t, this.time.domain[1]), 0);
      return { method, y: Math.min(Math.max(this.#y(method.mean[i]), top), bottom) };
    }).sort((a, b) => a.y - b.y);
    const places = CurveChart.#spread(ends.map((end) => end.y), height, top, bottom);
    ends.forEach(({ method, y }, at) => {
      const muted = many && !method.leads;
      const group = CurveChart.add(this.svg, "g", { class: `method label${muted ? " muted" : ""}` });
      CurveChart.colour(group, method);
      CurveChart.add(group, "path", { class: "lead", d: `M${right},${y}L${right + 9},${places[at]}` });
      const name = this.#text(CurveChart.cut(method.name, letters), right + 12, places[at] + 4, "start");
      group.append(name);
      const curve = [...this.svg.querySelectorAll(".curve")].find((group) => group.dataset.method === method.name);
      group.addEventListener("pointerenter", () => { curve.classList.add("raised"); group.classList.add("raised"); });
      group.addEventListener("pointerleave", () => { curve.classList.remove("raised"); group.classList.remove("raised"); });
    });
  }

  static colour(element, method) {
    element.style.setProperty("--on-light", method.light);
    element.style.setProperty("--on-dark", method.dark);
  }

  /** Ascending places, moved so that neighbours are `step` apart, within low…high if there is room. */
  static #spread(places, step, low, high) {
    const groups = []; // of adjacent places: the middle of the group, and its size
    for (const place of places) {
      groups.push([place, 1]);
      for (;;) {
        const last = groups.at(-1), half = ((last[1] - 1) / 2) * step;
        last[0] = Math.min(Math.max(last[0], low + half), Math.max(high - half, low + half));
        const before = groups.at(-2);
        if (!before || last[0] - half - (before[0] + ((before[1] - 1) / 2) * step) >= step) break;
        const number = before[1] + last[1];
        groups.splice(-2, 2, [(before[0] * before[1] + last[0] * last[1]) / number, number]);
      }
    }
    return groups.flatMap(([middle, number]) =>
      Array.from({ length: number }, (_, at) => middle + (at - (number - 1) / 2) * step));
  }

  static cut(text, maxLetters) {
    return text.length <= maxLetters ? text : `${text.slice(0, maxLetters - 1)}…`;
  }

  save() {
    this.#hideCursor();
    CurveChart.download(this.svg, this.task.name);
  }

  /** Download a visible plot as a file that needs no style sheet. */
  static download(svg, name) {
    const copy = svg.cloneNode(true);
    const given = [svg, ...svg.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((element, at) => {
      const style = getComputedStyle(given[at]);
      for (const name of ["fill", "stroke", "stroke-width", "opacity", "font"]) element.style[name] = style.getPropertyValue(name);
    });
    copy.setAttribute("xmlns", CurveChart.#SVG);
    const { width, height } = svg.viewBox.baseVal;
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    copy.style.background = getComputedStyle(document.body).backgroundColor;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([copy.outerHTML], { type: "image/svg+xml" }));
    link.download = `${name.replace(/[^\w.-]+/g, "-")}.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // --- drawing ------------------------------------------------------------------------------

  #timeDomain() {
    if (this.range) return this.range;
    const starts = this.visible.map((method) => method.t[0]);
    const first = starts.length ? Math.min(...starts) : this.task.budget / 1000;
    return this.view.logTime ? [Math.max(first, this.task.budget * 1e-6), this.task.budget] : [0, this.task.budget];
  }

  /** The range of all visible values between the ends of the time axis, with a margin. */
  #valueDomain() {
    const [from, to] = this.time.domain;
    const values = [];
    for (const method of this.visible) {
      const first = Math.max(CurveChart.#indexAt(method.t, from), 0);
      const last = CurveChart.#indexAt(method.t, to);
      const lines = [method.mean, ...(this.task.fitsBand && method.leads && method.low ? [method.low, method.high] : [])];
      for (const line of lines) for (let i = first; i <= last; i++) values.push(this.value(line[i]));
    }
    if (!values.length) return [0, 1];
    const low = Math.min(...values), high = Math.max(...values);
    if (this.#isLog && low > 0) return [low / 1.08, high * 1.08];
    const room = (high - low || Math.abs(high) || 1) * 0.06;
    return [low - room, high + room];
  }

  /** The axis of scores is linear unless the reader chooses a log axis. */
  get #isLog() {
    return this.view.logValue ?? (!this.view.asScore && this.task.log);
  }

  get #isStepped() {
    return this.task.steps ?? true;
  }

  #steps(method, values) {
    let d = "";
    let y = null;
    for (let i = 0; i < method.t.length; i++) {
      const x = this.time.at(method.t[i]);
      const next = this.#y(values[i]);
      d += y === null ? `M${x},${next}` : this.#isStepped ? `L${x},${y}L${x},${next}` : `L${x},${next}`;
      y = next;
    }
    return this.#isStepped ? `${d}L${this.time.at(this.task.budget)},${y}` : d;
  }

  #band(method) {
    const upper = [], lower = [];
    const ends = [...method.t.slice(1), this.task.budget];
    for (let i = 0; i < method.t.length; i++) {
      const x = this.time.at(method.t[i]), to = this.time.at(ends[i]);
      upper.push(`${x},${this.#y(method.high[i])}`, `${to},${this.#y(method.high[i])}`);
      lower.push(`${x},${this.#y(method.low[i])}`, `${to},${this.#y(method.low[i])}`);
    }
    return `M${upper.join("L")}L${CurveChart.#pairwiseReversed(lower).join("L")}Z`;
  }

  static #pairwiseReversed(points) {
    const turned = [];
    for (let i = points.length - 2; i >= 0; i -= 2) turned.push(points[i + 1], points[i]);
    return turned;
  }

  /** A band may reach below 0, which a log axis does not have: it is cut off at the edge. */
  #y(loss) {
    const y = this.level.at(this.value(loss));
    return Number.isFinite(y) ? Math.round(Math.min(Math.max(y, -5000), 5000) * 100) / 100 : this.box.bottom + 50;
  }

  #drawAxes(names) {
    const { left, right, top, bottom } = this.box;
    for (const tick of this.time.ticks((right - left) / 60)) {
      const x = this.time.at(tick);
      CurveChart.add(this.svg, "line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom });
      this.#text(CurveChart.short(tick), x, bottom + 16, "middle").classList.add("tick-x");
    }
    for (const tick of this.level.ticks((bottom - top) / 44)) {
      const y = this.level.at(tick);
      CurveChart.add(this.svg, "line", { class: "grid", x1: left, x2: right, y1: y, y2: y });
      this.#text(CurveChart.short(tick), left - 7, y + 4, "end").classList.add("tick-y");
    }
    CurveChart.add(this.svg, "path", { class: "axis", fill: "none", d: `M${left},${top}V${bottom}H${right}` });
    this.#text(this.#names.x, (left + right) / 2, bottom + 34, "middle");
    names.forEach((line, at) => {
      const name = this.#text(line, 0, 0, "middle");
      name.classList.add("name-y");
      name.setAttribute("transform", `translate(${13 + at * CurveChart.#LINE} ${(top + bottom) / 2}) rotate(-90)`);
    });
  }

  /** The lines of a text, none longer than `maxLength` unless a word is; broken before a bracket first. */
  #wrapped(text, maxLength) {
    const sample = this.#text(text, 0, 0, "start");
    const fits = (line) => { sample.textContent = line; return sample.getComputedTextLength() <= maxLength; };
    const lines = fits(text) ? [text] : text.split(/ (?=\()/).flatMap((part) => part.split(" ").reduce((lines, word) => {
      const longer = `${lines.at(-1)} ${word}`;
      return lines.length && fits(longer) ? [...lines.slice(0, -1), longer] : [...lines, word];
    }, []));
    sample.remove();
    return lines;
  }

  get #names() {
    return { x: this.task.x ?? "seconds", y: this.task.y ?? (this.view.asScore ? "scaled score" : this.task.loss) };
  }

  #drawCursor() {
    this.overlay.replaceChildren();
    this.tip.hidden = this.cursor === null;
    if (this.cursor === null) return;
    const x = this.time.at(this.cursor);
    CurveChart.add(this.overlay, "line", { class: "cursor", x1: x, x2: x, y1: this.box.top, y2: this.box.bottom });
    const rows = this.at(this.cursor);
    const body = document.createElement("table");
    for (const { method, value, half } of rows) {
      const dot = CurveChart.add(this.overlay, "circle", { class: "method dot", r: 4, cx: x, cy: this.level.at(value) });
      const row = body.insertRow();
      const cell = row.insertCell();
      const swatch = CurveChart.add(cell, "svg", { class: "method swatch", viewBox: "0 0 24 8" });
      const piece = CurveChart.add(swatch, "path", { d: "M0 4H24" });
      if (method.dash) piece.setAttribute("stroke-dasharray", method.dash);
      for (const element of [dot, swatch]) CurveChart.colour(element, method);
      row.insertCell().textContent = method.name;
      row.insertCell().textContent = CurveChart.number(value);
      row.insertCell().textContent = half === null ? "" : `± ${CurveChart.number(half)}`;
    }
    const when = document.createElement("strong");
    when.textContent = this.#when(this.cursor);
    this.tip.replaceChildren(when, body);
    this.#placeTip(x);
  }

  /** Next to the cursor, or below the plot if neither side has room; always inside the window. */
  #placeTip(x) {
    const panel = this.panel.getBoundingClientRect(), plot = this.svg.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const at = plot.left + (x * plot.width) / this.svg.viewBox.baseVal.width;
    const right = at + 14, left = at - 14 - width, end = Math.min(panel.right, innerWidth - 4);
    const fits = right + width <= end || left >= panel.left;
    const beside = right + width <= end ? right : Math.min(Math.max(left, panel.left), end - width);
    const under = document.querySelector(".top").getBoundingClientRect().bottom + 4;
    const top = Math.max(Math.min(fits ? plot.top + 16 : plot.bottom + 4, innerHeight - height - 4), under);
    this.tip.style.left = `${beside - panel.left - this.panel.clientLeft}px`;
    this.tip.style.top = `${top - panel.top - this.panel.clientTop}px`;
  }

  /** The methods that have a mean at a moment, the best first. */
  at(seconds) {
    const rows = [];
    for (const method of this.visible) {
      const i = CurveChart.#indexAt(method.t, seconds);
      if (i < 0) continue;
      const value = this.value(method.mean[i]);
      const half = method.low ? Math.abs(this.value(method.high[i]) - value) : null;
      rows.push({ method, value, half });
    }
    const highIsBest = this.view.asScore || this.task.lowIsBest === false;
    return rows.sort((a, b) => (highIsBest ? b.value - a.value : a.value - b.value));
  }

  #when(time) {
    const value = Number(time.toPrecision(3));
    return this.task.x ? `${this.task.x} ${value}` : `${value} s`;
  }

  #summary() {
    const rows = this.at(this.task.budget);
    const values = rows.map((row) => `${row.method.name} ${CurveChart.number(row.value)}`).join(", ");
    const { x, y } = this.#names;
    return `${this.task.name}: ${y} against ${x}. At the end: ${values || "no values"}. ` +
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
    const read = (event) => {
      this.cursor = timeOf(event);
      this.#drawCursor();
    };
    // A finger only reads values, which stay until it touches something else.
    const isFinger = (event) => event.pointerType === "touch";
    const leave = (event) => { if (!this.svg.contains(event.target)) this.#hideCursor(); };
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      read(event);
      if (isFinger(event)) {
        document.addEventListener("pointerdown", leave, { capture: true, once: true });
        return;
      }
      from = this.cursor;
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      read(event);
      if (from === null) return;
      const [x1, x2] = [this.time.at(from), this.time.at(this.cursor)].sort((a, b) => a - b);
      const { top, bottom } = this.box;
      CurveChart.add(this.overlay, "rect", { class: "brush", x: x1, y: top, width: x2 - x1, height: bottom - top });
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const to = timeOf(event);
      const wide = Math.abs(this.time.at(to) - this.time.at(from)) > 8;
      const range = [Math.min(from, to), Math.max(from, to)];
      from = null;
      if (wide) this.zoom(range);
    });
    // Also when the finger starts to scroll the page.
    this.svg.addEventListener("pointercancel", () => { from = null; this.#hideCursor(); });
    this.svg.addEventListener("pointerleave", (event) => { if (from === null && !isFinger(event)) this.#hideCursor(); });
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
      const values = this.at(this.cursor).map((row) => `${row.method.name} ${CurveChart.number(row.value)}`);
      this.spoken.textContent = `${this.#when(this.cursor)}: ${values.join(", ") || "no result yet"}`;
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

  /** Twice the range around its middle; null if that is the whole axis. */
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

  static axis([from, to], isLog, start, end) {
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

  /** At least two round values. */
  static #niceTicks(from, to, n) {
    for (let parts = Math.max(n, 2); ; parts *= 1.5) {
      const raw = (to - from) / parts;
      const unit = 10 ** Math.floor(Math.log10(raw));
      const step = [1, 2, 5, 10].find((m) => m * unit >= raw * (1 - 1e-9)) * unit;
      const ticks = [];
      for (let i = Math.ceil(from / step); i * step <= to * (1 + 1e-12); i++) ticks.push(i * step);
      if (ticks.length > 1 || parts > 50) return ticks;
    }
  }

  /** Powers of ten, with 2 and 5 or with 3 between them if there is room; a short range has linear ticks. */
  static #logTicks(from, to, n) {
    const decades = Math.log10(to / from);
    if (decades < 0.7) return CurveChart.#niceTicks(from, to, n);
    const every = Math.max(Math.ceil(decades / Math.max(n, 2)), 1);
    for (const [factors, step] of [[[1, 2, 5], 1], [[1, 3], 1], ...Array.from({ length: every }, (_, at) => [[1], every - at])]) {
      const ticks = [];
      for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
        if (power % step) continue;
        for (const factor of factors) {
          const tick = factor * 10 ** power;
          if (tick >= from * 0.999 && tick <= to * 1.001) ticks.push(tick);
        }
      }
      if (ticks.length > 1 && (factors.length === 1 || ticks.length <= n + 1)) return ticks;
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
    if (size !== 0 && (size < 1e-4 || size >= 1e6)) return value.toExponential(0).replace("e+", "e");
    return String(Number(value.toPrecision(6)));
  }

  static number(value) {
    return Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(2) : value.toPrecision(4);
  }

  // --- SVG ----------------------------------------------------------------------------------

  #inside() {
    const { left, right, top, bottom } = this.box;
    return { x: left, y: top, width: right - left, height: bottom - top };
  }

  static add(parent, name, attributes) {
    const element = document.createElementNS(CurveChart.#SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    parent.append(element);
    return element;
  }

  #text(content, x, y, anchor) {
    const text = CurveChart.add(this.svg, "text", { x, y, "text-anchor": anchor });
    text.textContent = content;
    return text;
  }
}
