"use strict";
/* Variables where the program is now: a tree whose parts are read when they are opened, and frames
that were not recorded. Only what the debugger lists is read: no expression is evaluated. */

const PAGE_OF_CHILDREN = 100;
/* The variables of a frame at the present stop: [stop, frame] → promise of the values. */
let present = { key: "", values: null };

const presentKey = () => { const session = shownSession(); return `${session.name}|${session.stop}|${frame}`; };

async function presentValues(anew = false) {
  const key = presentKey();
  if (present.key === key && !anew) return present.values;
  const reading = (async () => {
    const answer = await operation("locals", { frame: String(frame) });
    return answer.success ? (answer.result.scopes || []).flatMap(scope => scope.values || []) : null;
  })();
  present = { key, values: reading };
  return reading;
}

function treeRow(value, path) {
  const line = make("div", "node"), head = make("div", "head"), text = value.text ?? "";
  head.append(make("i", "", value.name + " = "), make("span", value.changed ? "changed" : "", text.length > 2000 ? text.slice(0, 2000) + "…" : text));
  if (value.type) head.append(make("span", "type", value.type));
  line.append(head);
  if (value.has_children && value.handle) {
    head.classList.add("opens");
    head.setAttribute("role", "button");
    head.setAttribute("aria-expanded", "false");
    choosable(head, () => toggleChildren(line, head, value, path));
  }
  if (!path.length) addSetter(head, value.expression || value.name);
  return line;
}

async function toggleChildren(line, head, value, path) {
  const open = line.querySelector(":scope > .children");
  if (open) { open.remove(); head.setAttribute("aria-expanded", "false"); return; }
  head.setAttribute("aria-expanded", "true");
  const box = make("div", "children");
  line.append(box);
  await addChildren(box, value, path, 0);
}

async function addChildren(box, value, path, start) {
  const answer = await operation("print", { expression: value.handle, range: `${start}:${start + PAGE_OF_CHILDREN}` });
  if (!answer.success) { box.append(make("div", "empty", answer.error.message)); return; }
  const children = answer.result.value.children || [];
  for (const child of children) box.append(treeRow(child, [...path, value.name]));
  if (children.length === PAGE_OF_CHILDREN) {
    const more = make("button", "more", "more");
    more.onclick = () => { more.remove(); addChildren(box, value, path, start + PAGE_OF_CHILDREN); };
    box.append(more);
  }
  if (!children.length && !start) box.append(make("div", "empty", "nothing inside"));
}

async function drawPresent(anew = false) {
  const key = presentKey(), values = await presentValues(anew);
  if (!isPresent() || presentKey() !== key || !values) return;
  const cell = make("td", "tree"), row = make("tr");
  cell.append(...values.map(value => treeRow(value, [])));
  if (!values.length) cell.append(make("div", "empty", "no variables"));
  row.append(cell);
  $("values").replaceChildren(row);
  $("frame").textContent = S[at].f[frame] ? S[at].f[frame][0] : "";
}

function updateTreeButton() {
  $("tree").disabled = !isPresent();
}
let asTree = false;
function toggleTree() {
  if (!isPresent()) { notify("the program is not stopped here now"); return; }
  asTree = !asTree;
  $("tree").setAttribute("aria-pressed", asTree);
  if (asTree) drawPresent(); else drawValues();
}
$("tree").addEventListener("click", toggleTree);
KEYS.v = toggleTree;

/* Another frame than the recorded one can be read while the program is there. */
AFTER_SELECTION.push(() => {
  updateTreeButton();
  if (isPresent() && (asTree || frame !== S[at].s)) drawPresent();
  else drawValues();
});
let drawnStop = "";
AFTER_STATE.push(() => {
  updateTreeButton();
  const session = shownSession(), now = session ? `${session.name}|${session.stop}|${session.state}` : "";
  if (now === drawnStop) return;
  drawnStop = now;
  if (S.length && asTree) { if (isPresent()) drawPresent(); else drawValues(); }
  if ($("threads").open) drawThreads();
});

/* Threads and tasks are asked for only while they are shown. */
async function drawThreads() {
  const session = shownSession(), box = $("threadlist");
  if (!session || ended(session)) { box.replaceChildren(make("div", "empty", "the program has ended")); return; }
  const answer = await operation("threads");
  if (!answer.success) { box.replaceChildren(make("div", "empty", answer.error.message)); return; }
  const rows = [];
  for (const thread of answer.result.threads || []) rows.push(threadRow(thread.name || String(thread.id), thread.state, thread.frame, thread.current));
  for (const task of answer.result.tasks || []) rows.push(threadRow(task.name, task.awaits ? `${task.state}: ${task.awaits}` : task.state, task.frame, false));
  box.replaceChildren(...rows);
}
function threadRow(name, state, f, current) {
  const row = make("div", "frame mono" + (current ? " on" : ""));
  row.append(make("span", "fn", name), make("span", "at", [state, f && f.function, f && f.path ? `${baseName(f.path)}:${f.line}` : ""].filter(Boolean).join("  ")));
  return row;
}
$("threads").addEventListener("toggle", () => { if ($("threads").open) drawThreads(); });
KEYS.h = () => { $("threads").open = !$("threads").open; };
