"use strict";
/* Many runs as a grid: one cell for each run, one colour for each way to fail. */
VIEWS.hunt = answer => showAnswer(answer, "Runs", (box, answer) => {
  const hunt = answer.hunt, INKS = ["#d8384e", "#b06bd6", "#c98a1b", "#2f6fed", "#0e8f9c", "#8a5a2b", "#e0529c", "#5b6b80"];
  const percent = r => `${(100 * r).toPrecision(r >= .0995 ? 3 : 2)} %`, ink = g => INKS[Math.min(g, INKS.length - 1)];
  const summary = make("div", "summary"), rate = make("div", "rate"), bar = make("i");
  summary.append(make("b", hunt.failures ? "bad-ink" : "good-ink", `${hunt.failures} of ${hunt.runs} runs failed`), ` (95 % interval: ${percent(hunt.low)} to ${percent(hunt.high)})`);
  bar.style.width = `${hunt.runs ? 100 * hunt.failures / hunt.runs : 0}%`; summary.append(add(rate, bar));
  summary.append(make("div", "quiet mono", hunt.command));
  if (hunt.race) summary.append(make("div", "bad-ink", `Race: ${hunt.race}`));
  for (const each of [`${hunt.run_s.toFixed(2)} s a run, ${hunt.jobs} at a time${hunt.shaken ? ", shaken" : ""}`, ...hunt.notes, ...hunt.workers.map(w => `worker ${w.name}: ${w.runs} runs${w.problem ? "; " + w.problem : ""}`)]) summary.append(make("div", "quiet", each));
  const runs = new Map();
  for (const [n, took] of answer.passed) runs.set(n, { n, took });
  for (const [n, message, location, test] of answer.failed) runs.set(n, { n, message, location, test, group: answer.group_of[n] ?? 0 });
  const last = Math.max(0, ...runs.keys()), grid = make("div", "grid"), detail = make("div", "summary"), legend = make("div", "legend"), cells = [];
  const recorded = hunt.recorded && S.length ? hunt.recorded : null;
  for (let n = 1; n <= last; n++) {
    const run = runs.get(n) || { n, lost: true }, cell = make("button", "cell" + (run.lost ? " lost" : ""));
    if (run.message) cell.style.background = ink(run.group);
    cell.title = `run ${n}: ${run.lost ? "no result" : run.message || "passed"}`; cell.dataset.run = n; cell.dataset.result = run.lost ? "lost" : run.message ? "failed" : "passed";
    cell.onclick = () => choose(n); cells[n] = cell; grid.append(cell);
  }
  hunt.groups.forEach((group, g) => {
    const row = make("div"), cell = make("span", "cell");
    cell.style.background = ink(g); row.append(cell, make("b", "", `${group.count} ×`), make("span", "mono", `${group.location ? group.location + ": " : ""}${cut(group.message, 160)}`));
    row.onclick = () => choose(group.first_run); legend.append(row);
  });
  const passed = make("div"); passed.append(make("span", "cell"), make("b", "", `${hunt.runs - hunt.failures} ×`), "passed"); legend.append(passed);
  const many = make("div", "many");
  many.append(panel(`Runs, one square each`, grid, legend), panel("This run", detail)); box.append(add(make("section", "panel"), summary), many);
  let at = 0;
  function choose(n) {
    if (!cells[n]) return;
    cells[at]?.classList.remove("on"); at = n; cells[n].classList.add("on");
    const run = runs.get(n), seeds = (answer.seeds || {})[n];
    detail.replaceChildren(make("b", run?.message ? "bad-ink" : "good-ink", `Run ${n} ${run ? run.message ? "failed" : "passed" : "has no result"}`));
    if (!run) return;
    if (run.took !== undefined) detail.append(make("div", "quiet", `${run.took} s`));
    if (!run.message) return;
    detail.append(make("pre", "lines", run.message));
    if (run.location) detail.append(make("div", "quiet mono", `at ${run.location}`));
    if (run.test) detail.append(make("div", "quiet mono", `in ${run.test}`));
    if (seeds && Object.keys(seeds).length) detail.append(make("div", "quiet", "its environment:"), make("pre", "lines", Object.entries(seeds).map(([k, v]) => `${k}=${v}`).join("\n")));
    if (recorded) {
      const button = make("button", "go", `open the recorded run ${recorded}`);
      button.onclick = () => showTab("run");
      detail.append(make("div", "quiet", "A run that failed was recorded, traced:"), button);
    }
  }
  choose(hunt.groups.length ? hunt.groups[0].first_run : 1);
  let keys = {};
  if (answer.diff) keys = compareView(box, answer);
  return { ...keys, ArrowRight: () => choose(at + 1), ArrowLeft: () => choose(at - 1) };
});
