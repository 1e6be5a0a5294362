// Prints much: as many megabytes as the first argument says, in lines of 100 bytes.
export {};

interface Size {
  megabytes: number;
}

const { megabytes }: Size = { megabytes: Number(process.argv[2] || 1) };
const line = 'x'.repeat(99) + '\n';
const lines = Math.floor(megabytes * 10_000);
const block = line.repeat(1000);
for (let i = 0; i < Math.floor(lines / 1000); i++) {
  process.stdout.write(block);
}
console.log('last line', lines); // @end
