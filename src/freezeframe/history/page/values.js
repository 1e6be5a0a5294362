"use strict";
/* Variables of the selected stop: what changed first, with a trend of numbers at this line; the stack. */

const numberOf = text => (/^[-+]?(\d[\d_]*)(\.\d+)?(e[-+]?\d+)?$/i.test(text) ? Number(text.replace(/_/g, "")) : NaN);
const SVG = "http://www.w3.org/2000/svg";
/* A line with many stops: the trend shows this many of them, up to the selected one. */
const MOST_POINTS = 400;

function svg(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function trend(name) {
  const all = hits.get(S[at].key), end = Math.max(all.indexOf(at) + 1, Math.min(all.length, MOST_POINTS)), points = [];
  for (const i of all.slice(Math.max(0, end - MOST_POINTS), end)) {
    const v = S[i].v.find(v => v[0] === name), n = v ? numberOf(v[1]) : NaN;
    if (!Number.isNaN(n)) points.push([i, n]);
  }
  if (points.length < 3 || points.every(p => p[1] === points[0][1])) return null;
  const low = Math.min(...points.map(p => p[1])), high = Math.max(...points.map(p => p[1]));
  const x = k => 2 + 92 * k / (points.length - 1), y = n => 17 - 14 * (n - low) / (high - low);
  const picture = svg("svg", { viewBox: "0 0 96 20", width: 96, height: 20, role: "img" });
  picture.append(svg("polyline", { points: points.map((p, k) => `${x(k).toFixed(1)},${y(p[1]).toFixed(1)}`).join(" "), fill: "none", stroke: "currentColor", "stroke-width": 1.4, opacity: .65 }));
  const k = points.findIndex(p => p[0] === at);
  if (k >= 0) picture.append(svg("circle", { cx: x(k), cy: y(points[k][1]), r: 2.6, fill: "currentColor" }));
  const title = svg("title", {});
  title.textContent = `${points.length} hits of this line: ${low} to ${high}`;
  picture.append(title);
  return picture;
}

/* Of two long texts, show only the part that differs. */
function earlierText(was, now) {
  let same = 0;
  while (same < was.length && was[same] === now[same]) same++;
  const from = was.length > 60 ? Math.max(0, same - 6) : 0, cut = was.slice(from, from + 90);
  const made = make("span", "was", (from ? "…" : "") + cut + (from + 90 < was.length ? "…" : ""));
  made.title = was;
  return made;
}

function childRows(values) {
  const box = make("div", "children");
  for (const [name, text, , more] of values) {
    const line = make("div");
    line.append(make("i", "", name + " = "), text);
    if (more) line.append(childRows(more));
    box.append(line);
  }
  return box;
}

function valueRow(s, [name, text, type, more]) {
  const row = make("tr", name in s.was ? "changed" : ""), value = make("td", "value", text), picture = trend(name);
  if (type) value.append(make("span", "type", type));
  if (name in s.was && s.was[name] !== null && s.was[name] !== text) value.append(earlierText(s.was[name], text));
  if (more) value.append(childRows(more));
  row.append(make("td", "name", name), value);
  if (picture) { const chart = make("td", "spark"); chart.append(picture); row.append(chart); } else value.colSpan = 2;
  return row;
}

function drawValues() {
  const s = S[at], f = s.f[s.s], watched = s.w.map(w => ["👁 " + w[0], w[1], ""]);
  const order = [...s.v].sort((a, b) => (b[0] in s.was) - (a[0] in s.was));
  const rows = [...watched, ...order].map(each => valueRow(s, each));
  if (!s.v.length) { const row = make("tr"); row.append(make("td", "empty", "no variables were recorded here")); rows.push(row); }
  $("values").replaceChildren(...rows);
  $("frame").textContent = f ? f[0] : "";
  $("problem").replaceChildren(...(s.x ? [make("div", "error", s.x)] : []));
}

function drawStack() {
  $("frames").replaceChildren(...S[at].f.map((f, i) => {
    const row = make("div", "frame mono" + (f[3] ? " lib" : "") + (i === frame ? " on" : ""));
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", i === frame);
    row.append(make("span", "n", i), make("span", "fn", f[0]), make("span", "at", f[1] ? `${f[1]}:${f[2]}` : ""));
    return choosable(row, () => selectFrame(i));
  }));
}
