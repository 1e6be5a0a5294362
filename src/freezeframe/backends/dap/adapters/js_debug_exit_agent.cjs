// Runs first in a program under js-debug, which does not report how it ends: writes its exit code to
// the file that the debugger reads. Leaves no trace in what the program passes to its children.
'use strict';
{
  const { FREEZEFRAME_EXIT_FILE } = process.env;
  delete process.env.FREEZEFRAME_EXIT_FILE;
  const at = process.execArgv.indexOf(__filename);
  if (at > 0) process.execArgv.splice(at - 1, 2);
  const { writeFileSync } = require('fs');
  const { reallyExit } = process;
  const write = (code) => {
    try {
      writeFileSync(FREEZEFRAME_EXIT_FILE, String(code ?? process.exitCode ?? 0));
    } catch {
      // The debugger is gone.
    }
  };
  if (FREEZEFRAME_EXIT_FILE && require('worker_threads').isMainThread) {
    process.on('exit', write);
    process.reallyExit = function (code) {
      write(code);
      reallyExit.call(process, code);
    };
  }
}
