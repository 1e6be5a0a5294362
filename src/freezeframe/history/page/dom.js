"use strict";
/* What every part of the page uses. Text of programs becomes text nodes, never markup. */

const $ = id => document.getElementById(id);

function make(tag, cls, text) {
  const element = document.createElement(tag);
  if (cls) element.className = cls;
  if (text !== undefined) element.textContent = text;
  return element;
}

const baseName = path => (path ? path.split("/").pop() : "");

/* Views by the kind of their data: main.js shows VIEWS[data.kind](data). */
const VIEWS = {};

/* Keys of the page: one function for each `event.key`. */
const KEYS = {};

/* Draw once per frame, however often something changes. */
const waiting = new Set();
function soon(draw) {
  if (!waiting.size) requestAnimationFrame(() => {
    const all = [...waiting];
    waiting.clear();
    for (const each of all) each();
  });
  waiting.add(draw);
}

function theme(name) {
  document.documentElement.dataset.theme = name;
  window.dispatchEvent(new Event("themechange"));
}
theme(new URLSearchParams(location.search).get("theme") || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
KEYS.t = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");

document.addEventListener("keydown", event => {
  const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (typing) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  // Enter and space belong to the button or row that has the focus.
  const act = Object.hasOwn(KEYS, event.key) ? KEYS[event.key] : null;
  if (act) { event.preventDefault(); act(event); }
});

/* A row that is chosen by a click, Enter or space. */
function choosable(element, choose) {
  element.tabIndex = 0;
  element.addEventListener("click", choose);
  element.addEventListener("keydown", event => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); event.stopPropagation(); choose(event); }
  });
  return element;
}
