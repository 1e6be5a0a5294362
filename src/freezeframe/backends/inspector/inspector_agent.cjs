// Runs in its own thread inside a debugged process: passes inspector messages of the main thread to
// the debugger over a unix socket, so that no TCP port is opened.
//
// One message per line. When the debugger closes the socket the session ends and the program
// continues.
'use strict';
const { workerData, parentPort } = require('worker_threads');
const { Session } = require('inspector');
const net = require('net');

const { path, hello, gate } = workerData;
const state = new Int32Array(gate);
const socket = net.connect(path);
const session = new Session();
// how long the thread outlives its session, in milliseconds
const LINGER_MS = 1000;
let over = false;

// States of the gate: 0 no answer yet, 1 the debugger is connected, 2 the program may run.
function set(value) {
  if (Atomics.load(state, 0) < value) Atomics.store(state, 0, value);
  Atomics.notify(state, 0);
}

function end() {
  if (over) return;
  over = true;
  set(2);
  socket.destroy();
  disconnect();
}

// Node 20 aborts the process when the main thread disposes of a session while the thread that owns
// it ends: so this thread ends after the main thread has answered, and has had time to finish.
function disconnect() {
  const waiting = setInterval(() => {}, LINGER_MS);
  const leave = () => {
    clearInterval(waiting);
    try { session.disconnect(); } catch { /* it was not connected */ }
    setTimeout(() => {}, LINGER_MS);
  };
  try { session.post('Debugger.disable', leave); } catch { leave(); }
}

function send(message) {
  if (!over) socket.write(JSON.stringify(message) + '\n');
}

function take(line) {
  const { id, method, params } = JSON.parse(line);
  if (method === 'Runtime.runIfWaitingForDebugger') {
    set(2);
    send({ id, result: {} });
    return;
  }
  try {
    session.post(method, params, (error, result) => {
      if (error) send({ id, error: { message: error.message.replace(/^Inspector error -?\d+: /, '') } });
      else send({ id, result });
    });
  } catch (error) {
    send({ id, error: { message: error.message } });
  }
}

socket.on('connect', () => {
  try {
    session.connectToMainThread();
  } catch {
    end();
    return;
  }
  session.on('inspectorNotification', send);
  set(1);
  send(hello);
});
let rest = [];
socket.setEncoding('utf8');
socket.on('data', (text) => {
  const lines = text.split('\n');
  if (lines.length > 1) {
    rest.push(lines[0]);
    lines[0] = rest.join('');
    rest = [];
  }
  const last = lines.pop();
  if (last) rest.push(last);
  for (const line of lines) take(line);
});
socket.on('error', end);
socket.on('close', end);

// The program exits: its last messages are still on the way here.
parentPort.on('message', (what) => {
  const done = (value) => {
    Atomics.store(state, 1, value);
    Atomics.notify(state, 1);
  };
  setImmediate(() => setImmediate(() => {
    if (what === 'leave') {
      try { session.disconnect(); } catch { /* it was not connected */ }
      done(2);
    } else if (over) done(1);
    else socket.write('', () => done(1));
  }));
});
parentPort.unref();
