// Follows the runs: replaces what has changed above the report, and loads the page again when the report has
// changed. What the reader has opened, chosen and scrolled to stays.
"use strict";

(() => {
  const EVERY = 2000; // milliseconds
  const KEPT = "cfo-bench-watch";
  const part = document.getElementById("runs");
  const connection = document.getElementById("connection");
  const shown = { report: Number(part.dataset.report), runs: Number(part.dataset.runs) };
  const html = new Map(); // by the id of a part: the HTML that was last received

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
    followEdges(place);
    all(".scroll", place).forEach((box, at) => { if (scrolled[at]) [box.scrollLeft, box.scrollTop] = scrolled[at]; });
    for (const panel of all(".panel.chart", place)) {
      const runs = JSON.parse(panel.querySelector("script").textContent);
      new CurveChart(panel, runs, { off: new Set(), asScore: false, ...runs.view });
    }
  };

  // --- what stays when the page is loaded again ---------------------------------------------------

  // Charts have ids of their own once they are drawn.
  const named = "[id]:not(svg *)";
  const nameOf = (element) => (element.querySelector(named) ?? element.closest(named))?.id;
  const foldKey = (fold) => `${fold.className} ${nameOf(fold)}`;
  const isBox = (control) => ["checkbox", "radio"].includes(control.type);
  const controlKey = (control) =>
    [nameOf(control), control.type, control.name, Object.keys(control.dataset), isBox(control) && control.value].join(" ");
  const chosen = (control) => isBox(control) ? control.checked : control.options ? control.selectedOptions[0]?.text : control.value;
  const top = (element) => element.getBoundingClientRect().top;
  const seen = (id) => { const element = document.getElementById(id); return element?.checkVisibility() ? element : null; };

  const keep = () => {
    const folds = Object.fromEntries(all("details").map((fold) => [foldKey(fold), fold.open]));
    const choices = Object.fromEntries(all("input, select").map((control) => [controlKey(control), chosen(control)]));
    // The reader's place belongs to the last element that begins above it. The next report may lack this one,
    // so several are kept.
    const begun = all(`main ${named}`).filter((element) => seen(element.id) && top(element) < innerHeight / 2);
    const places = begun.slice(-20).map((element) => [element.id, top(element)]);
    sessionStorage.setItem(KEPT, JSON.stringify({ folds, choices, places }));
  };
  const choose = (control, choice) => {
    if (isBox(control)) control.checked = choice;
    else if (control.options) for (const option of control.options) option.selected ||= option.text === choice;
    else control.value = choice;
    if (control.type !== "radio" || choice) control.dispatchEvent(new Event(control.type === "search" ? "input" : "change"));
  };
  const restore = () => {
    const kept = JSON.parse(sessionStorage.getItem(KEPT));
    if (!kept) return;
    for (const fold of all("details")) fold.open = kept.folds[foldKey(fold)] ?? fold.open;
    for (const control of all("input, select")) {
      const choice = kept.choices[controlKey(control)] ?? chosen(control);
      if (choice !== chosen(control)) choose(control, choice);
    }
    // Charts that are drawn later don't move what is in the window: their place is reserved (watch.css), and
    // browsers anchor the rest.
    const place = kept.places.findLast(([id]) => seen(id));
    if (place) scrollBy({ top: top(seen(place[0])) - place[1], behavior: "instant" });
  };
  history.scrollRestoration = "manual";
  addEventListener("pagehide", keep);
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
    if (now.report !== shown.report && getSelection().type !== "Range") { // a reload would lose a selection
      location.reload();
    }
  };
  const loop = () => follow().finally(() => setTimeout(loop, EVERY));
  loop();
})();
