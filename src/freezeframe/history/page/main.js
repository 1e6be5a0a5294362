"use strict";
/* Show the data that the page holds; a page that holds none is live (live.js). */

const held = $("data");
if (held) {
  const data = JSON.parse(held.textContent);
  VIEWS[data.kind](data);
  document.documentElement.dataset.ready = "1";
} else beginLive();
