// Without this script the page has all tables, figures and links. With it, tables sort and filter, curves are
// drawn, and the theme and the learner can be switched.
"use strict";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// --- theme ------------------------------------------------------------------------------------

(() => {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => { button.textContent = isDark() ? "Light" : "Dark"; }; // the theme that a click chooses
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("cfo-bench-theme", root.dataset.theme); } catch { /* it holds for this visit only */ }
    show();
  });
  system.addEventListener("change", show);
  show();
})();

// --- tables: a click on a column's name sorts by it, a word in the box filters ------------------

for (const table of all("table.data")) {
  const body = table.tBodies[0];
  const given = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v === undefined ? cell.textContent : cell.dataset.v === "" ? null : Number(cell.dataset.v);
  };
  // In both directions numbers come first, then words such as "no result", then missing values.
  const kind = (value) => (typeof value === "number" ? 0 : value === null ? 2 : 1);
  const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const before = head.getAttribute("aria-sort");
      const order = before === "none" ? "ascending" : before === "ascending" ? "descending" : "none";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", order);
      const sign = order === "descending" ? -1 : 1;
      const rows = order === "none" ? given : [...given].sort((first, second) => {
        const a = key(first, column), b = key(second, column);
        return kind(a) - kind(b) || sign * compare(a, b);
      });
      body.append(...rows);
    });
  });
}

for (const box of all("input.filter")) {
  const table = document.getElementById(box.getAttribute("aria-controls"));
  const count = document.getElementById(`${box.id}-count`);
  const plain = (text) => text.toLowerCase().replaceAll("−", "-"); // people type a hyphen for a minus
  box.addEventListener("input", () => {
    const words = plain(box.value).split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const text = plain(row.textContent);
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = words.length ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
  });
}

// --- a task's numbers: a script beside the page, which is loaded when the task is shown ----------

const cfoNumbers = (() => {
  const waiting = new Map();
  const deliver = (file, task) => waiting.get(file).resolve(task);
  deliver.load = (file) => {
    if (!waiting.has(file)) {
      const request = Promise.withResolvers();
      waiting.set(file, request);
      const script = document.createElement("script");
      script.src = file;
      script.addEventListener("error", () => request.reject(new Error(`${file} is missing`)));
      document.head.append(script);
    }
    return waiting.get(file).promise;
  };
  return deliver;
})();

// --- curves ---------------------------------------------------------------------------------------

for (const explorer of all(".explorer")) {
  const view = { off: new Set(), logTime: true, logValue: null, asScore: false, band: false };
  view.band = explorer.querySelector("[data-view=band]").checked;
  const panels = explorer.querySelector(".panels");
  const template = explorer.querySelector("template");
  const tasks = all("input[data-curves]", explorer);
  const shown = new Map(); // a task's box → its panel, and its chart once its numbers are loaded
  const redraw = () => { for (const { chart } of shown.values()) chart?.draw(); };
  const count = explorer.querySelector(".controls .count");

  const show = async (box) => {
    const panel = template.content.firstElementChild.cloneNode(true);
    panel.dataset.task = box.value;
    panel.querySelector("h3").textContent = box.value;
    panel.querySelector(".sub").textContent = box.dataset.about;
    const csv = panel.querySelector("a.csv");
    if (box.dataset.csv) csv.href = box.dataset.csv; else csv.remove();
    const after = tasks.slice(tasks.indexOf(box) + 1).find((other) => shown.has(other));
    panels.insertBefore(panel, after ? shown.get(after).panel : null);
    const entry = { panel, chart: null };
    shown.set(box, entry);
    try {
      const task = await cfoNumbers.load(box.dataset.curves);
      if (shown.get(box) === entry) entry.chart = new CurveChart(panel, task, view);
    } catch (error) {
      panel.querySelector(".plot").textContent = `${error.message}: copy the report's folder as a whole.`;
    }
  };
  const follow = () => {
    for (const box of tasks) {
      if (box.checked && !shown.has(box)) show(box);
      if (!box.checked && shown.has(box)) {
        shown.get(box).panel.remove();
        shown.delete(box);
      }
    }
    count.textContent = `${shown.size} of ${tasks.length} tasks shown`;
  };

  for (const box of all("input[data-method]", explorer)) {
    const keep = () => { box.checked ? view.off.delete(box.value) : view.off.add(box.value); };
    keep();
    box.addEventListener("change", () => { keep(); redraw(); });
  }
  for (const box of all("input[data-view]", explorer)) {
    const keep = () => {
      view[box.dataset.view] = box.type === "checkbox" ? box.checked : box.value === "" ? null : box.value === "1";
    };
    if (box.type === "checkbox" || box.checked) keep();
    box.addEventListener("change", () => { keep(); redraw(); });
  }
  for (const button of all("button[data-switch]", explorer)) {
    button.addEventListener("click", () => {
      const on = button.dataset.switch === "all";
      for (const box of all("input[type=checkbox]", button.closest("fieldset, .tasks"))) {
        if (box.closest("label").hidden || box.checked === on) continue;
        box.checked = on;
        box.dispatchEvent(new Event("change"));
      }
    });
  }
  const find = explorer.querySelector(".tasks input[type=search]");
  find?.addEventListener("input", () => {
    const word = find.value.toLowerCase();
    for (const box of tasks) box.closest("label").hidden = !`${box.value} ${box.dataset.about}`.toLowerCase().includes(word);
  });
  for (const box of tasks) box.addEventListener("change", follow);
  follow();
}

// --- charts: figures with their numbers in the page ----------------------------------------------

for (const panel of all(".panel.chart")) {
  const task = JSON.parse(panel.querySelector("script").textContent);
  const chart = new CurveChart(panel, task, { off: new Set(), asScore: false, ...task.view });
  const target = panel.querySelector("select");
  target?.addEventListener("change", () => {
    task.methods.forEach((method, at) => { method.mean = task.choices[target.value][at]; });
    chart.draw();
  });
}

// --- trials: a task is loaded when its plot comes into sight ------------------------------------------

for (const part of all(".trials")) {
  const panel = part.querySelector(".panel"), task = part.querySelector("select");
  const methods = all("input[data-method]", part), views = all("input[data-view]", part);
  let plot = null;
  const show = async () => {
    const file = task.value;
    try {
      const numbers = await cfoNumbers.load(file);
      if (file !== task.value) return; // another task was chosen meanwhile
      plot?.remove();
      const off = new Set(methods.filter((box) => !box.checked).map((box) => box.value));
      plot = new TrialPlot(panel, numbers, off, views.find((box) => box.checked).value);
    } catch (error) {
      panel.querySelector(".plot").textContent = `${error.message}: copy the report's folder as a whole.`;
    }
  };
  task.addEventListener("change", show);
  for (const box of views) box.addEventListener("change", () => plot?.show(box.value));
  for (const box of methods) box.addEventListener("change", () => plot?.turn(box.value, box.checked));
  panel.querySelector("button.svg").addEventListener("click", () => plot?.save());
  const sight = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    sight.disconnect();
    show();
  });
  sight.observe(panel);
}

// --- tables and pictures that are larger than their box: a shade at the edge that can be scrolled -

const edges = new ResizeObserver((entries) => { for (const entry of entries) shade(entry.target.closest(".edges")); });
const shade = (box) => {
  const scroll = box.firstElementChild;
  const { scrollLeft, scrollWidth, clientWidth, scrollTop, scrollHeight, clientHeight } = scroll;
  scroll.tabIndex = scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1 ? 0 : -1;
  box.classList.toggle("more-left", scrollLeft > 1);
  box.classList.toggle("more-right", scrollLeft + clientWidth < scrollWidth - 1);
  box.classList.toggle("more-below", scrollTop + clientHeight < scrollHeight - 1);
};
const followEdges = (within) => {
  for (const box of all(".edges", within)) {
    const scroll = box.firstElementChild;
    scroll.addEventListener("scroll", () => shade(box), { passive: true });
    edges.observe(scroll);
    edges.observe(scroll.firstElementChild);
  }
};
followEdges(document);

// --- learners: one is visible at a time ---------------------------------------------------------

const choice = document.getElementById("learner");
const showLearner = (name) => {
  if (!choice) return;
  choice.value = name;
  for (const part of all(".learner")) part.hidden = part.dataset.learner !== name;
  for (const list of all("[data-contents-of]")) list.hidden = list.dataset.contentsOf !== name;
};
choice?.addEventListener("change", () => { showLearner(choice.value); window.scrollTo(0, 0); });
showLearner(choice?.value);

// --- folds: a link into a fold opens it, and printing opens all ---------------------------------

const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  if (!target) return;
  const learner = target.closest(".learner");
  if (learner) showLearner(learner.dataset.learner);
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  (target.closest("details.fold") ?? target).scrollIntoView();
};
addEventListener("hashchange", reveal);
// A second click on the same link does not change the address.
document.addEventListener("click", (event) => {
  if (event.target.closest?.("a[href^='#']")?.hash === location.hash) reveal();
});
reveal();

{
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details.fold:not([open]), details.more:not([open])");
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => { for (const fold of opened) fold.open = false; });
}

// --- contents: the link of the visible section is marked ----------------------------------------

(() => {
  const links = new Map(all(".contents a").map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const id of links.keys()) {
    const section = document.getElementById(id);
    if (section) seen.observe(section);
  }
  if (matchMedia("(max-width: 62rem)").matches) document.querySelector(".contents details").open = false;
})();
