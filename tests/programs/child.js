// The child of `spawns`: prints what it was given, and ends with it as its exit code.
'use strict';

function work(number) {
  const doubled = number * 2;
  console.log('child', number, doubled); // @child
  return number; // @child_return
}

process.exitCode = work(Number(process.argv[2]));
