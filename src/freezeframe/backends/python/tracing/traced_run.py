"""Run a Python program again, traced from inside, and return its trace."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from freezeframe import paths
from freezeframe.backends import python
from freezeframe.backends.backend import Launch
from freezeframe.backends.transport.fd_reader import Tail, TextReader
from freezeframe.backends.transport.program import SpawnedProgram, spawn_program
from freezeframe.errors import DebuggerTimeout, Unsupported
from freezeframe.model.trace import Outcome, Trace, TraceRequest

from .trace_file import read_directory

#: found by the interpreter through PYTHONPATH
_SITE = str(Path(__file__).with_name("site_agent"))
_VARIABLE = "FREEZEFRAME_TRACE"
#: options that make the interpreter ignore PYTHONPATH, or not import sitecustomize
_ISOLATING = frozenset("IES")
#: characters of the program's output that are kept
_OUTPUT = 16_000
#: after the limit of the trace the program has this long to write its files
_GRACE_S = 5.0


async def run_traced(
    target: Launch,
    request: TraceRequest,
    interpreter: str | None = None,
    delays: Mapping[str, object] | None = None,
) -> Trace:
    """Run *target* to its end, or to where recording ends, and return its trace.

    *delays* are those of `shaken_run.py`, for a run that is shaken as well.

    The program gets the same command line, with a variable and a directory for modules in its
    environment, and no input but the file of the target. It is killed with all that it started
    when *request* limits its time. Raises Unsupported if the program cannot be traced, and
    LaunchFailed if it cannot be started.
    """
    directory = paths.scratch()
    try:
        given = _settings(request, directory) | ({} if delays is None else {"delays": delays})
        program = start_injected(target, given, directory, interpreter)
        status, output = await run_to_end(program, request.limits.seconds + _GRACE_S)
        trace = await asyncio.to_thread(read_directory, directory)
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, True)
    if not trace.frames and not trace.remarks and trace.outcome.how == "exited" and not status:
        # Where functions are named, nothing is known of the rest.
        trace.remarks = (
            "code that exec or eval compiles is in no file, and is not traced"
            if request.functions
            else "no code of the workspace was executed",
        )
    trace.output = output
    trace.outcome = _completed(trace.outcome, status)
    return trace


def start_injected(
    target: Launch, given: dict[str, object], directory: str, interpreter: str | None
) -> SpawnedProgram:
    """Start a program with the agents in it; *given* are their settings.

    Raises Unsupported if the interpreter's options keep them out.
    """
    options = [
        each for each in target.interpreter_args if each.startswith("-") and each[1:2] != "-"
    ]
    isolating = [each for each in options if each[1:2] not in "XW" and _ISOLATING & set(each[1:])]
    if isolating:
        raise Unsupported(
            f"a Python that is started with {isolating[0]} cannot be traced from inside: it "
            "ignores PYTHONPATH or does not import sitecustomize."
        )
    env = injected_environment(target.env, given, os.path.join(directory, "settings"))
    what = ("-m", target.program) if target.module else (target.written or target.program,)
    argv = (python.interpreter(target, interpreter), *target.interpreter_args, *what, *target.args)
    return spawn_program(argv, cwd=target.cwd, env=env, stdin=target.stdin or os.devnull)


def injected_environment(
    env: Mapping[str, str], given: Mapping[str, object], settings: str
) -> dict[str, str]:
    """Write the agents' settings to the file *settings*; return an environment that loads them."""
    with open(settings, "w", encoding="utf-8") as file:
        file.write(repr(given))
    before = env.get("PYTHONPATH")
    made = dict(env)
    made["PYTHONPATH"] = os.pathsep.join([_SITE, before] if before else [_SITE])
    # An empty PYTHONPATH means the same as none to Python, but not to the program.
    made[_VARIABLE] = ("+" if before == "" else "-") + settings
    return made


def _settings(request: TraceRequest, directory: str) -> dict[str, object]:
    """Return what `bootstrap_agent.py` reads."""
    until, limits = request.until, request.limits
    location = None
    if until.path is not None and until.line is not None:
        location = (os.path.normpath(until.path), until.line, until.hit)
    return {
        "directory": directory,
        "roots": sorted({os.path.realpath(each) for each in request.roots}),
        "functions": list(request.functions),
        "until": location,
        "tests": until.failure,
        "exits": request.ends_program,
        "steps": limits.steps,
        "bytes": limits.bytes,
        "seconds": limits.seconds,
    }


async def run_to_end(program: SpawnedProgram, timeout_s: float) -> tuple[int | None, str]:
    """Wait for the end of a program; return its status (None: it was killed) and its output."""
    process = program.process
    tail = Tail(_OUTPUT)
    readers = [TextReader(fd, tail.feed) for fd, _ in program.outputs]
    status: int | None = None
    try:
        for reader in readers:
            reader.start()
        status = await process.wait(timeout_s)
        for reader in readers:
            reader.drain_now()
    except DebuggerTimeout:
        status = None
    finally:
        await process.kill_tree(daemons=True)
        for reader in readers:
            reader.close()
        if program.stdin is not None:
            program.stdin.close()
        process.close()
    return status, "\n".join(tail.lines(400))


def _completed(outcome: Outcome, status: int | None) -> Outcome:
    """Add how the process ended to what the recording says."""
    if status is None:
        return replace(outcome, how="timeout") if outcome.how == "exited" else outcome
    if outcome.how in ("reached", "timeout"):
        return outcome
    how = "killed" if status < 0 and outcome.how == "exited" else outcome.how
    return replace(outcome, how=how, exit_code=status)
