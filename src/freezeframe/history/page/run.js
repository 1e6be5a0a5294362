"use strict";
/* The shown run: its stops with what changed, and which stop and frame are selected.

A stop: n number, t seconds, r reason, th thread, d depth, s index of the frame with variables,
f frames [function, path, line, library], v values [name, text, type, children], c characters printed
before, cmd command, x exception, w watched [expression, text]. */

let RUN = { stops: [], sources: {}, output: [] };
let S = [];
let at = -1, frame = 0;
let shown = [];
let filterTexts = [];
let latestBy = new Map();
let hits = new Map();

function loadRun(run) {
  RUN = run;
  S = [];
  at = -1; frame = 0;
  shown = [];
  latestBy = new Map();
  hits = new Map();
  addStops(run.stops);
}

function addStops(stops) {
  for (const stop of stops) {
    describe(stop);
    const i = S.push(stop) - 1;
    if (!hits.has(stop.key)) hits.set(stop.key, []);
    hits.get(stop.key).push(i);
    if (matches(stop)) shown.push(i);
  }
}

/* Changes are those since the last stop in the same function at the same depth. */
function describe(s) {
  const f = s.f[s.s] || ["?"], by = f[0] + "|" + f[1] + "|" + s.d + "|" + s.th, before = latestBy.get(by);
  s.was = Object.create(null);
  const now = Object.create(null), texts = Object.create(null);
  for (const [name, text, , children] of s.v) {
    now[name] = children ? text + JSON.stringify(children) : text;
    texts[name] = text;
    if (before && before.all[name] !== now[name]) s.was[name] = name in before.texts ? before.texts[name] : null;
  }
  latestBy.set(by, { all: now, texts });
  const top = s.f[0];
  s.location = top ? (top[1] ? `${top[1]}:${top[2]}` : top[0]) : "?";
  s.key = top ? top[1] + ":" + top[2] : "?";
}

/* The text that the filter searches, made when it is first needed. */
function searched(s) {
  s.text ??= (s.location + " " + (s.f[0] ? s.f[0][0] : "") + " " + s.r + " " + s.v.map(v => v[0] + "=" + v[1]).join(" ")).toLowerCase();
  return s.text;
}
const matches = s => filterTexts.every(text => searched(s).includes(text));

function filterStops(text) {
  filterTexts = text.toLowerCase().replace(/\s*=\s*/g, "=").split(/\s+/).filter(Boolean);
  shown = [];
  S.forEach((s, i) => { if (matches(s)) shown.push(i); });
}

/* The position of the selected stop among those shown: both are in order. */
function positionOf(i) {
  let low = 0, high = shown.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (shown[middle] === i) return middle;
    if (shown[middle] < i) low = middle + 1; else high = middle - 1;
  }
  return -1;
}
