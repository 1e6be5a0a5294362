// A loop that never ends, with the variables of an ordinary function.
'use strict';

function work(first, second, label) {
  let total = 0;
  const seen = { a: 1, b: [1, 2, 3] };
  const words = ['one', 'two', 'three'];
  for (;;) {
    total = (total + first) % 1000;
    second = total % 7; // @stop
    label = words[second % 3];
    seen.a = label.length;
  }
}

work(3, 4, 'begin');
