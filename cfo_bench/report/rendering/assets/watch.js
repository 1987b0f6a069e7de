// Follows the runs: replaces what has changed above the report, and loads the page again when the report has
// changed. What the reader has opened, chosen and scrolled to stays.
"use strict";

(() => {
  const EVERY = 2000; // milliseconds
  const KEPT = "cfo-bench-watch";
  const part = document.getElementById("runs");
  const connection = document.getElementById("connection");
  const shown = { report: Number(part.dataset.report), runs: Number(part.dataset.runs) };
  const html = new Map(); // of the parts, as they were received

  const localTime = (time) => { time.textContent = new Date(time.dateTime).toLocaleTimeString(); };
  all("time", part).forEach(localTime);

  const ask = async (name) => {
    const answer = await fetch(name, { cache: "no-store" });
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  };

  const replace = (id, text) => {
    if (html.get(id) === text) return;
    html.set(id, text);
    const place = document.getElementById(id);
    const scrolled = all(".scroll", place).map((box) => [box.scrollLeft, box.scrollTop]);
    place.innerHTML = text;
    all(".scroll", place).forEach((box, at) => { if (scrolled[at]) [box.scrollLeft, box.scrollTop] = scrolled[at]; });
    for (const panel of all(".panel.chart", place)) {
      const runs = JSON.parse(panel.querySelector("script").textContent);
      new CurveChart(panel, runs, { off: new Set(), asScore: false, ...runs.view });
    }
  };

  // --- what stays when the page is loaded again ---------------------------------------------------

  const top = (element) => element.getBoundingClientRect().top;
  // Charts have ids of their own once they are drawn.
  const named = "[id]:not(svg *)";
  const keyOf = (fold) => `${fold.className} ${(fold.querySelector(named) ?? fold.parentElement.closest(named))?.id}`;
  let place = null; // while it is being found again

  /** Where the reader is: the visible named elements of the report that are nearest to the line that is being read. */
  const placeNow = () => {
    const line = innerHeight / 3;
    const distance = (element) => Math.abs(top(element) - line);
    const elements = all(`.learner :is(${named})`).filter((element) => element.checkVisibility());
    const isAbove = !elements.length || top(elements[0]) > line; // the runs are being read
    const nearest = isAbove ? [] : elements.sort((a, b) => distance(a) - distance(b)).slice(0, 20);
    return { anchors: nearest.map((element) => ({ id: element.id, top: top(element) })), y: scrollY };
  };
  const keep = () => {
    const folds = Object.fromEntries(all("details").map((fold) => [keyOf(fold), fold.open]));
    const learner = document.getElementById("learner")?.value;
    sessionStorage.setItem(KEPT, JSON.stringify({ folds, learner, place: place ?? placeNow() }));
    history.scrollRestoration = "manual";
  };
  const restore = () => {
    const text = sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    if (!text) return;
    const kept = JSON.parse(text);
    for (const fold of all("details")) fold.open = kept.folds[keyOf(fold)] ?? fold.open;
    const choice = document.getElementById("learner");
    if (choice && [...choice.options].some((option) => option.value === kept.learner)) {
      choice.value = kept.learner;
      choice.dispatchEvent(new Event("change"));
    }
    // The browser fills in the text of a filter again, but does not filter.
    for (const box of all("input[type=search]")) if (box.value) box.dispatchEvent(new Event("input"));
    hold(kept.place);
  };
  /** Find the place again whenever the page's height changes, until it has settled or the reader acts. */
  const hold = (kept) => {
    place = kept;
    const root = document.documentElement;
    let settled = 0;
    const stop = () => {
      place = null;
      growing.disconnect();
      root.style.overflowAnchor = "";
      history.scrollRestoration = "auto";
    };
    const find = () => {
      if (!place) return;
      // A section may be new, and another one absent.
      const anchor = place.anchors.find(({ id }) => document.getElementById(id)?.checkVisibility());
      const y = anchor ? scrollY + top(document.getElementById(anchor.id)) - anchor.top : place.y;
      scrollTo({ top: y, behavior: "instant" });
      clearTimeout(settled);
      if (document.readyState === "complete") settled = setTimeout(stop, 3000);
    };
    const growing = new ResizeObserver(find);
    root.style.overflowAnchor = "none"; // the browser's own correction would be a second one
    for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(act, stop, { once: true });
    growing.observe(document.getElementById("main"));
    addEventListener("load", find);
  };
  restore();

  // --- following ----------------------------------------------------------------------------------

  const showRuns = (runs) => {
    replace("table-of-runs", runs.table);
    replace("curves-of-runs", runs.curves);
    const updated = document.querySelector("#updated time");
    updated.dateTime = runs.updated;
    localTime(updated);
    shown.runs = runs.version;
  };
  const follow = async () => {
    let now, runs;
    try {
      now = await ask("version");
      runs = now.runs === shown.runs ? null : await ask("runs");
      delete part.dataset.lost;
      connection.textContent = "";
    } catch {
      part.dataset.lost = "";
      connection.textContent = "no connection: has cfo-bench watch ended?";
      return;
    }
    if (runs) showRuns(runs);
    if (now.report !== shown.report && getSelection().type !== "Range") { // else it waits for the reader
      keep();
      location.reload();
    }
  };
  const loop = () => follow().finally(() => setTimeout(loop, EVERY));
  loop();
})();
