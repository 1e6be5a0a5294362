// Runs in every debugged node: makes child processes connect to the debugger whatever environment
// the program gives them.
'use strict';
(() => {
  const { NODE_OPTIONS, FREEZEFRAME_CALL } = process.env;
  const [own] = /--require "(?:[^"\\]|\\.)*bootstrap_agent\.cjs"/.exec(NODE_OPTIONS ?? '') ?? [];
  if (!own || !FREEZEFRAME_CALL) return;
  const call = `FREEZEFRAME_CALL=${FREEZEFRAME_CALL}`;
  const complete = (options) => {
    const pairs = options?.envPairs;
    if (!Array.isArray(pairs)) return;
    if (!pairs.includes(call)) pairs.push(call);
    const at = pairs.findIndex((pair) => pair.startsWith('NODE_OPTIONS='));
    if (at < 0) pairs.push(`NODE_OPTIONS=${own}`);
    else if (!pairs[at].includes(own)) pairs[at] += ` ${own}`;
  };
  const wrap = (holder) => {
    const { spawn } = holder;
    holder.spawn = function (options) {
      complete(options);
      return Reflect.apply(spawn, this, arguments);
    };
  };
  const { noDeprecation } = process;
  try {
    process.noDeprecation = true; // the program's own use is reported as ever
    wrap(process.binding('process_wrap').Process.prototype);
    wrap(process.binding('spawn_sync'));
  } catch {
    // This node has no such parts: children with an environment of their own are not followed.
  } finally {
    if (noDeprecation === undefined) delete process.noDeprecation;
    else process.noDeprecation = noDeprecation;
  }
})();
