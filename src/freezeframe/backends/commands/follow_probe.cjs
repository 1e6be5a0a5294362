// Runs a command and ends as it ends. Programs of node below it are followed by the debugger.
const { spawn } = require("child_process");

const [command, ...words] = process.argv.slice(2);
process.on("SIGINT", () => {});
spawn(command, words, { stdio: "inherit" }).on("close", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
