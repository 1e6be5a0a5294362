"use strict";
/* The live page: one stream of events brings the sessions, the commands and what is new of the shown run. */

const LIVE = { sessions: [], runs: [], breakpoints: [], workspace: "", run: 0, chosen: 0, stream: null, follow: true };
/* Parts that show the state: called after each event. */
const AFTER_STATE = [];

/* A page that is loaded anew is the same person. */
const PAGE = sessionStorage.getItem("page") || [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, "0")).join("");
sessionStorage.setItem("page", PAGE);

const ended = session => session.state === "terminated" || session.state === "idle";
/* The session of the shown run, if it has not been replaced. */
const shownSession = () => LIVE.sessions.find(each => each.run === LIVE.run && each.run) || null;
/* Whether the selected stop is where the program is now. */
const isPresent = () => {
  const session = shownSession();
  return Boolean(session) && session.state === "stopped" && at === S.length - 1 && at >= 0;
};

async function operation(command, args = {}, more = {}) {
  const session = shownSession();
  let answer;
  try {
    const response = await fetch("op", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ page: PAGE, command, args, ...(session ? { session: session.name } : {}), ...more }),
    });
    answer = response.ok ? await response.json() : { success: false, error: { code: "http", message: `the page was refused: ${response.status}` } };
  } catch {
    answer = { success: false, error: { code: "http", message: "the page has no connection" } };
  }
  if (!answer.success) notify(answer.error.message, true);
  return answer;
}

let notifying = 0;
function notify(text, bad = false) {
  const box = $("notice");
  box.textContent = text;
  box.className = bad ? "bad" : "";
  box.hidden = false;
  clearTimeout(notifying);
  notifying = setTimeout(() => { box.hidden = true; }, 6000);
}

function connection(text, kind) {
  $("link").textContent = text;
  $("link").className = "badge " + kind;
}

function subscribe(run) {
  LIVE.stream?.close();
  LIVE.run = run;
  loadRun({ stops: [], sources: {}, output: [], args: [], number: run, name: "" });
  drawn = { path: null };
  const stream = LIVE.stream = new EventSource(`events?page=${PAGE}&run=${run}`);
  stream.addEventListener("state", event => { if (stream === LIVE.stream) receive(JSON.parse(event.data)); });
  stream.addEventListener("lost", () => connection("daemon ended", "bad"));
  stream.onerror = () => connection(stream.readyState === EventSource.CLOSED ? "ended: run dbg web" : "reconnecting", "bad");
}

function receive(state) {
  connection("live", "good");
  LIVE.sessions = state.sessions;
  LIVE.breakpoints = state.breakpoints;
  LIVE.workspace = state.workspace;
  if (state.runs) LIVE.runs = state.runs;
  addCommands(state.commands, state.daemon);
  const current = LIVE.chosen || newestRun();
  if (current !== LIVE.run) { subscribe(current); drawSessions(); return; }
  if (state.run) receiveRun(state.run);
  else showNothing();
  drawSessions();
  for (const each of AFTER_STATE) each(state);
  document.documentElement.dataset.ready = "1";
}

function newestRun() {
  const current = LIVE.sessions.find(each => each.current && each.run) || LIVE.sessions.find(each => each.run);
  return current ? current.run : LIVE.runs.length ? LIVE.runs[0].number : 0;
}

function receiveRun(run) {
  const { stops, output, before, pieces, more, ...facts } = run;
  if (before > S.length) { subscribe(LIVE.run); return; }
  const first = !S.length, atEnd = at === S.length - 1, fresh = stops.slice(S.length - before), seen = RUN.output.length;
  Object.assign(RUN, facts);
  if (pieces - output.length === RUN.output.length) RUN.output.push(...output);
  addStops(fresh);
  showHead();
  showState();
  if (!S.length) { showNothing(); drawOutput(); return; }
  if (fresh.length && LIVE.follow && (first || atEnd)) { go(S.length - 1); return; }
  if (first) go(0);
  if (fresh.length) { soon(drawList); soon(drawTimeline); describeTimeline(); }
  if (RUN.output.length !== seen) soon(drawOutput);
}

function showNothing() {
  if (S.length) return;
  drawList();
  $("code").replaceChildren(make("div", "empty", LIVE.run ? "no stop yet" : "no session yet: this page shows the next one"));
  if (!LIVE.run) $("title").textContent = "Freezeframe";
}

function showState() {
  const session = shownSession(), badge = $("exit");
  if (!session || ended(session)) return;
  badge.textContent = session.state;
  badge.className = "badge " + (session.state === "running" ? "good" : "live");
}

/* Sessions and recorded runs, newest first, in one list. */
let listed = "";
function drawSessions() {
  const names = new Set(LIVE.sessions.map(each => each.run));
  const newest = LIVE.sessions.find(each => each.run === newestRun()), choices = [["0", newest ? `newest: ${newest.name} · ${newest.state}` : "newest"]];
  for (const each of LIVE.sessions) if (each.run) choices.push([each.run, `● ${each.name} · ${each.state}${each.owner ? " · " + each.owner : ""}`]);
  for (const run of LIVE.runs) if (!names.has(run.number)) choices.push([run.number, `${run.label || run.name} · run ${run.number} · ${run.stops} stops · ${run.exit || "cut off"}`]);
  const now = JSON.stringify([choices, LIVE.chosen]);
  if (now === listed) return;
  listed = now;
  $("runs").replaceChildren(...choices.map(([value, text]) => { const option = make("option", "", text); option.value = value; return option; }));
  $("runs").value = LIVE.chosen;
}
$("runs").addEventListener("change", () => {
  LIVE.chosen = Number($("runs").value);
  LIVE.follow = true;
  history.replaceState(null, "", "#");
  subscribe(LIVE.chosen || newestRun());
  $("runs").blur();
});

/* Sources come when they are first needed. */
const requestedSources = new Set();
async function fetchSource(path) {
  const key = `${LIVE.run}|${path}`;
  if (requestedSources.has(key)) return;
  requestedSources.add(key);
  const run = RUN, response = await fetch(`source?run=${LIVE.run}&file=${encodeURIComponent(path)}`).catch(() => null);
  const answer = response && response.ok ? await response.json() : { success: false };
  if (answer.success) run.sources[path] = answer.result.text;
  else if (!response) requestedSources.delete(key);
  if (run === RUN && S.length) drawSource();
}
AFTER_SELECTION.push(() => {
  const f = S[at].f[frame], path = f && f[1];
  if (path != null && !Object.hasOwn(RUN.sources, path)) fetchSource(path);
  LIVE.follow = at === S.length - 1;
  $("follow").setAttribute("aria-pressed", LIVE.follow);
});

function follow() { LIVE.follow = true; if (S.length) go(S.length - 1); $("follow").setAttribute("aria-pressed", "true"); }
$("follow").addEventListener("click", follow);
KEYS.f = follow;

function beginLive() {
  document.documentElement.dataset.live = "1";
  document.title = "Freezeframe";
  subscribe(0);
}
