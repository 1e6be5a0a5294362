"use strict";
/* Two runs side by side: the same call in both, line by line, with the divergence marked. */
const WHAT = { branch: "the runs part here", value: "same values in, different result", operands: "it read different values", raised: "only one of them raised", edit: "this statement was edited", input: "the values are different from the beginning" };
function compareView(box, answer) {
  const diff = answer.diff, labels = [diff.a.label, diff.b.label], first = diff.first;
  const text = p => (p.note || "").replaceAll("{a}", labels[0]).replaceAll("{b}", labels[1]);
  const ended = (end, cls) => {
    const at = end.path && end.failed ? `  at ${inside(end.path)}:${end.line}` : "";
    return make("span", cls, `${end.label} ${end.how}${end.message ? ": " + cut(end.message, 200) : ""}${at}`);
  };
  const summary = make("div", "summary");
  if (!first) summary.append(make("b", "", `No divergence seen between ${labels[0]} and ${labels[1]}`));
  else {
    summary.append("First divergence: ", make("b", "mono", `${inside(first.path)}:${first.line}`), ` in ${first.function}${first.hit > 1 ? `, execution ${first.hit} of the line` : ""}: `, make("b", "bad-ink", first.kind === "raised" && first.a_raised && first.b_raised ? "they raised different exceptions" : WHAT[first.kind]));
    if (first.differences.length) {
      const table = make("table"), head = make("tr");
      head.append(make("th"), make("th", "", labels[0]), make("th", "", labels[1])); table.append(head);
      for (const each of first.differences) {
        const row = make("tr");
        row.append(make("td", "name", each.path), make("td", diff.b.failed ? "good-ink" : "", each.a ?? "(none)"), make("td", diff.b.failed ? "bad-ink" : "", each.b ?? "(none)"));
        table.append(row);
      }
      summary.append(table);
    }
    for (const [name, raised] of [[labels[0], first.a_raised], [labels[1], first.b_raised]]) if (raised) summary.append(make("div", "quiet", `${name} raised ${raised}`));
    if (text(first)) summary.append(make("div", "quiet", text(first)));
  }
  for (const end of [diff.a, diff.b]) summary.append(add(make("div", "quiet"), ended(end, end.failed ? "bad-ink" : "good-ink")));
  const facts = [];
  if (first && diff.equal_steps) facts.push(`equal up to there: ${diff.equal_steps.toLocaleString("en")} steps in ${diff.equal_functions} functions`);
  if (diff.unrelated) facts.push(`${diff.unrelated} earlier ${diff.unrelated > 1 ? "differences" : "difference"} did not lead to it${diff.unrelated_example ? ", such as " + diff.unrelated_example : ""}`);
  if (diff.edited.length) facts.push(`edited: ${diff.edited.join(", ")}`);
  for (const fact of [...facts, ...diff.notes]) summary.append(make("div", "quiet", fact));
  const top = make("section", "panel"), way = make("div", "way"), view = make("div");
  top.append(summary); if (answer.calls.length > 1) top.append(way);
  box.append(top, view, ...outputs(answer, labels));
  const buttons = answer.calls.map((call, i) => {
    const last = i && i === answer.calls.length - 1, button = make("button", "", `${i ? last ? "the end" : "then" : "divergence"} · ${inside(call.point.path).split("/").pop()}:${call.point.line} ${call.point.function}`);
    if (i) way.append(make("span", "", "→"));
    way.append(button); button.onclick = () => open(i);
    return button;
  });
  let shown = null, which = 0;
  function open(i) {
    which = i;
    buttons.forEach((each, k) => each.classList.toggle("on", k === i));
    view.replaceChildren(); shown = sideBySide(view, answer.calls[i], labels, diff, i === 0);
  }
  if (answer.calls.length) open(0);
  else if (first) view.append(make("div", "empty", "the call of this line is not in both runs"));
  const move = by => shown && shown(by), other = by => answer.calls[which + by] && open(which + by);
  return { ArrowDown: () => move(1), j: () => move(1), ArrowUp: () => move(-1), k: () => move(-1), ArrowRight: () => other(1), ArrowLeft: () => other(-1) };
}
function sideBySide(view, call, labels, diff, isFirst) {
  const pair = make("div", "pair"), point = call.point, panes = [];
  [call.a, call.b].forEach((side, k) => {
    const end = [diff.a, diff.b][k], code = make("div", "code"), scroll = add(make("div", "scroll"), code);
    const title = make("span");
    title.append(make("b", end.failed ? "bad-ink" : "good-ink", labels[k]), `  ${end.how}  ·  `, make("span", "mono", `${side.path} ${side.function}`));
    const rows = new Map();
    side.text.forEach((line, i) => { const row = codeLine(side.first_line + i, line); rows.set(side.first_line + i, row); code.append(row); });
    const ran = new Set(call.rows.map(r => r[k]).filter(Boolean).map(s => s.line));
    for (const [number, row] of rows) row.classList.toggle("idle", !ran.has(number) && number !== side.first_line);
    const here = call.rows[call.marked], before = call.rows.slice(0, call.marked + 1).map(r => r[k]).filter(Boolean);
    const line = k ? point.line : point.a_line || (here && here[0] ? here[0].line : before.length ? before[before.length - 1].line : 0), row = rows.get(line);
    if (row) { row.classList.add("parts"); row.classList.remove("idle"); row.lastChild.append(make("span", "tag", isFirst ? WHAT[point.kind] : "differs here")); }
    const next = k ? point.b_next : point.a_next;
    if (point.kind === "branch") {
      const to = next && rows.get(next.line);
      if (to) { to.classList.add("went"); to.lastChild.append(make("span", "tag went-tag", "went on here")); }
      else if (!next && row) row.lastChild.append(make("span", "tag went-tag", "left the function"));
    }
    panes.push({ rows, scroll, side, k }); pair.append(panel(title, scroll));
  });
  const table = make("table", "steps"), body = make("tbody"), cols = make("colgroup"), lines = [];
  for (const cls of ["no", "", "no", ""]) cols.append(make("col", cls));
  table.append(cols, body);
  const stepCells = (step, side) => {
    const cell = make("td");
    if (!step) { cell.className = "none"; cell.textContent = "not executed"; return [make("td", "no"), cell]; }
    cell.append((side.text[step.line - side.first_line] || "").trim());
    const made = [...step.writes.map(w => `${w[0]} = ${cut(w[1], 60)}`), ...(step.raised ? [`raised ${cut(step.raised, 80)}`] : [])];
    if (made.length) cell.append(make("i", "", made.join("   ")));
    cell.title = cell.textContent;
    return [make("td", "no", step.line), cell];
  };
  call.rows.forEach(([a, b], i) => {
    const same = a && b && JSON.stringify([a.writes, a.raised]) === JSON.stringify([b.writes, b.raised]);
    const row = make("tr", i === call.marked ? "first" : same ? "same" : "other");
    row.append(...stepCells(a, call.a), ...stepCells(b, call.b)); row.onclick = () => choose(i);
    lines.push(row); body.append(row);
  });
  const scroll = add(make("div", "scroll"), table), left = [];
  if (call.earlier) left.push(`${call.earlier} steps before`);
  if (call.later) left.push(`${call.later} after`);
  const steps = panel(`What both executed, in order${left.length ? " (left out: " + left.join(", ") + ")" : ""}: ${labels[0]} on the left, ${labels[1]} on the right`, scroll);
  steps.classList.add("wide"); view.append(pair, steps);
  let at = -1;
  function choose(i) {
    if (i < 0 || i >= call.rows.length) return;
    if (lines[at]) lines[at].classList.remove("on");
    at = i; lines[i].classList.add("on");
    const y = lines[i].offsetTop;
    if (y < scroll.scrollTop || y > scroll.scrollTop + scroll.clientHeight - 30) scroll.scrollTop = Math.max(0, y - scroll.clientHeight / 3);
    for (const { rows, scroll, side, k } of panes) {
      const known = new Map(side.arguments), made = new Map();
      let step = null;
      for (const row of call.rows.slice(0, i + 1)) if (row[k]) { step = row[k]; for (const [name, value] of step.writes) known.set(name, value); made.set(step.line, step); }
      for (const row of rows.values()) { row.classList.remove("at"); row.querySelector(".inline")?.remove(); }
      for (const [line, each] of made) {
        const row = rows.get(line), text = each.writes.map(w => `${w[0]} = ${cut(w[1], 40)}`).join("   ") || read(side, line, known);
        if (row && text && (each.writes.length || each === step || line === call.point.line)) row.lastChild.append(make("span", "inline", text));
      }
      const row = step && rows.get(step.line);
      if (row) { row.classList.add("at"); const y = row.offsetTop; if (y < scroll.scrollTop + 20 || y > scroll.scrollTop + scroll.clientHeight - 40) scroll.scrollTop = Math.max(0, y - scroll.clientHeight / 2); }
    }
  }
  choose(call.marked);
  return by => choose(at + by);
}
/* the known variables that a line names */
function read(side, line, known) {
  const text = side.text[line - side.first_line] || "", names = new Set(text.match(/[A-Za-z_]\w*/g) || []);
  return [...known].filter(([name]) => names.has(name)).slice(0, 4).map(([name, value]) => `${name} = ${cut(value, 40)}`).join("   ");
}
function outputs(answer, labels) {
  const [a, b] = answer.outputs || ["", ""];
  if (!a && !b) return [];
  const one = a.split("\n"), other = b.split("\n");
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  const differs = a !== b, from = Math.max(0, same - 12), box = make("div", "pair");
  [one, other].forEach((lines, k) => {
    const pre = make("pre", "lines");
    if (from) pre.append(make("span", "later", `… ${from} equal lines before\n`));
    lines.slice(from, same + 40).forEach((line, i) => { pre.append(make("span", differs && from + i === same ? "differs" : "", line), "\n"); });
    box.append(panel(`Output of ${labels[k]}${differs ? "" : " (the same in both)"}`, add(make("div", "scroll"), pre)));
  });
  return [box];
}
VIEWS.diff = answer => showAnswer(answer, "Divergence", compareView);
