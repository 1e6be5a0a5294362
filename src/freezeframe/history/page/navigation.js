"use strict";
/* The view of one run: select a stop or a frame, and everything follows. */

function showHead() {
  const label = RUN.label || `run ${RUN.number}`;
  document.title = `${label}: ${RUN.name}`;
  $("title").textContent = RUN.label ? `${RUN.name} · ${RUN.label}` : `${RUN.name} · run ${RUN.number}`;
  $("exit").textContent = RUN.exit || (RUN.live ? "still running" : "cut off");
  $("exit").className = "badge " + (RUN.exit ? (RUN.failed ? "bad" : "good") : "none");
  $("meta").textContent = [[baseName(RUN.program), ...RUN.args].join(" "), RUN.debugger, new Date(RUN.started * 1000).toLocaleString(), RUN.elapsed != null ? `${RUN.elapsed.toFixed(1)} s` : ""].filter(Boolean).join("  ·  ");
}

/* Other parts that show the selected stop: called after each selection. */
const AFTER_SELECTION = [];

function go(i) {
  if (!S.length || i < 0 || i >= S.length || i === at) return;
  at = i;
  frame = S[i].s < S[i].f.length ? S[i].s : 0;
  revealStop();
  drawList(); drawTimeline(); drawSource(); drawValues(); drawStack(); drawOutput();
  describeTimeline();
  for (const each of AFTER_SELECTION) each();
  history.replaceState(null, "", "#" + S[i].n);
}

function selectFrame(i) {
  frame = i;
  drawStack(); drawSource();
  for (const each of AFTER_SELECTION) each();
}

function step(by) {
  const k = positionOf(at);
  if (k < 0) { if (shown.length) go(shown[0]); } else go(shown[Math.max(0, Math.min(shown.length - 1, k + by))]);
}

function sameLine(by) {
  if (at < 0) return;
  const here = hits.get(S[at].key), k = here.indexOf(at) + by;
  if (here[k] !== undefined) go(here[k]);
}

Object.assign(KEYS, {
  ArrowRight: () => step(1), ArrowDown: () => step(1), j: () => step(1),
  ArrowLeft: () => step(-1), ArrowUp: () => step(-1), k: () => step(-1),
  PageDown: () => step(10), PageUp: () => step(-10),
  Home: () => go(shown[0] ?? 0), End: () => go(shown[shown.length - 1] ?? 0),
  n: () => sameLine(1), p: () => sameLine(-1),
});

const numberInAddress = () => parseInt(location.hash.slice(1), 10) - 1;
window.addEventListener("hashchange", () => go(numberInAddress()));

VIEWS.run = run => {
  loadRun(run);
  showHead();
  const requested = numberInAddress();
  if (S.length) go(requested >= 0 && requested < S.length ? requested : 0);
  else {
    drawList(); drawOutput();
    $("code").replaceChildren(make("div", "empty", "this run has no stops"));
  }
};
