// Runs first in every node that a debugged program starts: connects to the debugger, and waits
// until it is ready. Does not wait for a debugger that is gone.
'use strict';
const { isMainThread, Worker } = require('worker_threads');
if (isMainThread && process.env.FREEZEFRAME_CALL && !require('inspector').url()) {
  try {
    // As in `bootstrap_script.py`: a return of a variable has a position where it is visible.
    require('v8').setFlagsFromString('--no-ignition-reo');
    const { pid, argv } = process;
    const gate = new SharedArrayBuffer(8);
    const state = new Int32Array(gate);
    const hello = { pid, argv: argv.map((word) => word.slice(0, 200)).slice(0, 12) };
    const workerData = { path: process.env.FREEZEFRAME_CALL, hello, gate };
    // Options, environment and standard streams are for the program, not for this thread.
    const options = { workerData, env: {}, execArgv: [], stdout: true, stderr: true };
    const agent = new Worker(require('path').join(__dirname, 'inspector_agent.cjs'), options);
    agent.unref();
    // Waits are short: between them the requests of the debugger are handled.
    const until = (index, value, end) => {
      for (let now = Atomics.load(state, index); now < value && Date.now() < end; now = Atomics.load(state, index)) {
        Atomics.wait(state, index, now, 1);
      }
      return Atomics.load(state, index) >= value;
    };
    if (until(0, 1, Date.now() + 60000)) until(0, 2, Infinity);
    require('./child_environment_agent.cjs');
    const notifyAgent = (what, value) => {
      agent.postMessage(what);
      until(1, value, Date.now() + 2000);
      // The agent's last actions reach this thread in its next turn.
      for (let turn = 0; turn < 3; turn++) Atomics.wait(state, 1, Atomics.load(state, 1), 1);
    };
    // The agent's thread ends with the program, and node prints that it waits for a debugger that
    // is still connected: so the session is ended last, when no code of the program is left to run.
    const leave = () => {
      notifyAgent('flush', 1);
      notifyAgent('leave', 2);
    };
    process.on('exit', () => notifyAgent('flush', 1));
    const { reallyExit } = process;
    process.reallyExit = function (code) {
      leave();
      reallyExit.call(process, code);
    };
    // After an uncaught error node exits without an event for the program.
    process.on('uncaughtExceptionMonitor', () => {
      const { emit } = process;
      const value = function (name) {
        try {
          return Reflect.apply(emit, this, arguments);
        } finally {
          if (name === 'exit') leave();
        }
      };
      Object.defineProperty(process, 'emit', { value, configurable: true, writable: true });
    });
  } catch {
    // Threads are not allowed here: the program runs without a debugger.
  }
}
