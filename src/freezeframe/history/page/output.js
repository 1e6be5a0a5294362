"use strict";
/* What the program printed; what it printed after the selected stop is shown faint. */

function drawOutput() {
  const out = $("out"), upto = S.length && at >= 0 ? S[at].c : Infinity, parts = [];
  let start = 0, mark = null;
  for (const [stream, text] of RUN.output) {
    const length = charactersOf(text);
    const cut = cutAt(text, Math.max(0, Math.min(length, upto - start)));
    if (cut) parts.push(make("span", stream, text.slice(0, cut)));
    if (cut < text.length) { const later = make("span", stream + " later", text.slice(cut)); parts.push(later); mark = mark || later; }
    start += length;
  }
  if (!RUN.output.length) parts.push(make("span", "later", "nothing was printed"));
  out.replaceChildren(...parts);
  const box = $("outbox");
  box.scrollTop = mark ? Math.max(0, mark.offsetTop - box.clientHeight + 24) : box.scrollHeight;
}

/* Positions in the output count characters, as the recorder does, not UTF-16 units. */
const charactersOf = text => (/[\ud800-\udfff]/.test(text) ? [...text].length : text.length);

/* The index in UTF-16 units behind this many characters. */
function cutAt(text, characters) {
  if (characters >= text.length) return text.length;
  let index = 0;
  for (; characters > 0 && index < text.length; characters--) index += text.codePointAt(index) > 0xffff ? 2 : 1;
  return index;
}
