"use strict";
/* What the views of all answers share: the tabs of the answer and of the run that it is about. */

let ANSWER = null;
const add = (to, ...items) => { to.append(...items); return to; };
const inside = p => p && p.startsWith(ANSWER.root + "/") ? p.slice(ANSWER.root.length + 1) : p || "";
const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
function panel(title, ...content) {
  const box = make("section", "panel"), head = make("h2");
  head.append(title); box.append(head, ...content);
  return box;
}
function codeLine(number, text) {
  const row = make("div"), cell = make("span", "src");
  paint(cell, text); row.append(make("span", "num", number), cell); row.dataset.line = number;
  return row;
}
function showTab(name) {
  const answering = name === "answer";
  document.body.classList.toggle("answering", answering);
  for (const each of document.querySelectorAll("nav.tabs button")) each.classList.toggle("on", each.dataset.tab === name);
  if (!answering) { drawTimeline(); drawList(); revealStop(); drawList(); }
}

/* Show an answer before the run. *draw* fills a box, and returns what keys do there. */
function showAnswer(answer, title, draw) {
  ANSWER = answer;
  VIEWS.run(answer.run);
  go(S.length - 1); // where it failed
  const box = make("section"), tabs = make("nav", "tabs"), header = document.querySelector("header");
  box.id = "answer";
  for (const [tab, text] of [["answer", title], ["run", "Recorded run"]]) {
    if (tab === "run" && !S.length) continue;
    const button = make("button", "", text);
    button.dataset.tab = tab; button.onclick = () => showTab(tab);
    tabs.append(button);
  }
  header.insertBefore(tabs, header.querySelector(".spacer"));
  header.after(box);
  $("exit").remove();
  $("title").textContent = document.title = `dbg ${answer.kind}`;
  $("meta").textContent = [`dbg ${answer.command}`, new Date(answer.at * 1000).toLocaleString()].join("  ·  ");
  document.body.classList.add("answering"); // what is measured has to be visible
  const keys = draw(box, answer);
  document.addEventListener("keydown", e => {
    if (!document.body.classList.contains("answering") || e.ctrlKey || e.metaKey || e.altKey || e.key === "t") return;
    e.stopImmediatePropagation();
    if (Object.hasOwn(keys, e.key)) { e.preventDefault(); keys[e.key](); }
  }, true);
  showTab(new URLSearchParams(location.search).get("view") === "run" && S.length ? "run" : "answer");
}
