"""A debugger with a prompt for a language of one-line statements; a real process, for tests.

    PYTHON toy.py PROGRAM [async]

A line of the program is `name = expression`, `say words`, `goto N if condition` or `wait words`
(says them, and waits until it is interrupted). The toy knows breakpoints by line, one a line, and
nothing else: no conditions, no counts; it steps from frame 0 alone. With `async` it takes commands
while the program runs. Program and debugger share one output.
"""

from __future__ import annotations

import queue
import signal
import sys
import threading


class Toy:
    def __init__(self, path: str, asynchronous: bool) -> None:
        with open(path) as file:
            self.lines = file.read().splitlines()
        self.line = 1
        self.frame = 0
        self.names: dict[str, object] = {}
        self.breaks: set[int] = set()
        self.asynchronous = asynchronous
        # Not an event: a signal's handler may come while its lock is held.
        self.interrupts: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.runner: threading.Thread | None = None

    def say(self, words: str, end: str = "\n") -> None:
        sys.stdout.write(words + end)
        sys.stdout.flush()

    def prompt(self) -> None:
        self.say("toy> ", end="")

    def one(self) -> None:
        words = self.lines[self.line - 1].partition("#")[0].strip()
        self.line += 1
        if words.startswith("say "):
            self.say(words[4:])
        elif words.startswith("wait "):
            self.say(words[5:])
            self.interrupts.put(self.interrupts.get())
        elif words.startswith("goto "):
            target, _, condition = words[5:].partition(" if ")
            if eval(condition, {}, self.names):
                self.line = int(target)
        elif "=" in words:
            name, _, expression = words.partition("=")
            self.names[name.strip()] = eval(expression, {}, self.names)

    def run(self, single: bool) -> None:
        while True:
            self.one()
            if self.line > len(self.lines):
                self.say("toy: ended")
                return
            if not self.interrupts.empty():
                self.interrupts.get()
                self.say(f"toy: interrupted at {self.line}")
                return
            if single or self.line in self.breaks:
                self.say(f"toy: stopped at {self.line}")
                return

    def go(self, single: bool) -> None:
        if not self.asynchronous:
            self.run(single)
            return

        def beside() -> None:
            self.run(single)
            self.prompt()

        self.runner = threading.Thread(target=beside, daemon=True)
        self.runner.start()

    def obey(self, command: str) -> bool:
        word, _, rest = command.partition(" ")
        if word == "print":
            try:
                self.say(repr(eval(rest, {}, self.names)))
            except Exception as error:
                self.say(f"error: {error}")
        elif word == "echo":
            self.say(rest)
        elif word == "break":
            self.breaks.add(int(rest))
            self.say(f"breakpoint at {rest}")
        elif word == "delete":
            self.breaks.discard(int(rest))
        elif word == "names":
            self.say("\n".join(f"{name}={value!r}" for name, value in self.names.items()))
        elif word == "where":
            self.say(f"line {self.line}")
        elif word == "frame":
            self.frame = int(rest)
        elif word == "step" and self.frame:
            self.say("error: no step from here")
        elif word in ("go", "step"):
            self.frame = 0
            self.go(word == "step")
        elif word == "hold":
            self.interrupts.put(1)
            if self.runner is not None:
                self.runner.join()
        elif word == "sleep":
            threading.Event().wait()
        elif word == "quit":
            return False
        return True

    def main(self) -> None:
        signal.signal(signal.SIGINT, lambda *_: self.interrupts.put(1))
        lines: queue.Queue[str] = queue.Queue()

        def read() -> None:
            # A signal that another thread gets does not wake the one that waits.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            for line in sys.stdin:
                lines.put(line.rstrip("\n"))
            lines.put("quit")

        threading.Thread(target=read, daemon=True).start()
        self.say("toy 1.0")
        while True:
            self.prompt()
            if not self.obey(lines.get()):
                return


Toy(sys.argv[1], "async" in sys.argv[2:]).main()
