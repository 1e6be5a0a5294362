// An ES module that dies of what a function of its own throws; what others throw is caught.
import { strict as assert } from 'node:assert';

function parse(text) {
  return JSON.parse(text); // @thrown
}

function safe(text) {
  try {
    return parse(text);
  } catch {
    return null;
  }
}

async function load(text) {
  await null;
  return parse(text);
}

async function tolerant() {
  try {
    return await load('');
  } catch {
    return 1;
  }
}

console.log(safe('{'), await tolerant()); // @awaits
load('').catch(() => 0); // @after
await load('').catch(() => 0);
await Promise.allSettled([load('')]);
assert.throws(() => parse(''));

class Reader {
  constructor(text) {
    this.words = text.split(' ');
  }

  read() {
    return this.words.map((word) => parse(word)); // @reads
  }
}

const reader = new Reader('1 2 x');
console.log(reader.read()); // @top
