"use strict";
/* The commands of the workspace, newest at the end, each with its answer. */

const MOST_COMMANDS = 500;
const COLOURS = /\u001b\[[0-9;]*m/g;
let commandRows = new Map(), commandsOf = 0;

function addCommands(commands, daemon) {
  const box = $("commands"), list = $("commandlist");
  if (daemon !== commandsOf) { commandsOf = daemon; commandRows = new Map(); list.replaceChildren(); }
  const atEnd = box.scrollTop + box.clientHeight > box.scrollHeight - 40;
  for (const command of commands) {
    const before = commandRows.get(command.number), row = commandRow(command, before);
    if (before) before.replaceWith(row); else list.append(row);
    commandRows.set(command.number, row);
  }
  while (list.children.length > MOST_COMMANDS) list.firstChild.remove();
  if (commands.length && atEnd) soon(() => { box.scrollTop = box.scrollHeight; });
  $("commandcount").textContent = list.children.length || "";
}

function commandRow(command, before) {
  const row = make("details", "command " + (command.ok === null ? "pending" : command.ok ? "ok" : "failed")), head = make("summary");
  const took = command.took === null ? "…" : command.took < .0995 ? `${Math.round(command.took * 1000)} ms` : `${command.took.toFixed(1)} s`;
  head.append(make("span", "caller", command.caller), make("code", "", command.text || "dbg"), make("span", "took", took));
  head.title = new Date(command.at * 1000).toLocaleTimeString();
  row.append(head, make("pre", "", command.answer.replace(COLOURS, "")));
  row.open = before ? before.open : false;
  return row;
}
