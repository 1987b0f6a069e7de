// Runs before the first paint, so that a chosen theme does not flash.
"use strict";
(() => {
  let chosen = null;
  try { chosen = localStorage.getItem("cfo-bench-theme"); } catch { /* a page from disk may have no storage */ }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  document.documentElement.classList.add("js");
})();
