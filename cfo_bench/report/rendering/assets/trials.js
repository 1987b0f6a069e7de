// The trials of one task, of one run of each method, in three views: loss against cost with the path of the incumbents,
// parallel coordinates, and slices (the loss against each hyperparameter).
"use strict";

class TrialPlot {
  static #MARGIN = { left: 62, right: 16, top: 14, bottom: 42 };
  static #REACH = 14; // pixels between the pointer and a trial that it points at
  static #NOTES = {
    cost: "Each dot is a trial; lines join the incumbents of a method in their order. A frugal method starts on the left.",
    coordinates: "A line is a trial; strong lines are the best tenth of those shown. Drag along an axis to show only " +
      "the trials that pass there; click it to show all.",
    slices: "The loss of each trial against each hyperparameter.",
  };

  constructor(panel, task, off, view) {
    this.panel = panel;
    this.task = task;
    this.off = off; // names of methods that are switched off
    this.view = view;
    this.ranges = new Map(); // of parallel coordinates: from the index of an axis to the pixels that are kept
    const plot = panel.querySelector(".plot");
    plot.replaceChildren();
    this.svg = CurveChart.add(plot, "svg", { tabindex: 0, role: "img" });
    this.tip = document.createElement("div");
    this.tip.className = "tip";
    this.tip.hidden = true;
    this.panel.querySelector(".tip")?.remove();
    panel.append(this.tip);
    panel.querySelector("h3").textContent = task.name;
    this.axes = [
      ...task.params.map((param, at) => ({ ...param, of: (trial) => trial.row[4 + at] })),
      { name: "loss", of: (trial) => trial.loss, isLoss: true },
    ];
    this.#listen();
    this.resizing = new ResizeObserver(() => this.draw());
    this.resizing.observe(panel);
  }

  remove() {
    this.resizing.disconnect();
  }

  turn(method, isOn) {
    if (isOn) this.off.delete(method);
    else this.off.add(method);
    this.draw();
  }

  show(view) {
    this.view = view;
    this.ranges.clear();
    this.draw();
  }

  draw() {
    const shown = this.task.methods.filter((method) => !this.off.has(method.name));
    this.trials = shown.flatMap((method) => method.trials.map((row) =>
      ({ method, row, number: row[0], loss: Math.min(row[1], this.task.highest), cost: row[2], isIncumbent: row[3] === 1 })));
    this.selected = null;
    const inView = this.view === "coordinates" ? Math.max(this.axes.length * 62, 1) : 240;
    this.width = Math.max(this.svg.parentElement.clientWidth, inView);
    this.svg.replaceChildren();
    this.svg.style.width = `${this.width}px`;
    this.height = { cost: 420, coordinates: 420, slices: this.#gridRows() * 190 }[this.view];
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    const losses = this.trials.map((trial) => trial.loss);
    const low = Math.min(...losses), high = Math.max(...losses);
    const isLog = this.task.log && low > 0;
    const room = (high - low || Math.abs(high) || 1) * 0.05;
    this.lossDomain = isLog ? [low / 1.08, high * 1.08] : [low - room, high + room];
    this.isLog = isLog;
    this.marks = []; // { x, y, trial } of the dots
    if (this.trials.length) this[`draw_${this.view}`](shown);
    else this.#text("No trial to show: switch a method on", this.width / 2, this.height / 2, "middle");
    this.overlay = CurveChart.add(this.svg, "g", {});
    this.#select(null);
    const counts = shown.map((method) => `${method.name} ${method.trials.length} of ${method.all}`);
    this.panel.querySelector(".sub").textContent = `${this.task.run}; trials shown: ${counts.join(", ")}`;
    this.panel.querySelector(".note").textContent = TrialPlot.#NOTES[this.view] +
      (this.view !== "cost" && this.task.params.some((param) => param.isCostRelated) ? " * A hyperparameter that the cost depends on." : "") +
      (this.trials.some((trial) => trial.row[1] > trial.loss) ? " A loss above that of the constant predictor is drawn at its height." : "");
    this.svg.setAttribute("aria-label", `${this.task.name}, ${this.view}: ${this.trials.length} trials. ` +
      `Arrow keys go through them, the best first.`);
  }

  // --- the views ----------------------------------------------------------------------------

  draw_cost(methods) {
    const { left, right, top, bottom } = TrialPlot.#MARGIN;
    const costs = this.trials.map((trial) => trial.cost).filter((cost) => cost > 0);
    const least = costs.length ? Math.min(...costs) : 1, most = costs.length ? Math.max(...costs) : 10;
    const box = { left, right: this.width - right, top, bottom: this.height - bottom };
    const across = CurveChart.axis([least / 1.15, most * 1.15], true, box.left, box.right);
    const up = CurveChart.axis(this.lossDomain, this.isLog, box.bottom, box.top);
    this.#frame(box, across, up, this.task.cost, this.task.loss);
    const place = (trial) => [across.at(Math.max(trial.cost, least)), up.at(trial.loss)];
    for (const method of methods) {
      const trials = this.trials.filter((trial) => trial.method === method);
      const group = this.#group(method);
      this.#dots(group, trials.map(place), "dots");
      const path = trials.filter((trial) => trial.isIncumbent).map(place);
      if (!path.length) continue;
      const line = CurveChart.add(group, "path", { class: "line", d: `M${path.map((point) => point.join()).join("L")}` });
      if (method.dash) line.setAttribute("stroke-dasharray", method.dash);
      this.#dots(group, path, "dots incumbent");
    }
    this.marks = this.trials.map((trial) => ({ trial, x: place(trial)[0], y: place(trial)[1] }));
  }

  draw_coordinates(methods) {
    const top = 110, bottom = this.height - 30, left = 40, right = this.width - 40;
    const step = (right - left) / Math.max(this.axes.length - 1, 1);
    this.axes.forEach((axis, at) => {
      axis.x = left + at * step;
      axis.at = this.#scale(axis, bottom, top);
      CurveChart.add(this.svg, "line", { class: "axis", x1: axis.x, x2: axis.x, y1: top, y2: bottom });
    });
    this.span = { top, bottom };
    this.places = new Map(this.trials.map((trial) => [trial, this.axes.map((axis) => {
      const value = axis.of(trial);
      return value === null ? null : axis.at(value);
    })]));
    const kept = this.trials.filter((trial) => [...this.ranges].every(([at, [from, to]]) => {
      const y = this.places.get(trial)[at];
      return y !== null && y >= from && y <= to;
    }));
    const order = kept.map((trial) => trial.loss).sort((a, b) => a - b);
    const limit = order[Math.floor(order.length / 10)] ?? -Infinity;
    for (const strong of [false, true]) {
      for (const method of methods) {
        const d = kept.filter((trial) => trial.method === method && trial.loss <= limit === strong)
          .map((trial) => this.#polyline(trial)).join("");
        CurveChart.add(this.#group(method), "path", { class: strong ? "line strong" : "line faint", d });
      }
    }
    for (const axis of this.axes) { // over the lines
      const name = this.#text(TrialPlot.#title(axis), 0, 0, "start");
      name.setAttribute("transform", `translate(${axis.x - 4} ${top - 24}) rotate(-30)`);
      if (axis.isCostRelated) name.classList.add("cost-related");
      if (axis.choices) this.#choices(axis, (y) => [axis.x, y - 4], 14);
      else {
        const [low, high] = axis.isLoss ? this.lossDomain : [axis.low, axis.high];
        this.#text(TrialPlot.#rounded(low), axis.x, bottom + 16, "middle");
        this.#text(TrialPlot.#rounded(high), axis.x, top - 6, "middle");
      }
    }
    for (const [at, [from, to]] of this.ranges) {
      CurveChart.add(this.svg, "rect", { class: "brush", x: this.axes[at].x - 8, y: from, width: 16, height: to - from });
    }
    this.trials = kept;
  }

  draw_slices(methods) {
    const columns = this.#gridColumns(), wide = this.width / columns, high = 190;
    this.task.params.forEach((param, at) => {
      const x = (at % columns) * wide, y = Math.floor(at / columns) * high;
      const box = { left: x + 56, right: x + wide - 14, top: y + 10, bottom: y + high - 42 };
      const axis = this.axes[at];
      const across = this.#scale(axis, box.left + 4, box.right - 4);
      const up = CurveChart.axis(this.lossDomain, this.isLog, box.bottom, box.top);
      const ticks = param.choices ? [] : CurveChart.axis([param.low, param.high], param.log, box.left + 4, box.right - 4).ticks(4);
      this.#frame(box, { at: across, ticks: () => ticks }, up, TrialPlot.#title(axis), at % columns ? "" : "loss");
      if (param.choices) this.#choices({ ...axis, at: across }, (x) => [x, box.bottom + 15], 48);
      for (const method of methods) {
        const marks = this.trials.filter((trial) => trial.method === method && axis.of(trial) !== null)
          .map((trial) => ({ trial, x: across(axis.of(trial)), y: up.at(trial.loss) }));
        this.#dots(this.#group(method), marks.map((mark) => [mark.x, mark.y]), "dots");
        this.marks.push(...marks);
      }
    });
  }

  #gridColumns() {
    return Math.max(Math.floor(this.width / 250), 1);
  }

  #gridRows() {
    return Math.ceil(this.task.params.length / this.#gridColumns()) || 1;
  }

  // --- pieces -------------------------------------------------------------------------------

  /** From a value of the axis to its place; choices are spread evenly. */
  #scale(axis, start, end) {
    if (axis.choices) {
      const step = (end - start) / Math.max(axis.choices.length, 1);
      return (value) => start + (axis.choices.indexOf(value) + 0.5) * step;
    }
    const { at } = axis.isLoss ? CurveChart.axis(this.lossDomain, this.isLog, start, end) :
      CurveChart.axis([axis.low, axis.high], axis.log, start, end);
    return at;
  }

  static #title(axis) {
    return TrialPlot.#cut(axis.name, 22) + (axis.isCostRelated ? " *" : "");
  }

  /** Write choices at their places, as many as there is room for, `room` pixels for each. */
  #choices(axis, placeOf, room) {
    let last = -Infinity;
    for (const choice of [...axis.choices].sort((a, b) => axis.at(a) - axis.at(b))) {
      if (axis.at(choice) - last < room) continue;
      last = axis.at(choice);
      this.#text(typeof choice === "number" ? TrialPlot.#rounded(choice) : TrialPlot.#cut(choice, 8), ...placeOf(last), "middle");
    }
  }

  static #rounded(value) {
    return CurveChart.short(Number.isInteger(value) ? value : Number(value.toPrecision(3)));
  }

  static #cut(text, maxLetters) {
    return CurveChart.cut(String(text), maxLetters);
  }

  #polyline(trial) {
    let d = "", isDown = false;
    this.places.get(trial).forEach((y, at) => {
      if (y !== null) d += `${isDown ? "L" : "M"}${Math.round(this.axes[at].x)},${Math.round(y)}`;
      isDown = y !== null; // a hyperparameter that is not active leaves a gap
    });
    return d;
  }

  #group(method) {
    const group = CurveChart.add(this.svg, "g", { class: "method trials-of" });
    group.dataset.method = method.name;
    CurveChart.colour(group, method);
    return group;
  }

  #dots(group, points, className) {
    const d = points.map(([x, y]) => `M${x},${y}h0`).join("");
    CurveChart.add(group, "path", { class: className, d, "stroke-linecap": "round" });
  }

  #frame({ left, right, top, bottom }, across, up, x, y) {
    for (const tick of across.ticks((right - left) / 60)) {
      const at = across.at(tick);
      CurveChart.add(this.svg, "line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom });
      this.#text(CurveChart.short(tick), at, bottom + 15, "middle");
    }
    for (const tick of up.ticks((bottom - top) / 44)) {
      const at = up.at(tick);
      CurveChart.add(this.svg, "line", { class: "grid", x1: left, x2: right, y1: at, y2: at });
      this.#text(CurveChart.short(tick), left - 6, at + 4, "end");
    }
    CurveChart.add(this.svg, "path", { class: "axis", fill: "none", d: `M${left},${top}V${bottom}H${right}` });
    const name = this.#text(x, (left + right) / 2, bottom + 32, "middle");
    if (x.endsWith("*")) name.classList.add("cost-related");
    if (y) this.#text(y, 0, 0, "middle").setAttribute("transform", `translate(${left - 42} ${(top + bottom) / 2}) rotate(-90)`);
  }

  #text(content, x, y, anchor) {
    const text = CurveChart.add(this.svg, "text", { x, y, "text-anchor": anchor });
    text.textContent = content;
    return text;
  }

  // --- pointer and keyboard -----------------------------------------------------------------

  #listen() {
    const place = (event) => {
      const shown = this.svg.getBoundingClientRect();
      return [event.clientX - shown.left, event.clientY - shown.top];
    };
    let drag = null; // { axis, from }
    this.svg.addEventListener("pointerdown", (event) => {
      const [x, y] = place(event);
      const axis = this.view === "coordinates" ? this.axes.findIndex((axis) => Math.abs(axis.x - x) < 12) : -1;
      if (axis >= 0 && event.pointerType !== "touch") {
        drag = { axis, from: y };
        this.svg.setPointerCapture(event.pointerId);
      } else this.#select(this.#nearest(x, y), x, y);
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (!drag) this.#select(this.#nearest(...place(event)), ...place(event));
    });
    this.svg.addEventListener("pointerup", (event) => {
      if (!drag) return;
      const { axis, from } = drag, [, to] = place(event);
      drag = null;
      if (Math.abs(to - from) > 4) this.ranges.set(axis, [Math.min(from, to), Math.max(from, to)]);
      else this.ranges.delete(axis);
      this.draw();
    });
    this.svg.addEventListener("pointercancel", () => { drag = null; });
    this.svg.addEventListener("pointerleave", () => this.#select(null));
    this.svg.addEventListener("blur", () => this.#select(null));
    this.svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || !this.trials.length) return;
      event.preventDefault();
      const order = [...this.trials].sort((a, b) => a.loss - b.loss);
      const at = order.indexOf(this.selected);
      const trial = order[Math.min(Math.max(at + step, 0), order.length - 1)];
      const mark = this.marks.find((mark) => mark.trial === trial);
      this.#select(trial, mark?.x ?? this.axes[0].x ?? 0, mark?.y ?? this.places?.get(trial)[0] ?? 0);
      this.panel.querySelector("[aria-live]").textContent = this.#facts(trial).map((pair) => pair.join(" ")).join(", ");
    });
  }

  /** The trial at this place; null if none is near. */
  #nearest(x, y) {
    let best = null, least = TrialPlot.#REACH;
    const consider = (trial, distance) => { if (distance < least) [best, least] = [trial, distance]; };
    for (const mark of this.marks) consider(mark.trial, Math.hypot(mark.x - x, mark.y - y));
    if (this.view !== "coordinates" || !this.span || y < this.span.top || y > this.span.bottom) return best;
    const at = Math.max(this.axes.findLastIndex((axis) => axis.x <= x), 0);
    const right = Math.min(at + 1, this.axes.length - 1);
    const share = (x - this.axes[at].x) / (this.axes[right].x - this.axes[at].x || 1);
    for (const trial of this.trials) {
      const places = this.places.get(trial);
      if (places[at] === null || places[right] === null) continue;
      consider(trial, Math.abs(places[at] + share * (places[right] - places[at]) - y));
    }
    return best;
  }

  #facts(trial) {
    const values = this.task.params.map((param, at) => [param.name, trial.row[4 + at]]).filter(([, value]) => value !== null);
    return [["loss", CurveChart.number(trial.row[1])], ["cost", `${CurveChart.number(trial.cost)} s`],
      ...values.map(([name, value]) => [name, typeof value === "number" ? CurveChart.short(value) : String(value)])];
  }

  #select(trial, x = 0, y = 0) {
    this.selected = trial;
    this.overlay.replaceChildren();
    this.tip.hidden = trial === null;
    if (trial === null) return;
    const group = CurveChart.add(this.overlay, "g", { class: "method" });
    CurveChart.colour(group, trial.method);
    if (this.view === "coordinates") {
      CurveChart.add(group, "path", { class: "line selected", d: this.#polyline(trial) });
    }
    for (const mark of this.marks) {
      if (mark.trial === trial) CurveChart.add(group, "circle", { class: "dot", r: 5, cx: mark.x, cy: mark.y });
    }
    const title = document.createElement("strong");
    title.textContent = `${trial.method.name}, trial ${trial.number}${trial.isIncumbent ? ", incumbent" : ""}`;
    const table = document.createElement("table");
    for (const pair of this.#facts(trial)) {
      const row = table.insertRow();
      for (const text of pair) row.insertCell().textContent = text;
    }
    this.tip.replaceChildren(title, table);
    const panel = this.panel.getBoundingClientRect(), plot = this.svg.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = this.tip;
    const at = plot.left + x;
    const left = at + 16 + width < innerWidth - 4 ? at + 16 : Math.max(at - 16 - width, 4);
    const under = document.querySelector(".top").getBoundingClientRect().bottom + 4;
    const top = Math.max(Math.min(plot.top + y - height / 2, innerHeight - height - 4), under);
    this.tip.style.left = `${left - panel.left}px`;
    this.tip.style.top = `${top - panel.top}px`;
  }

  save() {
    this.#select(null);
    CurveChart.download(this.svg, `${this.task.name}-${this.view}`);
  }
}
