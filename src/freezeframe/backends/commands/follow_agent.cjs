// Run a command and exit as it exits. The debugger follows node programs below it.
const { spawn } = require("child_process");

const [command, ...args] = process.argv.slice(2);
process.on("SIGINT", () => {});
spawn(command, args, { stdio: "inherit" }).on("close", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
