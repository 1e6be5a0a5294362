// Never ends by itself, and writes a file when it has begun.
type Path = string;

const fs = require('fs');

function spin(path: Path): never {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  let turns = 0;
  fs.writeFileSync(path, 'spinning');
  for (;;) {
    turns += 1; // @turn
    Atomics.wait(nothing, 0, 0, 1);
  }
}

spin(process.argv[2] || 'spinning.txt');
