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
  const keyOf = (fold) => (fold.querySelector("[id]") ?? fold.querySelector("summary")).id || fold.className;
  const keep = () => {
    const folds = Object.fromEntries(all("details").map((fold) => [keyOf(fold), fold.open]));
    const learner = document.getElementById("learner")?.value;
    // The first element of the report in the window stays where it is; above the report, the page does.
    const seen = all(".learner [id]").find((element) => element.offsetParent && top(element) > 0);
    const anchor = seen && top(seen) < innerHeight ? { id: seen.id, top: top(seen) } : null;
    sessionStorage.setItem(KEPT, JSON.stringify({ folds, learner, anchor, y: scrollY }));
    history.scrollRestoration = "manual";
  };
  const restore = () => {
    const text = sessionStorage.getItem(KEPT);
    sessionStorage.removeItem(KEPT);
    if (!text) return;
    const { folds, learner, anchor, y } = JSON.parse(text);
    for (const fold of all("details")) fold.open = folds[keyOf(fold)] ?? fold.open;
    const choice = document.getElementById("learner");
    if (choice && learner && [...choice.options].some((option) => option.value === learner)) {
      choice.value = learner;
      choice.dispatchEvent(new Event("change"));
    }
    // The browser fills in the text of a filter again, but does not filter.
    for (const box of all("input[type=search]")) if (box.value) box.dispatchEvent(new Event("input"));
    const seen = anchor && document.getElementById(anchor.id);
    // Charts get their height a moment later: until then, or until the reader acts, the place is found again.
    const root = document.documentElement;
    const growing = new ResizeObserver(() => {
      scrollTo({ top: seen ? scrollY + top(seen) - anchor.top : y, behavior: "instant" });
    });
    const stop = () => {
      growing.disconnect();
      root.style.overflowAnchor = "";
      history.scrollRestoration = "auto";
    };
    root.style.overflowAnchor = "none"; // the browser's own correction would be a second one
    for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(act, stop, { once: true });
    growing.observe(document.getElementById("main"));
    setTimeout(stop, 3000);
  };
  restore();

  // --- following ----------------------------------------------------------------------------------

  const follow = async () => {
    try {
      const now = await ask("version");
      delete part.dataset.lost;
      connection.textContent = "";
      if (now.runs !== shown.runs) {
        const runs = await ask("runs");
        replace("table-of-runs", runs.table);
        replace("curves-of-runs", runs.curves);
        const updated = document.querySelector("#updated time");
        updated.dateTime = runs.updated;
        localTime(updated);
        shown.runs = runs.version;
      }
      if (now.report !== shown.report && getSelection().type !== "Range") { // else it waits for the reader
        keep();
        location.reload();
        return;
      }
    } catch {
      part.dataset.lost = "";
      connection.textContent = "no connection: has cfo-bench watch ended?";
    }
    setTimeout(follow, EVERY);
  };
  follow();
})();
