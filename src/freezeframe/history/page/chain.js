"use strict";
/* The chain of a value: the statements that made it, in their source, joined by arrows. */
VIEWS.why = answer => showAnswer(answer, "Chain", (box, answer) => {
  const why = answer.why, links = why.links;
  const summary = make("div", "summary"), subject = why.part || why.expression, value = why.part ? why.part_value : why.value;
  summary.append("Where ", make("b", "mono", subject), value != null ? " = " : "", value != null ? make("b", "mono bad-ink", cut(value, 120)) : "", " came from", make("div", "quiet", "1 is the newest statement. An arrow leads from the statement that made a value to the one that read it."));
  for (const each of [...why.ends, ...(why.left_out.length ? [`not followed: ${why.left_out.join(", ")}`] : []), ...why.notes]) summary.append(make("div", "quiet", each));
  const sheets = make("div", "sheets"), cards = make("div"), drawing = svg("svg", {}), positions = [], chain = make("div", "chain");
  sheets.append(drawing); chain.append(sheets, panel("Statements, newest first", cards)); box.append(add(make("section", "panel"), summary), chain);
  const made = link => link.new == null ? "" : link.kind === "return" ? `returned ${link.new}` : link.kind === "raised" ? `raised ${link.new}` : `${link.target} = ${link.new}${link.old != null ? `  (was ${link.old})` : ""}`;
  /* one sheet for each file and function, in the order of the chain */
  const groups = new Map();
  links.forEach((link, i) => { const key = link.path + "\n" + link.function; if (!groups.has(key)) groups.set(key, []); groups.get(key).push([link, i]); });
  for (const group of groups.values()) {
    const path = group[0][0].path, texts = answer.sources[path] || {}, requested = new Set(), code = make("div", "code");
    for (const [link] of group) for (const at of [link.line, ...link.conditions.filter(c => c.path === path).map(c => c.line)]) for (let n = at - 3; n <= at + 2; n++) requested.add(n);
    const rows = new Map(), numbers = [...requested].filter(n => n in texts).sort((a, b) => a - b);
    numbers.forEach((n, k) => {
      if (k && n > numbers[k - 1] + 1) { const fold = make("div", "fold"); fold.append(make("span", "num", "⋯"), make("span", "src", "")); code.append(fold); }
      const row = codeLine(n, texts[n]); rows.set(n, row); code.append(row);
    });
    for (const [link] of group) for (const c of link.conditions) if (c.path === path && rows.get(c.line)) {
      const row = rows.get(c.line);
      if (!row.classList.contains("branch")) { row.classList.add("branch"); row.lastChild.append(make("span", "inline", `${c.taken ? "taken" : "not taken"}${c.reads.length ? ": " + c.reads.map(r => `${r.expression} = ${cut(r.value, 30)}`).join(", ") : ""}`)); }
    }
    for (const [link, i] of group) {
      const row = rows.get(link.line);
      if (!row) { positions[i] = null; continue; }
      row.classList.add("link"); row.lastChild.append(" ", make("span", "ball", i + 1));
      if (made(link)) row.lastChild.append(make("span", "inline", cut(made(link), 90)));
      row.addEventListener("click", () => choose(i)); positions[i] = row;
    }
    sheets.append(panel(add(make("b", "mono"), `${inside(path)}  ${group[0][0].function}`), code));
  }
  links.forEach((link, i) => {
    const card = make("div", "card"), head = make("div");
    head.append(make("span", "ball", i + 1), make("span", "where mono", `${inside(link.path)}:${link.line} ${link.function}`));
    card.append(head, make("pre", "", link.statement)); cards.append(card);
    if (made(link)) card.append(make("div", "made mono", cut(made(link), 200)));
    const facts = [];
    if (link.reads.length) facts.push("read " + link.reads.map(r => `${r.expression} = ${cut(r.value, 60)}`).join(", "));
    for (const c of link.conditions) facts.push(`${c.taken ? "taken" : "not taken"}: ${c.text}${c.reads.length ? ` (${c.reads.map(r => `${r.expression} = ${cut(r.value, 40)}`).join(", ")})` : ""}`);
    if (link.iteration) facts.push(`round ${link.iteration.round} of ${link.iteration.of}`);
    if (link.via.length) facts.push("passed on by " + link.via.map(v => `${inside(v.path)}:${v.line}`).join(", "));
    if (link.note) facts.push(link.note);
    for (const fact of facts) card.append(make("div", "fact", fact));
    card.onclick = () => choose(i);
  });
  const arrows = [];
  function draw() {
    drawing.replaceChildren(); arrows.length = 0;
    const base = sheets.getBoundingClientRect(), y = row => { const r = row.getBoundingClientRect(); return r.top - base.top + r.height / 2; };
    drawing.setAttribute("height", sheets.scrollHeight);
    links.forEach((link, i) => {
      const to = link.explains;
      if (to == null || !positions[i] || !positions[to]) return;
      const from = y(positions[i]), end = y(positions[to]) + (from > y(positions[to]) ? 4 : -4), out = 58 - Math.min(50, 12 + 9 * (i % 4) + Math.abs(from - end) / 40);
      const path = svg("path", { d: positions[i] === positions[to] ? `M62 ${from} C 30 ${from - 10}, 30 ${from + 10}, 62 ${from + 6}` : `M62 ${from} C ${out} ${from}, ${out} ${end}, 58 ${end}` }), tip = svg("path", { d: `M64 ${end} l-9 -4 l0 8 z`, class: "tip" });
      path.dataset.from = i + 1; path.dataset.to = to + 1;
      drawing.append(path, tip); arrows[i] = [path, tip];
    });
    mark();
  }
  let at = 0;
  const mark = () => arrows.forEach((pair, i) => pair && pair.forEach(each => each.classList.toggle("on", i === at || links[i].explains === at)));
  function choose(i) {
    if (i < 0 || i >= links.length) return;
    at = i;
    [...cards.children].forEach((card, k) => card.classList.toggle("on", k === i));
    positions.forEach(row => row && row.classList.remove("on"));
    if (positions[i]) { positions[i].classList.add("on"); positions[i].scrollIntoView({ block: "nearest" }); }
    cards.children[i].scrollIntoView({ block: "nearest" }); mark();
  }
  new ResizeObserver(draw).observe(sheets);
  if (links.length) choose(0);
  return { ArrowDown: () => choose(at + 1), j: () => choose(at + 1), ArrowUp: () => choose(at - 1), k: () => choose(at - 1) };
});
