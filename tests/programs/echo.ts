// Echoes its standard input line by line, and counts the lines.
type Line = string;

console.log('ready');
let count = 0;
const lines = require('readline').createInterface({ input: process.stdin });
lines.on('line', (line: Line) => {
  count += 1;
  console.log('heard', line.trim()); // @line
});
lines.on('close', () => {
  console.log('lines', count); // @eof
});
