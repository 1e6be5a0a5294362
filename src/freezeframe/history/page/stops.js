"use strict";
/* The list of stops draws only the visible rows. */

const ROW = 40;
const list = $("list"), space = $("space");

function drawList() {
  space.style.height = shown.length * ROW + "px";
  $("count").textContent = shown.length === S.length ? S.length : `${shown.length} of ${S.length}`;
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4), end = Math.min(shown.length, first + Math.ceil(list.clientHeight / ROW) + 10);
  const rows = [];
  for (let k = first; k < end; k++) rows.push(stopRow(shown[k], k));
  space.replaceChildren(...rows);
}

function stopRow(i, k) {
  const s = S[i], row = make("div", "row" + (i === at ? " on" : "")), f = s.f[0];
  row.style.top = k * ROW + "px";
  row.dataset.stop = s.n;
  row.setAttribute("role", "option");
  row.setAttribute("aria-selected", i === at);
  row.setAttribute("aria-setsize", shown.length);
  row.setAttribute("aria-posinset", k + 1);
  const top = make("div", "top"), dot = make("span", "dot");
  dot.style.background = colorOf(s); dot.title = s.r;
  top.append(make("span", "n", s.n), dot, make("span", "where", f ? `${baseName(f[1]) || "?"}:${f[2] ?? ""}` : "?"), make("span", "", f ? f[0] : ""));
  row.append(top, make("div", "what", summary(s)));
  row.title = s.cmd;
  row.onclick = () => go(i);
  return row;
}

function summary(s) {
  const moved = s.v.filter(v => v[0] in s.was).sort((a, b) => (a[1].length > 24) - (b[1].length > 24));
  const changed = moved.map(v => `${v[0]} = ${v[1].slice(0, 40)}`).join(", ");
  const known = s.v.filter(v => v[1].length <= 24).slice(0, 4).map(v => `${v[0]} = ${v[1]}`).join(", ");
  return s.x || changed || known || s.cmd || s.r;
}

function revealStop() {
  const k = positionOf(at);
  if (k < 0) return;
  const top = k * ROW;
  space.style.height = shown.length * ROW + "px"; // else a new list cannot be scrolled to it
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
}

list.addEventListener("scroll", () => soon(drawList));
new ResizeObserver(() => soon(drawList)).observe(list);
$("filter").addEventListener("input", () => { filterStops($("filter").value); drawList(); soon(drawTimeline); });
$("filter").addEventListener("keydown", event => { if (event.key === "Enter") event.target.blur(); });
KEYS["/"] = () => $("filter").focus();
