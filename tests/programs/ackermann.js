// A recursion that is called 44 times, and a loop of ten rounds with known values.
'use strict';

function ackermann(m, n) {
  if (m === 0) { // @entry
    return n + 1;
  }
  if (n === 0) {
    return ackermann(m - 1, 1);
  }
  return ackermann(m - 1, ackermann(m, n - 1));
}

function squares() {
  let total = 0;
  for (let i = 0; i < 10; i++) {
    const square = i * i;
    total += square; // @square
  }
  return total;
}

console.log(squares());
console.log(ackermann(2, 3));
