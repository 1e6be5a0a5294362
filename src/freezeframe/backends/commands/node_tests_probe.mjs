// Runs test files of node:test in one process, in the order in which they are named.
import { pathToFileURL } from "node:url";

const files = process.argv.slice(2);
process.argv.length = 2;
for (const file of files) await import(pathToFileURL(file).href);
