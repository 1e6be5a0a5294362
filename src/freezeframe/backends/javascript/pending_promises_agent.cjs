// Runs inside a Node program that is examined for a hang: remembers where promises that have not
// been resolved were made or awaited. Asked for by `freezeframe.pending`; changes nothing else.
'use strict';
const hooks = require('node:async_hooks');
const MOST = 5000;
const pending = new Map();
hooks
  .createHook({
    init(id, type) {
      if (type !== 'PROMISE' || pending.size >= MOST) return;
      const limit = Error.stackTraceLimit;
      const prepare = Error.prepareStackTrace;
      Error.stackTraceLimit = 12;
      Error.prepareStackTrace = undefined;
      pending.set(id, new Error().stack);
      Error.prepareStackTrace = prepare;
      Error.stackTraceLimit = limit;
    },
    promiseResolve(id) {
      pending.delete(id);
    },
    destroy(id) {
      pending.delete(id);
    },
  })
  .enable();
Object.defineProperty(globalThis, Symbol.for('freezeframe.pending'), {
  value: () =>
    JSON.stringify({
      stacks: [...pending.values()].slice(-200),
      resources: process.getActiveResourcesInfo ? process.getActiveResourcesInfo() : [],
    }),
});
