"""The real client against a daemon of its own, and the promises that hold after every test."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from . import hints, schemas, waits
from .client_server import ClientServer, python_variables

REPOSITORY = Path(__file__).parent.parent.parent
CLIENT = REPOSITORY / "scripts" / "dbg"

#: a hang is a failure; no command of a test waits half as long
HANG_S = 90.0
#: in the environment of everything that a test starts, directly or not
MARKER = "FREEZEFRAME_TEST_ID"
#: what may stay in the daemon's folder when it has left: locks are never removed (two starts could
#: otherwise hold locks on two files of one name), log, history, cache and the user's own file do
_MAY_STAY = (
    *("*.lock", "daemon.log*", "config.toml", "tap.jsonl*", "history.db*", "cache"),
    *("confirmed-launches.json", "answers/*.json"),
)


@dataclass(frozen=True)
class Answer:
    """What a client printed, and its exit status."""

    command: tuple[str, ...]
    out: str
    err: str
    code: int

    def json(self) -> dict[str, Any]:
        """Return the envelope that was printed with --json."""
        try:
            envelope = json.loads(self.out)
        except ValueError:
            raise AssertionError(f"not JSON: {self}") from None
        assert isinstance(envelope, dict)
        return envelope

    def data(self) -> dict[str, Any]:
        """Return the data of a success, checked against its schema, with defaults written out."""
        envelope = self.json()
        assert envelope["ok"] is True, str(self)
        data = schemas.whole(self.command, envelope["data"])
        assert isinstance(data, dict), str(self)
        return data

    def __str__(self) -> str:
        shown = f"$ dbg {' '.join(self.command)}\n{self.out}"
        return shown + (f"[stderr]\n{self.err}" if self.err else "") + f"[exit {self.code}]"


class Background:
    """A client that runs beside the test."""

    def __init__(self, command: tuple[str, ...], process: subprocess.Popen[str]) -> None:
        self.command = command
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout_s: float = HANG_S) -> Answer:
        """Return its answer; a client that does not come back in time is killed and a failure."""
        try:
            out, err = self._process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            out, err = self._process.communicate()
            raise AssertionError(
                f"hang: dbg {' '.join(self.command)} after {timeout_s:g} s\n{out}{err}"
            ) from None
        hints.check(out, err)
        return Answer(self.command, out, err, self._process.returncode)

    def interrupt(self) -> None:
        """Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self._process.kill()

    def write(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def dispose(self) -> None:
        if self.running:
            self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._process.wait()


class Dbg:
    """Runs `dbg` in a project, against a daemon that no other test shares.

    `dbg("next", "--count", "3")` gives the Answer of a client process; `dbg.data(…)` the data of
    its JSON answer, which must be a success; `dbg.error(…)` the error of one that must fail.
    In a *home* of an earlier test, with its daemon, the log and the messages begin anew.
    """

    def __init__(self, project: Path, home: Path | None = None, *, lent: bool = False) -> None:
        self.project = project
        self._lent = lent
        self.id = uuid.uuid4().hex[:12]
        self.home = home or new_home()
        self.tap = self.home / "tap.jsonl"
        self.env = self._environment()
        #: what runs the client, and further arguments of Popen for it
        self.interpreter = sys.executable
        self.options: dict[str, Any] = {}
        self._background: list[Background] = []
        self._log_before = len(self._whole_log())
        self._tap_before = self.tap.stat().st_size if self.tap.exists() else 0

    def _environment(self) -> dict[str, str]:
        env = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("FREEZEFRAME_", "DBG_", "PYTEST_", "PYDEVD_", "DEBUGPY_"))
        }
        # A thousand daemons that compile every module anew are half of the time of a run.
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        env.update(
            {
                "FREEZEFRAME_HOME": str(self.home),
                "FREEZEFRAME_DAP_TAP": str(self.tap),
                # Should a test run itself be killed, its daemons do not stay for half an hour.
                "FREEZEFRAME_IDLE_TIMEOUT_S": "300",
                MARKER: self.id,
                "VIRTUAL_ENV": sys.prefix,
                "PATH": os.path.join(sys.prefix, "bin") + os.pathsep + env.get("PATH", ""),
                "NO_COLOR": "1",
            }
        )
        return env

    def use_interpreter(self, path: str) -> None:
        """Make *path* the `python3` of the caller, with no venv active."""
        bin = self.home / "bin"
        bin.mkdir(exist_ok=True)
        for name in ("python", "python3"):
            (bin / name).unlink(missing_ok=True)
            (bin / name).symlink_to(path)
        self.env.pop("VIRTUAL_ENV", None)
        self.env["PATH"] = str(bin) + os.pathsep + os.environ.get("PATH", "")

    def configure(self, text: str) -> None:
        """Write config.toml. A daemon that other tests share must not see it."""
        assert not self._lent, "mark the test own_daemon"
        (self.home / "config.toml").write_text(text)

    # --- commands ---

    def start_background(
        self,
        *words: object,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Background:
        """Start a client and return while it runs."""
        command = tuple(map(str, words))
        process = subprocess.Popen(
            [self.interpreter, str(CLIENT), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            cwd=cwd or self.project,
            env={**self.env, **(env or {})},
            **self.options,
        )
        background = Background(command, process)
        self._background.append(background)
        return background

    def __call__(
        self,
        *words: object,
        stdin: str | bytes | IO[bytes] = "",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        timeout_s: float = HANG_S,
    ) -> Answer:
        """Run one command to its end and return its answer.

        It is read through pipes until they close, so a daemon that keeps the caller's pipes open
        is a hang here as it would be in `x=$(dbg …)`.
        """
        command = tuple(map(str, words))
        given = stdin.encode() if isinstance(stdin, str) else stdin
        environment = {**self.env, **(env or {})}
        where = cwd or self.project
        try:
            if self._needs_interpreter(environment):
                out, err, code = self._run_apart(command, given, environment, where, timeout_s)
            else:
                out, err, code = _client_server().run(
                    [str(CLIENT), *command],
                    stdin=given if isinstance(given, bytes) else given.fileno(),
                    env=environment,
                    cwd=where,
                    timeout_s=timeout_s,
                )
        except TimeoutError:
            raise AssertionError(
                f"hang: dbg {' '.join(command)} after {timeout_s:g} s\n{self.log_tail()}"
            ) from None
        answer = Answer(command, out.decode(errors="replace"), err.decode(errors="replace"), code)
        hints.check(answer.out, answer.err)
        return answer

    def _needs_interpreter(self, env: Mapping[str, str]) -> bool:
        """Whether a client is not what a fork of the one that was started would be."""
        return bool(
            self.options
            or self.interpreter != sys.executable
            or "PYTHONDONTWRITEBYTECODE" in env
            or python_variables(env) != _client_server().python_variables
        )

    def _run_apart(
        self,
        command: tuple[str, ...],
        stdin: bytes | IO[bytes],
        env: Mapping[str, str],
        cwd: Path,
        timeout_s: float,
    ) -> tuple[bytes, bytes, int]:
        """Run a client in an interpreter, or with an account, of its own. Raises TimeoutError."""
        process = subprocess.Popen(
            [self.interpreter, str(CLIENT), *command],
            stdin=subprocess.PIPE if isinstance(stdin, bytes) else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
            **self.options,
        )
        try:
            out, err = process.communicate(
                stdin if isinstance(stdin, bytes) else None, timeout=timeout_s
            )
        except subprocess.TimeoutExpired:
            process.kill()
            raise TimeoutError from None
        return out, err, process.returncode

    def envelope(self, *words: object, **options: Any) -> dict[str, Any]:
        """Run a command with --json and return the whole envelope, success or not."""
        return self("--json", *words, **options).json()

    def data(self, *words: object, code: int | None = None, **options: Any) -> dict[str, Any]:
        """Run a command with --json that must succeed, and return its data, defaults written out.

        The data must keep to the schema of the operation. Exit status 0 and 124 (the program still
        runs) are successes, unless *code* says which.
        """
        answer = self("--json", *words, **options)
        data = answer.data()
        assert answer.code in ((0, 124) if code is None else (code,)), str(answer)
        return data

    def error(self, *words: object, code: int | None = None, **options: Any) -> dict[str, Any]:
        """Run a command with --json that must fail, and return its error."""
        answer = self("--json", *words, **options)
        envelope = answer.json()
        assert envelope["ok"] is False, str(answer)
        assert answer.code == code if code is not None else answer.code != 0, str(answer)
        error = envelope["error"]
        assert error["code"], str(answer)
        assert error["message"], str(answer)
        return dict(error)

    # --- what is there ---

    def processes(self) -> dict[int, str]:
        """Return pid and command of everything that lives because of this test."""
        return waits.processes_with(MARKER, self.id)

    def log(self) -> str:
        """Return what was logged since the test began."""
        return self._whole_log()[self._log_before :]

    def _whole_log(self) -> str:
        told = ""
        for path in waits.files_below(self.home):
            with contextlib.suppress(FileNotFoundError):  # of a session that just ended
                told += path.read_text(errors="replace") if path.suffix == ".log" else ""
        return told

    def daemon_lives(self) -> bool:
        """Whether there is a daemon in this home, as far as its socket says."""
        return any(path.name == "daemon.sock" for path in waits.files_below(self.home))

    def log_tail(self, lines: int = 40) -> str:
        return "daemon.log ends with:\n" + "\n".join(self.log().splitlines()[-lines:])

    def sent_messages(self) -> list[dict[str, Any]]:
        """Return every message that a debugger was sent so far, in order."""
        if not self.tap.exists():
            return []
        told = self.tap.read_bytes()[self._tap_before :].decode()
        records = [json.loads(line) for line in told.splitlines()]
        return [record["message"] for record in records if record["direction"] == "send"]

    # --- the end ---

    def close(self, *, patience_s: float = 10) -> list[str]:
        """End the daemon, take everything away, and return what was not as it must be."""
        self._dispose_clients()
        problems = self._told("daemon", "stop") if self.daemon_lives() else []
        problems += self._left_behind(patience_s)
        # A daemon that another test started is not among our processes: it may be leaving still.
        with contextlib.suppress(AssertionError):
            waits.wait_until(lambda: not self._files_left(), "it left", timeout_s=patience_s)
        if left := self._files_left():
            problems.append(f"files were left: {', '.join(left)}")
        shutil.rmtree(self.home, ignore_errors=True)
        return problems

    def leave(self, *, patience_s: float = 10) -> list[str]:
        """End this test's sessions, not the daemon, and return what was not as it must be."""
        self._dispose_clients()
        return self._told("stop", "--all") + self._left_behind(patience_s)

    def _dispose_clients(self) -> None:
        for background in self._background:
            background.dispose()

    def _told(self, *words: str) -> list[str]:
        try:
            answer = self(*words, timeout_s=30)
        except AssertionError as error:
            return [str(error)]
        # 3: there is no session, because the test ended it
        return [] if answer.code in (0, 3) else [f"at the end of the test: {answer}"]

    def _left_behind(self, patience_s: float) -> list[str]:
        problems: list[str] = []
        daemons = set(_daemons(self.processes())) if self.daemon_lives() else set()

        def others() -> dict[int, str]:
            return {pid: name for pid, name in self.processes().items() if pid not in daemons}

        try:
            waits.wait_until(lambda: not others(), "nothing is left", timeout_s=patience_s)
        except AssertionError:
            for pid, command in others().items():
                problems.append(f"process {pid} was left: {command}")
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        if "Traceback (most recent call last)" in self.log():
            problems.append(f"a traceback in the log\n{self.log_tail(80)}")
        return problems + self._invalid_messages()

    def _files_left(self) -> list[str]:
        apart = {self.home / "bin", self.home / "cache"}  # a test's own, and what can be made again
        return [
            str(path.relative_to(self.home))
            for path in waits.files_below(self.home)
            if apart.isdisjoint(path.parents)
            and not any(path.match(pattern) for pattern in _MAY_STAY)
        ]

    def _invalid_messages(self) -> list[str]:
        messages = self.sent_messages()
        if not messages:
            return []
        from dap_schema import validate

        problems = []
        for message in messages:
            try:
                validate(message)
            except Exception as error:
                problems.append(f"sent against the protocol: {message}\n{str(error)[:300]}")
        return problems[:3]


@functools.cache
def _client_server() -> ClientServer:
    server = ClientServer()
    atexit.register(server.close)
    return server


def new_home() -> Path:
    """Make a folder for a daemon; its path is short, because a socket's has 107 bytes at most."""
    home = Path(tempfile.mkdtemp(prefix="ff-", dir="/tmp" if os.name == "posix" else None))
    home.chmod(0o700)
    return home


def _daemons(processes: Mapping[int, str]) -> list[int]:
    return [pid for pid, command in processes.items() if "__main__.py daemon " in command]


class Daemons:
    """A daemon that serves one test after another: to start one costs as much as a short session.

    It is replaced when a test failed or left anything behind.
    """

    def __init__(self) -> None:
        self._idle: Path | None = None

    def lend(self, project: Path) -> Dbg:
        home, self._idle = self._idle, None
        return Dbg(project, home, lent=True)

    def take_back(self, client: Dbg, *, sound: bool) -> list[str]:
        """End the test's sessions and keep the daemon; return what was not as it must be."""
        if not sound or not client.daemon_lives():
            return client.close()
        if problems := client.leave():
            client.close()
            return problems
        self._idle = client.home
        return []

    def close(self, project: Path) -> list[str]:
        return Dbg(project, self._idle).close() if self._idle else []
