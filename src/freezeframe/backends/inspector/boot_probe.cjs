// Runs first in every node that a debugged program starts: lets the debugger in, and waits until it
// is ready. A debugger that is gone is not waited for.
'use strict';
const { isMainThread, Worker } = require('worker_threads');
if (isMainThread && process.env.FREEZEFRAME_CALL && !require('inspector').url()) {
  try {
    const { pid, argv } = process;
    const gate = new SharedArrayBuffer(8);
    const state = new Int32Array(gate);
    const hello = { pid, argv: argv.map((word) => word.slice(0, 200)).slice(0, 12) };
    const workerData = { path: process.env.FREEZEFRAME_CALL, hello, gate };
    // Options, environment and standard streams are the program's, not this thread's.
    const options = { workerData, env: {}, execArgv: [], stdout: true, stderr: true };
    const agent = new Worker(require('path').join(__dirname, 'agent_probe.cjs'), options);
    agent.unref();
    // Waits are short: between them what the debugger asks for is done.
    const until = (index, value, end) => {
      for (let now = Atomics.load(state, index); now < value && Date.now() < end; now = Atomics.load(state, index)) {
        Atomics.wait(state, index, now, 1);
      }
      return Atomics.load(state, index) >= value;
    };
    if (until(0, 1, Date.now() + 60000)) until(0, 2, Infinity);
    const asked = (what, value) => {
      agent.postMessage(what);
      until(1, value, Date.now() + 2000);
      // What the agent did last reaches this thread at its next turn.
      for (let turn = 0; turn < 3; turn++) Atomics.wait(state, 1, Atomics.load(state, 1), 1);
    };
    process.on('exit', () => {
      // The agent's thread ends with the program, and node says that it waits for a debugger that is
      // still connected: so what was said is sent now, and the session ended last.
      asked('flush', 1);
      const { reallyExit } = process;
      process.reallyExit = (code) => {
        asked('leave', 2);
        reallyExit.call(process, code);
      };
    });
  } catch {
    // Threads are not allowed here: it runs as it would alone.
  }
}
