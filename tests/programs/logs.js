// Passes one line 500 times and then dies at once, without a chance to flush anything.
'use strict';

let value = 0;
for (let turn = 0; turn < 500; turn++) {
  value = turn * turn; // @turn
}
process.reallyExit(9); // @exit
