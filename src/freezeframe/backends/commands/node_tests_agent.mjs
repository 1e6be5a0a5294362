// Run test files of node:test in one process, in the given order.
import { pathToFileURL } from "node:url";

const files = process.argv.slice(2);
process.argv.length = 2;
for (const file of files) await import(pathToFileURL(file).href);
