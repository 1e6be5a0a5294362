"use strict";
/* The source of the selected frame, with values at the line. Of a long file only a part is drawn. */

const TOKENS = /(\/\/.*$|#(?!include|define|if|endif|pragma).*$|--\s.*$)|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|\b(\d[\w.]*)\b|\b(def|class|return|if|elif|else|for|while|in|not|and|or|is|import|from|as|with|try|except|finally|raise|yield|lambda|pass|break|continue|None|True|False|async|await|fn|let|mut|pub|impl|struct|enum|match|use|mod|func|package|var|const|type|range|go|defer|switch|case|default|function|new|this|throw|catch|typeof|int|char|void|double|float|long|unsigned|static|auto|template|namespace|include|null|true|false|nil|do|end|begin|then|unless)\b/g;
const MOST_LINES = 4000, MOST_CHARACTERS = 2000;
let drawn = { path: null, text: null, from: 0, to: 0 };

function paint(cell, text) {
  if (text.length > MOST_CHARACTERS) { cell.append(text.slice(0, MOST_CHARACTERS), "…"); return; }
  let done = 0;
  for (const m of text.matchAll(TOKENS)) {
    cell.append(text.slice(done, m.index), make("span", m[1] ? "com" : m[2] ? "str" : m[3] ? "nmb" : "kw", m[0]));
    done = m.index + m[0].length;
  }
  cell.append(text.slice(done));
}

/* A part of the page may add to each line that is drawn: breakpoints in the gutter. */
const LINE_PARTS = [];

function sourceRow(path, line, number) {
  const row = make("div"), count = make("span", "cnt"), cell = make("span", "src"), key = path + ":" + number;
  row.dataset.line = number;
  if (hits.has(key)) showCount(count, key);
  paint(cell, line);
  const gutter = make("span", "num", number);
  row.append(count, gutter, cell);
  for (const add of LINE_PARTS) add(row, gutter, path, number);
  return row;
}

function showCount(cell, key) {
  const all = hits.get(key);
  cell.textContent = `${all.length}×`;
  cell.title = "stops here";
  cell.onclick = () => go(all.find(j => j > at) ?? all[0]);
}

function drawFile(path, text, line) {
  const lines = text.split("\n");
  let from = 0, to = lines.length;
  if (to > MOST_LINES) {
    from = Math.max(0, Math.min(to - MOST_LINES, (line || 1) - MOST_LINES / 2 | 0));
    to = from + MOST_LINES;
  }
  const inside = drawn.path === path && drawn.text === text && (!line || (line > drawn.from && line <= drawn.to));
  if (inside) return;
  drawn = { path, text, from, to };
  $("code").replaceChildren(...lines.slice(from, to).map((each, i) => sourceRow(path, each, from + i + 1)));
}

const lineRow = number => (drawn.path === null ? null : $("code").children[number - 1 - drawn.from] || null);

function drawSource() {
  const s = S[at], f = s && s.f[frame], code = $("code"), path = f && f[1];
  $("file").textContent = f ? `${path || ""}${f[2] ? ":" + f[2] : ""}  ${f[0]}` : "";
  const text = path != null ? RUN.sources[path] : undefined;
  if (text === undefined) {
    code.replaceChildren(make("div", "empty", path ? "the text of this file was not recorded" : s ? "no source" : "no stop yet"));
    drawn = { path: null };
    return;
  }
  drawFile(path, text, f[2]);
  for (const old of code.querySelectorAll(".here")) { old.classList.remove("here"); old.removeAttribute("aria-current"); old.querySelector(".inline")?.remove(); }
  drawCount(s, path);
  const row = lineRow(f[2]);
  if (!row) return;
  row.classList.add("here");
  row.setAttribute("aria-current", "true");
  if (frame === s.s) addInline(row, s, (text.split("\n", f[2])[f[2] - 1]) || "");
  const box = $("codebox"), y = row.offsetTop;
  if (y < box.scrollTop + 60 || y > box.scrollTop + box.clientHeight - 80) box.scrollTop = Math.max(0, y - box.clientHeight / 2);
}

/* How often the line was a stop: its row may have been drawn before the last stops came. */
function drawCount(stop, path) {
  const row = stop.f[0] && stop.f[0][1] === path ? lineRow(stop.f[0][2]) : null;
  if (row) showCount(row.firstChild, stop.key);
}

function addInline(row, s, line) {
  const used = s.v
    .filter(v => v[0].length < 80 && new RegExp("(^|\\W)" + v[0].replace(/[^\w]/g, "\\$&") + "(\\W|$)").test(line.slice(0, MOST_CHARACTERS)))
    .sort((a, b) => a[1].length - b[1].length)
    .filter((v, i) => !i || v[1].length <= 32)
    .slice(0, 4);
  if (used.length) row.lastChild.append(make("span", "inline", used.map(v => `${v[0]} = ${v[1].slice(0, 32)}`).join("   ")));
}
