"use strict";
/* Take over and hand back, and what the owner of a session can do. */

const OWNED = ["continue", "pause", "next", "step", "finish"];
const owns = () => { const session = shownSession(); return Boolean(session && session.own); };

function drawControls() {
  const session = shownSession(), alive = Boolean(session) && !ended(session), mine = owns();
  const take = $("take");
  take.disabled = !alive;
  take.textContent = mine ? "Hand back" : "Take over";
  take.setAttribute("aria-pressed", mine);
  for (const name of OWNED) $(name).disabled = !mine || !alive || (name === "pause") !== (session.state === "running");
  $("expression").disabled = !alive || session.state !== "stopped";
  document.documentElement.dataset.own = mine ? "1" : "";
  const owner = $("owner");
  owner.textContent = !alive ? "" : mine ? "you have the session: commands of the agent wait" : session.owner ? `${session.owner} has the session` : "the agent has the session";
  owner.className = mine ? "mine" : session && session.owner ? "others" : "";
  drawBreakpoints();
}
AFTER_STATE.push(drawControls);

async function takeOver() {
  if ($("take").disabled) return;
  const answer = await operation("control", { action: owns() ? "release" : "take" });
  if (answer.success && !answer.result.own) notify("handed back: the agent is told what you did");
}
$("take").addEventListener("click", takeOver);
KEYS.T = takeOver;

function needsControl(act) {
  return () => { if (owns()) act(); else notify("take the session over first (T)"); };
}
async function control(name) {
  if ($(name).disabled) return;
  LIVE.follow = true;
  if (S.length) go(S.length - 1);
  for (const each of OWNED) $(each).disabled = each !== "pause";
  await operation(name);
  drawControls();
}
for (const name of OWNED) $(name).addEventListener("click", () => control(name));
Object.assign(KEYS, {
  c: needsControl(() => control("continue")), F8: needsControl(() => control("continue")),
  o: needsControl(() => control("next")), F10: needsControl(() => control("next")),
  i: needsControl(() => control("step")), F11: needsControl(() => control("step")),
  u: needsControl(() => control("finish")),
  z: needsControl(() => control("pause")), F6: needsControl(() => control("pause")),
  e: () => $("expression").focus(),
});

/* Breakpoints in the gutter; with the keyboard at the cursor of the source. */
const inWorkspace = path => (path && path.startsWith(LIVE.workspace + "/") ? path.slice(LIVE.workspace.length + 1) : path);
const breakpointAt = (path, line) => LIVE.breakpoints.find(each => inWorkspace(each.file) === path && each.line === line);

LINE_PARTS.push((row, gutter, path, number) => {
  gutter.setAttribute("role", "button");
  gutter.setAttribute("aria-label", `line ${number}: breakpoint`);
  gutter.addEventListener("click", () => toggleBreakpoint(path, number));
});

async function toggleBreakpoint(path, line) {
  if (!owns()) { notify("take the session over first (T)"); return; }
  const there = breakpointAt(path, line);
  if (there) await operation("breakpoint_remove", { which: [String(there.id)] });
  else await operation("breakpoint_add", { where: `${path.startsWith("/") ? path : LIVE.workspace + "/" + path}:${line}` });
}

function drawBreakpoints() {
  if (!drawn.path) return;
  for (const old of $("code").querySelectorAll(".bp")) { old.classList.remove("bp", "off", "unbound"); old.children[1].title = ""; }
  for (const each of LIVE.breakpoints) {
    const row = inWorkspace(each.file) === drawn.path ? lineRow(each.line) : null;
    if (!row) continue;
    row.classList.add("bp");
    row.classList.toggle("off", !each.enabled);
    row.classList.toggle("unbound", !each.verified);
    row.children[1].title = [`breakpoint ${each.id}`, each.condition && `if ${each.condition}`, each.log && `log ${each.log}`].filter(Boolean).join(", ");
  }
}
AFTER_SELECTION.push(drawBreakpoints);

let cursorLine = 0;
function moveCursor(by) {
  if (!drawn.path) return;
  const f = S[at] && S[at].f[frame], next = Math.max(drawn.from + 1, Math.min(drawn.to, (cursorLine || (f ? f[2] : 1)) + by));
  for (const old of $("code").querySelectorAll(".cursor")) old.classList.remove("cursor");
  cursorLine = next;
  const row = lineRow(next);
  if (row) { row.classList.add("cursor"); row.scrollIntoView({ block: "nearest" }); }
}
$("codebox").addEventListener("keydown", event => {
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
  if (by) { event.preventDefault(); event.stopPropagation(); moveCursor(by); }
});
AFTER_SELECTION.push(() => { cursorLine = 0; for (const old of $("code").querySelectorAll(".cursor")) old.classList.remove("cursor"); });
KEYS.b = () => { const f = S[at] && S[at].f[frame]; if (drawn.path) toggleBreakpoint(drawn.path, cursorLine || (f ? f[2] : 1)); };
KEYS.r = needsControl(() => { if (drawn.path && cursorLine) operation("until", { where: `${drawn.path.startsWith("/") ? drawn.path : LIVE.workspace + "/" + drawn.path}:${cursorLine}` }); });

/* Set a value: the text becomes a field. */
function addSetter(head, expression) {
  const button = make("button", "setter", "set");
  button.setAttribute("aria-label", `set ${expression}`);
  button.addEventListener("click", event => {
    event.stopPropagation();
    if (!owns()) { notify("take the session over first (T)"); return; }
    const field = make("input", "mono");
    field.setAttribute("aria-label", `new value of ${expression}`);
    field.placeholder = `new value of ${expression}`;
    field.addEventListener("click", inside => inside.stopPropagation());
    field.addEventListener("keydown", async inside => {
      inside.stopPropagation();
      if (inside.key === "Escape") field.remove();
      if (inside.key !== "Enter" || !field.value) return;
      const answer = await operation("set", { assignment: [`${expression} = ${field.value}`], frame: String(frame) });
      if (answer.success) { notify(`${expression} is ${answer.result.value.text} now`); asTree = true; $("tree").setAttribute("aria-pressed", "true"); drawPresent(true); }
    });
    head.append(field);
    field.focus();
  });
  head.append(button);
}

/* Evaluate: the owner any expression, others what `print` reads. */
$("evaluate").addEventListener("submit", async event => {
  event.preventDefault();
  const field = $("expression"), expression = field.value.trim();
  if (!expression) return;
  const answer = await operation(owns() ? "eval" : "print", { [owns() ? "code" : "expression"]: expression, ...(isPresent() ? { frame: String(frame) } : {}) });
  $("result").textContent = answer.success ? answer.text : `${answer.error.message}`;
  $("result").className = answer.success ? "" : "failed";
  $("result").hidden = false;
  if (answer.success && owns() && asTree) drawPresent(true);
});

KEYS["?"] = () => { const box = $("help"); if (box.open) box.close(); else box.showModal(); };
$("keys").addEventListener("click", KEYS["?"]);
$("theme").addEventListener("click", KEYS.t);
