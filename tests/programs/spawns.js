// Starts a child of its own language twice, and a program that is none, and adds up their exit codes.
'use strict';

const { spawnSync } = require('child_process');
const path = require('path');

const child = path.join(__dirname, 'child.js');

function run(number) {
  const done = spawnSync(process.execPath, [child, String(number)], { encoding: 'utf8' });
  console.log('from child:', done.stdout.trim());
  return done.status; // @returned
}

let codes = run(2) + run(3); // @parent
codes += spawnSync('true').status;
console.log('codes', codes);
process.exitCode = codes; // @end
