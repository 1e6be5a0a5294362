"""The agent inside real debuggees, driven by a bare DAP client."""

from __future__ import annotations

import ast
import json
import os
import secrets
import select
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import debugpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.breakpoint_hits import HitCondition
from freezeframe.backends.dap.adapters.debugpy import conditions
from freezeframe.backends.dap.adapters.debugpy.conditions import Point
from freezeframe.backends.dap.adapters.debugpy.monitoring_agent import _end_quietly
from freezeframe.backends.dap.adapters.debugpy.pydevd_patches_agent import PATCHES
from freezeframe.backends.python import TEXT_AGENT
from harness.interpreters import interpreters
from harness.waits import PATIENCE_S

PACKAGE = str(Path(debugpy.__file__).parent)
HERE = Path(conditions.__file__).parent
_LAST = ["simultaneous_hits", "make_room", "held_signals", "untraced"]
_NAMES = ["failing_tests", *(patch.__name__ for patch in PATCHES), *_LAST]


class Peer:
    """One connected process; every wait is bounded."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self.socket.settimeout(PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        self.seq = 0
        self.events: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}

    def read(self) -> None:
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        header, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        length = int(header.split(b":")[1])
        while len(self.buffer) < length:
            self._more()
        message = json.loads(self.buffer[:length])
        self.buffer = self.buffer[length:]
        if message["type"] == "response":
            self.answers[message["request_seq"]] = message
        else:
            self.events.append(message)

    def _more(self) -> None:
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError
        self.buffer += data

    def send(self, command: str, **arguments: Any) -> int:
        self.seq += 1
        message = {"seq": self.seq, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        self.socket.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return self.seq

    def answer(self, seq: int) -> dict[str, Any]:
        while seq not in self.answers:
            self.read()
        return self.answers.pop(seq)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.answer(self.send(command, **arguments))

    def event(self, name: str) -> dict[str, Any]:
        while True:
            for index, message in enumerate(self.events):
                if message["event"] == name:
                    del self.events[: index + 1]
                    return message.get("body", {})
            self.read()

    def run(self, expression: str) -> str:
        answer = self.ask("evaluate", expression=expression, context="watch")
        assert answer["success"], answer
        return answer["body"]["result"]

    def configure(
        self, breakpoints: dict[str, list[dict[str, Any]]] | None = None, filters: Any = ()
    ) -> dict[str, Any]:
        """Bring the process to its first line; return the facts that the agent reports."""
        self.ask("pydevdAuthorize", debugServerAccessToken=None)
        self.ask("initialize", adapterID="test", pathFormat="path")
        self.ask("attach", justMyCode=False)
        facts = json.loads(self.run(conditions.install("session")))
        for path, wanted in (breakpoints or {}).items():
            self.ask("setBreakpoints", source={"path": path}, breakpoints=wanted)
        self.ask("setExceptionBreakpoints", filters=list(filters))
        self.ask("configurationDone")
        return facts

    def stopped(self) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        body = self.event("stopped")
        frames = self.ask("stackTrace", threadId=body["threadId"])["body"]["stackFrames"]
        return body, frames

    def go_on(self) -> None:
        self.send("continue", threadId=1)


class Debuggee:
    """A program started as the adapter starts it, and the port its children come to."""

    def __init__(self, python: str, argv: list[str], cache: str) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(PATIENCE_S)
        self.process = subprocess.Popen(
            [
                *(python, "-X", "frozen_modules=off"),
                *(str(HERE / "bootstrap_agent.py"), PACKAGE, cache),
                *("--connect", f"127.0.0.1:{self.listener.getsockname()[1]}", "--wait-for-client"),
                *("--adapter-access-token", secrets.token_hex(8), *argv),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"},
            process_group=0,
        )
        self.peer = self.accept()

    def accept(self) -> Peer:
        return Peer(self.listener.accept()[0])

    def end(self) -> tuple[int, str, str]:
        """Let it run to its end; return exit code, output and error output."""
        output, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output.decode(), errors.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, 9)
        self.process.communicate()
        self.listener.close()


Start = Callable[..., Debuggee]


@pytest.fixture(params=interpreters(), ids=str)
def python(request: pytest.FixtureRequest) -> str:
    return str(getattr(request.param, "path", request.param))


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def start(python: str, tmp_path: Path, cache: Path) -> Iterator[Start]:
    started: list[Debuggee] = []

    def start(text: str) -> Debuggee:
        program = tmp_path / "program.py"
        program.write_text(text)
        started.append(Debuggee(python, [str(program)], str(cache)))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "program.py")


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[tuple[str, int]]:
    """A FIFO and the descriptor that it is read with."""
    place = str(tmp_path / "log")
    os.mkfifo(place)
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    yield place, descriptor
    os.close(descriptor)


def everything_in(descriptor: int) -> str:
    """What is in the pipe now; the program that wrote it has ended."""
    data = b""
    while chunk := os.read(descriptor, 1 << 20):
        data += chunk
    return data.decode()


# --- installing ---------------------------------------------------------------------------------


def test_every_cure_takes_and_the_program_runs_as_without_a_debugger(start):
    debuggee = start("import sys\nprint('hello', sys.argv[1:], __name__)\nsys.exit(3)\n")

    facts = debuggee.peer.configure(filters=["uncaught"])

    assert facts["patches"] == _NAMES
    assert facts["role"] == "program"
    assert debuggee.end() == (3, "hello [] __main__\n", "")


def test_installing_twice_cures_once(start):
    debuggee = start("pass\n")
    debuggee.peer.configure()  # installs
    debuggee.end()
    again = start("import time\nwhile True: time.sleep(0.01)\n")
    again.peer.configure()

    assert json.loads(again.peer.run(conditions.install("session")))["patches"] == []


def test_the_agent_and_the_boot_script_are_written_in_the_oldest_python_s_words():
    for file in (*HERE.glob("*agent.py"), *TEXT_AGENT.parent.glob("*agent.py")):
        ast.parse(file.read_text(), feature_version=(3, 8))


def test_the_stack_ends_at_the_program_s_own_module(start, path):
    debuggee = start("def f():\n    return 1\nf()\n")
    debuggee.peer.configure({path: [{"line": 2}]})

    _, frames = debuggee.peer.stopped()

    assert [frame["name"] for frame in frames] == ["f", "<module>"]


def test_bytecode_of_the_debugger_is_kept_and_none_of_the_program(start, tmp_path, cache, python):
    (tmp_path / "other.py").write_text("print('other')\n")
    debuggee = start("import other\n")
    debuggee.peer.configure()

    assert debuggee.end() == (0, "other\n", "")
    kept = {file.name for file in cache.rglob("*.pyc")}
    assert "other.pyc" not in kept
    # Whoever ran debugpy with this interpreter before, pip included, may have left bytecode beside
    # the sources; then nothing has to be kept.
    tag = Path(python).resolve().name.replace("python", "cpython-").replace(".", "")
    beside = list(Path(PACKAGE).rglob(f"__init__.{tag}.pyc"))
    assert "pydevd.pyc" in kept or beside


def test_output_printed_before_a_stop_is_in_the_pipe_at_the_stop(start, path):
    debuggee = start("print('line')\nprint('part', end='')\nx = 1\n")
    debuggee.peer.configure({path: [{"line": 3}]})
    debuggee.peer.stopped()

    output = debuggee.process.stdout
    assert select.select([output], [], [], 0)[0]
    assert os.read(output.fileno(), 100) == b"line\npart"


def test_the_end_of_the_program_is_not_delayed(start):
    taken_s = []

    while not taken_s or (min(taken_s) >= 0.5 and len(taken_s) < 5):  # a busy machine may be slow
        debuggee = start("pass\n")
        debuggee.peer.configure()
        debuggee.peer.event("thread")
        began = time.monotonic()
        debuggee.end()
        taken_s.append(time.monotonic() - began)

    # pydevd alone takes more than 0.7 s, each time.
    assert min(taken_s) < 0.5


def test_the_last_event_is_that_it_ended(start):
    debuggee = start("pass\n")
    debuggee.peer.configure()

    debuggee.peer.event("terminated")

    assert debuggee.end()[0] == 0


# --- conditions, hits ---------------------------------------------------------------------------

LOOP = "def f(n):\n    kind = n % 2\n    return n\nfor n in range(10):\n    f(n)\n"


def stops(debuggee: Debuggee, name: str) -> list[str]:
    """The value of *name* at every stop until the program ends."""
    seen = []
    while True:
        try:
            _, frames = debuggee.peer.stopped()
        except EOFError:
            return seen
        answer = debuggee.peer.ask(
            "evaluate", expression=name, frameId=frames[0]["id"], context="watch"
        )
        seen.append(answer["body"]["result"])
        debuggee.peer.go_on()


@pytest.mark.parametrize(
    ("point", "expected"),
    [
        (Point("1", when="kind == 1"), [1, 3, 5, 7, 9]),
        (Point("1", hits="3"), [2]),
        (Point("1", hits=">= 9"), [8, 9]),
        (Point("1", hits="% 4"), [3, 7]),
        (Point("1", when="kind == 1", hits="3"), [5]),
        (Point("1", when="kind == 1", hits="%2"), [3, 7]),
        (Point("1", when="any(n == each for each in (2, 3))"), [2, 3]),
    ],
    ids=str,
)
def test_hits_count_the_passes_where_the_condition_holds(start, path, point, expected):
    debuggee = start(LOOP)
    debuggee.peer.configure({path: [{"line": 3, "condition": conditions.condition([point], None)}]})

    assert stops(debuggee, "n") == [str(n) for n in expected]


def test_setting_a_breakpoint_again_does_not_restart_its_count(start, path):
    debuggee = start(LOOP)
    first = [{"line": 3, "condition": conditions.condition([Point("7", hits="3")], None)}]
    other = {"line": 2, "condition": "n == 1"}
    debuggee.peer.configure({path: [*first, other]})
    debuggee.peer.stopped()

    debuggee.peer.ask("setBreakpoints", source={"path": path}, breakpoints=first)
    debuggee.peer.go_on()

    assert stops(debuggee, "n") == ["2"]


def test_a_condition_that_raises_stops_and_says_why(start, path):
    debuggee = start(LOOP)
    text = conditions.condition([Point("7", when="unknown > 1")], None)
    debuggee.peer.configure({path: [{"line": 3, "condition": text}]})

    debuggee.peer.stopped()

    assert debuggee.peer.run(conditions.failure("7")) == (
        "NameError: name 'unknown' is not defined"
    )
    assert debuggee.peer.run(conditions.failure("7")) == ""


def test_points_on_one_line_act_on_their_own_and_tell_which_stopped(start, path, fifo):
    debuggee = start(LOOP)
    points = [
        Point("1", when="n == 4"),
        Point("2", hits="5"),
        Point("3", log="n is {n}"),
        Point("4", when="n == 9"),
    ]
    text = conditions.condition(points, fifo[0])
    debuggee.peer.configure({path: [{"line": 3, "condition": text}]})

    debuggee.peer.stopped()
    (keys,) = json.loads(debuggee.peer.run(conditions.passed())).values()

    assert keys == ["1", "2"]
    debuggee.peer.go_on()
    assert stops(debuggee, "n") == ["9"]
    debuggee.end()
    assert everything_in(fifo[1]) == "".join(f"n is {n}\n" for n in range(10))


# --- logpoints ----------------------------------------------------------------------------------


def test_no_log_line_is_lost_when_the_program_dies_at_once(start, path, fifo):
    debuggee = start("import os\nfor n in range(2000):\n    x = n\nos._exit(5)\n")
    text = conditions.condition([Point("1", log="n={n} {{}} {n!r:>5} {gone}")], fifo[0])
    debuggee.peer.configure({path: [{"line": 3, "condition": text}]})

    # More than a pipe holds: it has to be read while the program runs.
    read = b""
    descriptor = os.pidfd_open(debuggee.process.pid)
    while not select.select([descriptor], [], [], 0)[0]:
        if select.select([fifo[1], descriptor], [], [], PATIENCE_S)[0] == [fifo[1]]:
            read += os.read(fifo[1], 1 << 20)
    os.close(descriptor)
    read += everything_in(fifo[1]).encode()

    failed = "<NameError: name 'gone' is not defined>"
    assert debuggee.end()[0] == 5
    assert read.decode().splitlines() == [f"n={n} {{}} {n!r:>5} {failed}" for n in range(2000)]


def test_a_log_line_longer_than_a_pipe_takes_at_once_arrives_whole(start, path, fifo):
    debuggee = start("text = 'x' * 300_000\ny = 1\n")
    text = conditions.condition([Point("1", log="{text}")], fifo[0])
    debuggee.peer.configure({path: [{"line": 2, "condition": text}]})

    data = b""
    while not data.endswith(b"\n"):
        assert select.select([fifo[1]], [], [], PATIENCE_S)[0]
        data += os.read(fifo[1], 1 << 20)

    assert data == b"x" * 300_000 + b"\n"


def test_without_a_reader_a_log_line_comes_through_the_debugger(start, path):
    # It waits for its input: pydevd may drop an event of a program that ends right after it.
    debuggee = start("x = 1\ny = 2\ninput()\n")
    text = conditions.condition([Point("1", log="x is {x}")], "/nonexistent/fifo")
    debuggee.peer.configure({path: [{"line": 2, "condition": text}]})

    assert debuggee.peer.event("output")["output"] == "x is 1\n"


# --- exceptions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last_line", "code", "errors"),
    [
        ("sys.exit(3)", 3, ""),
        ("raise SystemExit('sorry')", 1, "sorry\n"),
        ("sys.exit()", 0, ""),
    ],
)
def test_leaving_is_no_exception_to_stop_for(start, last_line, code, errors):
    debuggee = start(f"import sys\n{last_line}\n")
    debuggee.peer.configure(filters=["uncaught"])

    assert debuggee.end() == (code, "", errors)
    with pytest.raises(EOFError):
        debuggee.peer.event("stopped")


def test_an_uncaught_recursion_error_stops_where_it_happened(start):
    debuggee = start("def f(n):\n    return f(n + 1)\nf(0)\n")
    debuggee.peer.configure(filters=["uncaught"])

    body, frames = debuggee.peer.stopped()
    info = debuggee.peer.ask("exceptionInfo", threadId=body["threadId"])["body"]
    n = debuggee.peer.ask("evaluate", expression="n", frameId=frames[0]["id"], context="watch")

    assert body["reason"] == "exception"
    assert "RecursionError" in info["exceptionId"]
    assert {frame["name"] for frame in frames[:20]} == {"f"}
    assert int(n["body"]["result"]) > 500
    debuggee.peer.go_on()
    code, _, errors = debuggee.end()
    assert code == 1
    assert errors.count("RecursionError: maximum recursion depth exceeded") == 1


@pytest.mark.parametrize(
    "text",
    [
        "1 / 0\n",
        "import threading\nt = threading.Thread(target=lambda: 1 / 0)\nt.start()\nt.join()\n",
        "import sys\nkept = sys.excepthook\nsys.excepthook = lambda *a: kept(*a)\n1 / 0\n",
    ],
    ids=["main", "thread", "own hook"],
)
def test_an_ordinary_uncaught_exception_stops_once(start, text):
    debuggee = start(text)
    debuggee.peer.configure(filters=["uncaught"])
    debuggee.peer.stopped()

    debuggee.peer.go_on()

    with pytest.raises(EOFError):
        debuggee.peer.event("stopped")
    assert debuggee.end()[2].count("ZeroDivisionError: division by zero") == 1


def test_a_raised_exception_stops_once_where_it_starts(start):
    debuggee = start("def f():\n    {}['k']\ndef g():\n    f()\ng()\n")
    debuggee.peer.configure(filters=["raised"])

    _, frames = debuggee.peer.stopped()

    assert frames[0]["name"] == "f"
    debuggee.peer.go_on()
    with pytest.raises(EOFError):
        debuggee.peer.event("stopped")


def test_the_printed_traceback_is_the_program_s_own(start, python, path):
    debuggee = start("def f(n):\n    return 1 / n\nf(0)\n")
    debuggee.peer.configure()
    alone = subprocess.run([python, path], capture_output=True, text=True)

    assert debuggee.end() == (1, "", alone.stderr)


def test_a_syntax_error_reads_as_without_a_debugger(start, python, path):
    debuggee = start("x = = 1\n")
    debuggee.peer.configure(filters=["uncaught"])
    alone = subprocess.run([python, path], capture_output=True, text=True)

    assert debuggee.end() == (1, "", alone.stderr)


def test_without_the_filter_no_exception_stops(start):
    debuggee = start("def f(n):\n    return f(n + 1)\nf(0)\n")
    debuggee.peer.configure()

    assert debuggee.end()[0] == 1


# --- values that never show ---------------------------------------------------------------------

ENDLESS = """
class Endless:
    def __repr__(self):
        while True:
            pass
def f():
    thing = Endless()
    x = 1
    x = 2
    return x
f()
"""


def test_a_value_that_never_shows_can_be_given_up(start, path):
    debuggee = start(ENDLESS)
    debuggee.peer.configure({path: [{"line": 9}]})
    peer = debuggee.peer
    body, frames = peer.stopped()
    scope = peer.ask("scopes", frameId=frames[0]["id"])["body"]["scopes"][0]
    # Unasked, no code of the program's runs: there is nothing to hang in.
    told = peer.ask("variables", variablesReference=scope["variablesReference"])["body"]
    assert {each["name"]: each["value"] for each in told["variables"]}["thing"] == "Endless()"
    hanging = peer.send("evaluate", expression="thing", frameId=frames[0]["id"], context="watch")

    while peer.run(conditions.unstick()) == "0":
        pass  # the request has not reached the thread yet
    peer.answer(hanging)

    assert peer.run(conditions.unstick()) == "0"
    peer.send("next", threadId=body["threadId"])
    _, frames = peer.stopped()
    assert frames[0]["line"] == 10
    peer.go_on()
    assert debuggee.end()[0] == 0


# --- children -----------------------------------------------------------------------------------


def test_the_resource_tracker_is_left_alone_and_a_worker_counts_for_itself(start, path):
    debuggee = start(
        "import multiprocessing as mp\n"
        "def job(n):\n"
        "    return n\n"
        "if __name__ == '__main__':\n"
        "    job(1)\n"
        "    p = mp.get_context('spawn').Process(target=job, args=(5,))\n"
        "    p.start(); p.join(); print(p.exitcode)\n"
    )
    text = conditions.condition([Point("1", hits="1")], None)
    breakpoints = {path: [{"line": 3, "condition": text}]}
    debuggee.peer.configure(breakpoints)
    debuggee.peer.stopped()
    debuggee.peer.go_on()

    child = debuggee.accept()
    facts = child.configure(breakpoints)
    child.stopped()
    child.go_on()

    assert facts["role"] == "worker"
    assert debuggee.end() == (0, "0\n", "")
    debuggee.listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        debuggee.accept()


def test_a_fork_is_cured_anew_and_ends_at_once(start, path):
    debuggee = start(
        "import os\n"
        "print('once')\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    raise SystemExit(7)\n"
        "print(os.waitpid(pid, 0)[1] >> 8)\n"
    )
    debuggee.peer.configure()

    child = debuggee.accept()
    facts = child.configure()

    assert facts["forked"]
    assert facts["patches"] == _NAMES
    assert debuggee.end() == (0, "once\n7\n", "")


# --- writing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        ("plain", ["plain"]),
        ("{x}", [{"value": "x"}]),
        ("a{{b}}c", ["a{b}c"]),
        ("{x!r:>5}!", [{"value": "x", "convert": "r", "format": ">5"}, "!"]),
        ("{d['a:b']}", [{"value": "d['a:b']"}]),
        ("{ {1: 2}[1] }", [{"value": " {1: 2}[1] "}]),
        ("{a != b}", [{"value": "a != b"}]),
        ("{a == b}", [{"value": "a == b"}]),
        ("{x=}", ["x=", {"value": "x", "convert": "r"}]),
        ("lone } stays", ["lone } stays"]),
        ("{f(a=1)}", [{"value": "f(a=1)"}]),
    ],
)
def test_a_log_message_is_read_as_an_f_string_is(message, parts):
    assert conditions.read_log(message) == parts


@pytest.mark.parametrize("message", ["{", "{}", "{a b}", "{x", "{x!z}"])
def test_a_log_message_that_cannot_be_read_is_refused(message):
    with pytest.raises(ValueError, match="is not an expression in braces"):
        conditions.read_log(message)


@given(st.text())
def test_text_without_braces_means_itself(text):
    message = text.replace("{", "{{").replace("}", "}}")
    assert "".join(map(str, conditions.read_log(message))) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", ("==", 3)), (" >=2 ", (">=", 2)), ("% 10", ("%", 10)), ("=4", ("==", 4))],
)
def test_hit_counts_are_read(text, expected):
    assert HitCondition.parse(text) == expected


@pytest.mark.parametrize("text", ["", "three", "% 0", "-1", "3.5", "> x"])
def test_hit_counts_that_mean_nothing_are_refused(text):
    with pytest.raises(ValueError):
        HitCondition.parse(text)


def test_a_plain_point_needs_no_condition():
    assert conditions.condition([Point("1"), Point("2")], None) == "True"


def test_a_thread_that_lives_to_the_end_writes_nothing(monkeypatch):
    raised = []
    monkeypatch.setattr("sys.unraisablehook", raised.append)

    class Tracked:
        def __del__(self):
            None.get  # noqa: B018 # as pydevd does once its module has been cleared

    pydevd = type("pydevd", (), {"_DeleteDummyThreadOnDel": Tracked})
    _end_quietly(pydevd)
    Tracked()

    assert raised == []
