"""A scripted debug adapter, run as a real process, for faults no real adapter has on demand.

    python fake_adapter.py SCRIPT [--connect HOST:PORT]

SCRIPT is JSON (or `@FILE`); without --connect it speaks on stdin and stdout, with it, it dials
(reverse connection). `command(script)` gives the argv to spawn. It implements the protocol by
itself, so that a mistake of ours is not repeated here. An empty script `{}` is a well-behaved
adapter whose program ends with exit code 0 at once. Keys, all optional:

  capabilities   body of the initialize response (default: configurationDone and a few more)
  initialized    when that event is sent: `initialize` (right after that response), `launch`
                 (default: before the launch response), `answer` (after it), `never`
  launch         when launch/attach is answered: `configured` (default: after configurationDone),
                 `at once`, `never`
  stops          list of stops; each resuming request (configurationDone, continue, next, stepIn,
                 stepOut) goes to the next one, and after the last the program exits. A stop is the
                 body of the `stopped` event (reason, threadId, … filled in), and may also hold
                 `line` of its top frame and `variables` {name: text} of its locals
  path           source path of every frame (default: `source.path` of the last setBreakpoints)
  exit_code      of the program (default 0); null: no `exited` event at all
  silent         commands that are never answered
  deaf           a command from which on nothing is answered any more
  refuse         {command: text | {"message": …, "body": …}}: answered with a failure
  replies        {command: body | [body, …]}: bodies of successful answers; a list is used up one
                 by one, its last item stays
  before, after  {command: [action, …]}: done before or after that command is answered
  start          [action, …] when the process starts
  banner         text printed before anything else (rdbg does)
  split          send every message in two writes, the second one this many seconds later
  seq_zero       `seq` is 0 on everything (delve 1.20)

Actions, done in order:
  {"event": NAME, "body": {…}}     {"output": TEXT, "category": …}
  {"flood": N, "text": TEXT}       N output events; {"flood": N, "stopped": {…}}: N stops
  {"request": COMMAND, "arguments": {…}}   a reverse request; its answer is told in an output
                                   event of category `console`: `COMMAND answered: {json}`
  {"raw": {…}}                     any message as it is
  {"respond": SEQ}                 a response to a request that was perhaps never made
  {"noise": TEXT}                  text outside of a message
  {"garbage": TEXT}                a framed body that is not JSON
  {"header": TEXT}                 the given header line and an empty line, no body
  {"half": true}                   the first half of a message
  {"stderr": TEXT}  {"touch": PATH}  {"spawn": [ARGV]} (a child that outlives us)
  {"close": true}                  closes the connection, lives on until stdin or a signal ends it
  {"die": CODE}                    exits at once (negative: by that signal)
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any, BinaryIO

Json = dict[str, Any]
RESUMING = ("configurationDone", "continue", "next", "stepIn", "stepOut")
CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsFunctionBreakpoints": True,
    "supportsSetVariable": True,
    "supportTerminateDebuggee": True,
    "exceptionBreakpointFilters": [
        {"filter": "raised", "label": "Raised", "default": False},
        {"filter": "uncaught", "label": "Uncaught", "default": True},
    ],
}


def command(script: Json, *options: str) -> list[str]:
    """Return the argv that runs this adapter with *script*."""
    return [sys.executable, os.path.abspath(__file__), json.dumps(script), *options]


class Adapter:
    def __init__(self, script: Json, source: BinaryIO, sink: BinaryIO) -> None:
        self.script = script
        self.source = source
        self.sink = sink
        self.seq = 0
        self.deaf = False
        self.launch: Json | None = None
        self.stops: list[Json] = list(script.get("stops", ()))
        self.stop: Json = {}
        self.path = script.get("path", "/program")
        self.reasons = {"next": "step", "stepIn": "step", "stepOut": "step"}

    def run(self) -> None:
        if "banner" in self.script:
            self.write(self.script["banner"].encode())
        self.act(self.script.get("start", ()))
        while (message := self.read()) is not None:
            if message["type"] == "request":
                self.serve(message)
            elif message["type"] == "response":
                shown = {key: message.get(key) for key in ("success", "message", "body")}
                text = f"{message['command']} answered: {json.dumps(shown)}"
                self.event("output", category="console", output=text)

    # --- requests

    def serve(self, request: Json) -> None:
        name = request["command"]
        self.deaf = self.deaf or name == self.script.get("deaf")
        self.act(self.script.get("before", {}).get(name, ()))
        if self.deaf or name in self.script.get("silent", ()):
            pass
        elif name in self.script.get("refuse", {}):
            self.refuse(request, self.script["refuse"][name])
        elif name in ("launch", "attach"):
            self.start(request)
        else:
            self.answer(request, self.body(name, request.get("arguments") or {}))
            if name == "initialize" and self.script.get("initialized") == "initialize":
                self.event("initialized")
            if name == "configurationDone" and self.launch is not None:
                self.answer(self.launch)
            if name in RESUMING:
                self.resume(name)
            if name in ("disconnect", "terminate"):
                self.event("terminated")
        self.act(self.script.get("after", {}).get(name, ()))
        if name == "disconnect" and not self.deaf:
            sys.exit(0)

    def start(self, request: Json) -> None:
        when = self.script.get("initialized", "launch")
        answer = self.script.get("launch", "configured")
        if when == "launch":
            self.event("initialized")
        if answer == "at once":
            self.answer(request)
        elif answer == "configured":
            self.launch = request
        if when == "answer":
            self.event("initialized")

    def resume(self, name: str) -> None:
        if self.stops:
            self.stop = dict(self.stops.pop(0))
            hidden = ("line", "variables")
            body = {key: value for key, value in self.stop.items() if key not in hidden}
            body.setdefault("reason", self.reasons.get(name, "breakpoint"))
            body.setdefault("threadId", 1)
            body.setdefault("allThreadsStopped", True)
            self.event("stopped", **body)
            return
        code = self.script.get("exit_code", 0)
        if code is not None:
            self.event("exited", exitCode=code)
        self.event("terminated")

    def body(self, name: str, arguments: Json) -> Json | None:
        replies = self.script.get("replies", {})
        if name in replies:
            reply = replies[name]
            if isinstance(reply, list):
                reply = reply.pop(0) if len(reply) > 1 else reply[0]
            return reply  # type: ignore[no-any-return]
        canned = getattr(self, f"on_{name}", None)
        return canned(arguments) if canned is not None else None

    def on_initialize(self, arguments: Json) -> Json:
        return self.script.get("capabilities", CAPABILITIES)  # type: ignore[no-any-return]

    def on_setBreakpoints(self, arguments: Json) -> Json:
        self.path = self.script.get("path", arguments["source"].get("path", self.path))
        asked = arguments.get("breakpoints") or ()
        return {
            "breakpoints": [
                {"id": number, "verified": True, "line": item["line"]}
                for number, item in enumerate(asked, 1)
            ]
        }

    def on_setFunctionBreakpoints(self, arguments: Json) -> Json:
        return {"breakpoints": [{"verified": True} for _ in arguments["breakpoints"]]}

    def on_threads(self, arguments: Json) -> Json:
        return {"threads": [{"id": self.stop.get("threadId", 1), "name": "main"}]}

    def on_stackTrace(self, arguments: Json) -> Json:
        source = {"name": os.path.basename(self.path), "path": self.path}
        line = self.stop.get("line", 1)
        frames = [{"id": 1, "name": "main", "source": source, "line": line, "column": 1}]
        return {"stackFrames": frames, "totalFrames": 1}

    def on_scopes(self, arguments: Json) -> Json:
        scope = {"name": "Locals", "variablesReference": 1, "expensive": False}
        return {"scopes": [scope | {"presentationHint": "locals"}]}

    def on_variables(self, arguments: Json) -> Json:
        values = self.stop.get("variables", {}) if arguments["variablesReference"] == 1 else {}
        return {
            "variables": [
                {"name": name, "value": text, "variablesReference": 0}
                for name, text in values.items()
            ]
        }

    def on_evaluate(self, arguments: Json) -> Json:
        text = arguments["expression"]
        known = self.stop.get("variables", {})
        return {"result": known.get(text, text), "variablesReference": 0}

    def on_continue(self, arguments: Json) -> Json:
        return {"allThreadsContinued": True}

    # --- messages

    def send(self, message: Json) -> None:
        self.seq += 1
        seq = 0 if self.script.get("seq_zero") else self.seq
        body = json.dumps({"seq": seq, **message}).encode()
        header = b"Content-Length: %d\r\n\r\n" % len(body)
        if "split" in self.script:
            self.write(header)
            time.sleep(self.script["split"])
            self.write(body)
        else:
            self.write(header + body)

    def event(self, name: str, **body: Any) -> None:
        self.send({"type": "event", "event": name, **({"body": body} if body else {})})

    def answer(self, request: Json, body: Json | None = None) -> None:
        head = {"type": "response", "request_seq": request["seq"], "command": request["command"]}
        self.send({**head, "success": True, **({} if body is None else {"body": body})})

    def refuse(self, request: Json, reason: Json | str) -> None:
        words: Json = {"message": reason} if isinstance(reason, str) else reason
        head = {"type": "response", "request_seq": request["seq"], "command": request["command"]}
        self.send({**head, "success": False, **words})

    def act(self, actions: Any) -> None:
        for action in actions:
            verb = next(iter(action))
            getattr(self, f"do_{verb}")(action)

    def do_event(self, action: Json) -> None:
        self.event(action["event"], **action.get("body", {}))

    def do_output(self, action: Json) -> None:
        self.event("output", category=action.get("category", "stdout"), output=action["output"])

    def do_flood(self, action: Json) -> None:
        for _ in range(action["flood"]):
            if "stopped" in action:
                self.event("stopped", **action["stopped"])
            else:
                self.event("output", category="stdout", output=action.get("text", "x\n"))

    def do_request(self, action: Json) -> None:
        arguments = action.get("arguments", {})
        self.send({"type": "request", "command": action["request"], "arguments": arguments})

    def do_raw(self, action: Json) -> None:
        self.send(action["raw"])

    def do_respond(self, action: Json) -> None:
        self.answer({"seq": action["respond"], "command": "late"})

    def do_noise(self, action: Json) -> None:
        self.write(action["noise"].encode())

    def do_garbage(self, action: Json) -> None:
        body = action["garbage"].encode()
        self.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def do_header(self, action: Json) -> None:
        self.write(action["header"].encode() + b"\r\n\r\n")

    def do_half(self, action: Json) -> None:
        self.write(b'Content-Length: 100\r\n\r\n{"type": "eve')

    def do_stderr(self, action: Json) -> None:
        sys.stderr.write(action["stderr"])
        sys.stderr.flush()

    def do_touch(self, action: Json) -> None:
        with open(action["touch"], "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))

    def do_spawn(self, action: Json) -> None:
        subprocess.Popen(action["spawn"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def do_close(self, action: Json) -> None:
        self.sink.close()
        self.source.read()
        signal.pause()

    def do_die(self, action: Json) -> None:
        if action["die"] < 0:
            signal.signal(-action["die"], signal.SIG_DFL) if action["die"] != -9 else None
            os.kill(os.getpid(), -action["die"])
        os._exit(action["die"])

    def write(self, data: bytes) -> None:
        try:
            self.sink.write(data)
            self.sink.flush()
        except BrokenPipeError:
            os._exit(0)

    def read(self) -> Json | None:
        length = 0
        while True:
            line = self.source.readline()
            if not line:
                return None
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            elif line == b"\r\n":
                return json.loads(self.source.read(length))  # type: ignore[no-any-return]


def main(argv: list[str]) -> None:
    text = argv[0]
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read()
    script = json.loads(text)
    if argv[1:2] == ["--connect"]:
        host, _, port = argv[2].rpartition(":")
        link = socket.create_connection((host, int(port)))
        Adapter(script, link.makefile("rb"), link.makefile("wb")).run()
    else:
        Adapter(script, sys.stdin.buffer, sys.stdout.buffer).run()


if __name__ == "__main__":
    main(sys.argv[1:])
