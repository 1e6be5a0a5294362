// Runs first in every node that a debugged program starts: tells the debugger where to call, and
// waits for it. A debugger that is gone is not waited for.
'use strict';
if (require('worker_threads').isMainThread && process.env.FREEZEFRAME_CALL) {
  try {
    const fs = require('fs');
    const inspector = require('inspector');
    if (!inspector.url()) {
      const { O_WRONLY, O_NONBLOCK } = fs.constants;
      const line = fs.openSync(process.env.FREEZEFRAME_CALL, O_WRONLY | O_NONBLOCK);
      inspector.open(0, '127.0.0.1', false);
      const { pid, ppid, argv } = process;
      fs.writeSync(line, JSON.stringify({ pid, ppid, url: inspector.url(), argv: argv.map((word) => word.slice(0, 200)).slice(0, 12) }) + '\n');
      fs.closeSync(line);
      inspector.waitForDebugger();
    }
  } catch {
    // Nobody listens, or the inspector may not be used here: it runs as it would alone.
  }
}
