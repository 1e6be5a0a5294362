"use strict";
/* The timeline: one bar for each stop, as high as the stack is deep. */

const COLORS = { breakpoint: "#2f6fed", step: "#8b97a8", exception: "#d8384e", signal: "#d8384e", watchpoint: "#b06bd6", pause: "#c98a1b", entry: "#2a9d6a" };
const colorOf = s => COLORS[s.r] || "#8b97a8";
const canvas = $("timeline").querySelector("canvas");
const EDGE = 10;

function drawTimeline() {
  const box = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  canvas.width = box.width * ratio; canvas.height = box.height * ratio;
  const g = canvas.getContext("2d"), css = getComputedStyle(document.documentElement);
  g.scale(ratio, ratio);
  g.clearRect(0, 0, box.width, box.height);
  if (!S.length) return;
  let deepest = 1, lowest = Infinity;
  for (const s of S) { if (s.d > deepest) deepest = s.d; if (s.d < lowest) lowest = s.d; }
  const wide = (box.width - 2 * EDGE) / S.length, top = 16, bottom = box.height - 8, alive = new Set(shown);
  const bar = Math.max(1, Math.min(wide - (wide > 6 ? 3 : 0), 90));
  for (let i = 0; i < S.length; i++) {
    const s = S[i], tall = (bottom - top) * (.3 + .7 * (s.d - lowest + 1) / (deepest - lowest + 1)), x = EDGE + i * wide + (wide - bar) / 2;
    g.globalAlpha = alive.has(i) ? (i === at ? 1 : .55) : .12;
    g.fillStyle = colorOf(s);
    g.fillRect(x, bottom - tall, bar, tall);
  }
  g.globalAlpha = 1;
  if (at < 0) return;
  const x = EDGE + (at + .5) * wide;
  g.strokeStyle = css.getPropertyValue("--accent"); g.lineWidth = 2;
  g.beginPath(); g.moveTo(x, 3); g.lineTo(x, box.height - 3); g.stroke();
  g.fillStyle = css.getPropertyValue("--ink"); g.font = "11px system-ui, sans-serif";
  const label = `${S[at].n} of ${S.length} · ${S[at].t.toFixed(3)} s · ${S[at].r}`, room = g.measureText(label).width;
  g.fillText(label, x + 6 + room > box.width - 6 ? x - 6 - room : x + 6, 12);
}

function describeTimeline() {
  const slider = $("timeline");
  slider.setAttribute("aria-valuemin", S.length ? 1 : 0);
  slider.setAttribute("aria-valuemax", S.length);
  slider.setAttribute("aria-valuenow", at + 1);
  slider.setAttribute("aria-valuetext", at < 0 ? "no stop" : `stop ${S[at].n}: ${S[at].location}, ${S[at].r}`);
}

function pick(event) {
  const box = canvas.getBoundingClientRect();
  go(Math.max(0, Math.min(S.length - 1, Math.floor((event.clientX - box.left - EDGE) / ((box.width - 2 * EDGE) / S.length)))));
}
let dragging = false;
$("timeline").addEventListener("pointerdown", event => { dragging = true; pick(event); });
window.addEventListener("pointermove", event => { if (dragging) pick(event); });
window.addEventListener("pointerup", () => { dragging = false; });
new ResizeObserver(() => soon(drawTimeline)).observe($("timeline"));
window.addEventListener("themechange", () => soon(drawTimeline));
