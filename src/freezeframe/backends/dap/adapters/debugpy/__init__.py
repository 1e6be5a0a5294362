"""Python through debugpy.

Freezeframe speaks DAP to debugpy's server inside the program directly: the server connects to a
port of Freezeframe, and so does every child process it patches. debugpy's adapter process is not
used: it costs 0.4 s at start, owns the program's streams, and hangs on requests it does not know.
Measured with debugpy 1.8.22 on Python 3.11 to 3.13.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe import paths
from freezeframe.backends import python
from freezeframe.backends.backend import (
    Attach,
    BreakpointRequest,
    Core,
    Feature,
    HitBreakpoints,
    Target,
)
from freezeframe.backends.breakpoint_hits import log_problem
from freezeframe.backends.dap.adapters._descriptor import (
    Adapter,
    AdapterBreakpoint,
    AdapterOutput,
    Breakpoints,
    ChildAttachInfo,
    Children,
    Connect,
    Exceptions,
    Expressions,
    Frames,
    LaunchEnvironment,
    Listen,
    Plan,
    Spawn,
    Start,
    Values,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import Insecure, Unsupported

from . import attach, conditions, exceptions, snapshots, values
from .backend import DebugpyBackend, syntax_error
from .options import options

# --- discovery ----------------------------------------------------------------------------------


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """Find debugpy: installed with Freezeframe, unless `path` in the configuration names another
    package."""
    if config.path is not None:
        path = os.path.expanduser(config.path)
        if not os.path.isfile(os.path.join(path, "__main__.py")):
            return Missing(f"{path} is not a debugpy package directory")
        return Found(path, None, (path,))
    spec = importlib.util.find_spec("debugpy")
    if spec is None or not spec.submodule_search_locations:
        return Missing("the debugpy package is not installed with freezeframe")
    path = spec.submodule_search_locations[0]
    return Found(path, _version(path))


def _version(path: str) -> str | None:
    """Return the version of the package at *path*, from the metadata directory next to it.

    `importlib.metadata` would return it too, and takes 15 ms to import at the first start.
    """
    for entry in os.listdir(os.path.dirname(path)):
        if match := re.fullmatch(r"debugpy-(.+)\.(?:dist|egg)-info", entry):
            return match[1]
    return None


# --- startup ------------------------------------------------------------------------------------


def _reverse(target: Target) -> bool:
    return not (isinstance(target, Attach) and target.host is not None)


def _plan(target: Target, around: LaunchEnvironment) -> Plan:
    if isinstance(target, Core):
        raise Unsupported("Python has no core files to open.", next="dbg start PROGRAM")
    if isinstance(target, Attach) and target.host is not None and target.port is not None:
        arguments = {
            **options(target),
            "request": "attach",
            "redirectOutput": True,
            "connect": {"host": target.host, "port": target.port},
        }
        del arguments["connect"]
        return Plan(Connect(target.host, target.port), "attach", arguments)
    assert around.endpoint is not None
    if isinstance(target, Attach):
        spawn = attach.injector(target, around.found.path, _bytecode_directory(), around.endpoint)
        return Plan(Listen(), "attach", options(target), spawn, spawn.argv[0])
    interpreter = python.interpreter(target, around.config.interpreter)
    connect = (
        "--connect",
        f"{around.endpoint.host}:{around.endpoint.port}",
        "--adapter-access-token",
        f"@{around.endpoint.token_file}",
    )
    configure = ("--configure-subProcess", str(target.follow_children))
    env = dict(target.env)
    # Without it every child that did not get -X frozen_modules=off warns on its own stderr.
    env.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    what = ("-m", target.program) if target.module else (target.written or target.program,)
    argv = (
        interpreter,
        *target.interpreter_args,
        "-X",
        "frozen_modules=off",
        _boot(),
        around.found.path,
        _bytecode_directory(),
        *connect,
        "--wait-for-client",
        *configure,
        *what,
        *target.args,
    )
    spawn = Spawn(argv, target.cwd, env, role="program")
    # pydevd respects stopOnEntry in a launch only; otherwise launch and attach are the same to it.
    return Plan(Listen(), "launch", options(target), spawn, interpreter)


def _boot() -> str:
    return os.path.join(os.path.dirname(__file__), "bootstrap_agent.py")


def _bytecode_directory() -> str:
    """Return the directory for debugpy's bytecode, for interpreters that have none; empty for none.

    Without it each start under such an interpreter takes three times as long.
    """
    try:
        paths.secure(paths.cache_dir())
        return paths.secure(os.path.join(paths.cache_dir(), "bytecode"))
    except Insecure:
        return ""


def _read_child_offer(body: Mapping[str, Any]) -> ChildAttachInfo | None:
    connect = body.get("connect") or {}
    return ChildAttachInfo(
        dict(body),
        host=connect.get("host") or body.get("host"),
        port=connect.get("port") or body.get("port"),
        pid=body.get("subProcessId"),
        name=body.get("name"),
    )


# --- breakpoints --------------------------------------------------------------------------------


def _encode(requests: Sequence[BreakpointRequest], fifo: str | None) -> list[AdapterBreakpoint]:
    """Merge the breakpoints of a line or function into one: pydevd keeps only the last one set
    there. Their conditions, hit counts and log messages go into its condition."""
    groups: dict[object, list[BreakpointRequest]] = {}
    for request in requests:
        groups.setdefault(_bare_name(request) or request.location, []).append(request)
    entries = []
    for key, group in groups.items():
        points = [
            conditions.Point(str(w.id), w.condition, w.hit_count, w.log, _qualified_name(w))
            for w in group
        ]
        fields: dict[str, Any] = {"name": key} if isinstance(key, str) else {}
        if not all(point.plain for point in points):
            fields["condition"] = conditions.condition(points, fifo)
        stopping = tuple(w.id for w in group if w.log is None)
        ids = stopping + tuple(w.id for w in group if w.log is not None)
        entries.append(AdapterBreakpoint(ids, group[0], fields))
    return entries


def _bare_name(request: BreakpointRequest) -> str | None:
    """Return the name of a function as pydevd knows it: it matches any function of that name, in
    any file."""
    function = request.location.function
    return None if function is None else function.rpartition(".")[2]


def _qualified_name(request: BreakpointRequest) -> str | None:
    location = request.location
    if location.module and location.function:
        return f"{location.module}.{location.function}"
    return location.function if location.function and "." in location.function else None


def _hit_query(ids: Sequence[int]) -> str:
    failures = ", ".join(f"'{id}': {conditions.failure(str(id))}" for id in ids)
    return f"__import__('json').dumps([{conditions.passed()}, {{{failures}}}])"


def _read_passed(text: str, ids: Sequence[int]) -> HitBreakpoints:
    try:
        by_thread, failures = json.loads(text)
        keys = {key for keys in json.loads(by_thread).values() for key in keys}
    except (ValueError, TypeError, AttributeError):
        return HitBreakpoints(tuple(ids))
    # A plain breakpoint keeps no record; where there is none, each of them was hit.
    return HitBreakpoints(
        tuple(id for id in ids if str(id) in keys) or tuple(ids),
        {int(key): why for key, why in failures.items() if why},
    )


def _is_library(path: str, target: Target) -> bool:
    return exceptions.is_foreign(path)


ADAPTER = Adapter(
    name="debugpy",
    adapter_id="debugpy",
    languages=("Python",),
    patterns=("*.py", "*.pyw", "*.pyz", "*.pyzw"),
    shebangs=("python", "python3", "pypy3"),
    install=("pip install debugpy",),
    find=_find,
    plan=_plan,
    modules=True,
    rank=5,
    extra_features=frozenset(
        {Feature.FUNCTION_BREAKPOINTS, Feature.CONDITIONS, Feature.HIT_COUNTS, Feature.LOGPOINTS}
        | {Feature.WATCHPOINTS}
        # Threads that wait in C do not stop, but their stacks are read.
        | {Feature.RUNNING_STACKS}
    ),
    hints={
        Feature.MEMORY_READ: "dbg print 'memoryview(EXPR).hex()'",
        Feature.MEMORY_WRITE: "dbg eval 'EXPR[:] = …'",
        Feature.DISASSEMBLE: "dbg eval '__import__(\"dis\").dis(FUNCTION)'",
    },
    probe_program=(".py", "print('probe')\n"),
    backend=DebugpyBackend,
    start=Start(
        reverse=_reverse,
        read_failure=attach.failure,
    ),
    breakpoints=Breakpoints(
        encode=_encode,
        hit_query=_hit_query,
        read_passed=_read_passed,
        edited_query=conditions.is_edited,
        check_condition=syntax_error,
        check_log=lambda message: log_problem(message, conditions.read_log),
    ),
    exceptions=Exceptions(
        read=exceptions.read,
        narrow=conditions.narrow,
    ),
    frames=Frames(
        function_name=lambda name: name.removesuffix(exceptions.CURRENT),
        is_library=_is_library,
        read=exceptions.read_frame,
        snapshot_query=conditions.snapshot,
        read_snapshot=snapshots.read,
        silent="its interpreter does not answer: code in C may hold the GIL, or it is suspended; "
        "its stack in C: gdb -p {pid}",
        argument_names=values.argument_names,
    ),
    values=Values(
        hides=values.hides,
        is_opaque=values.is_opaque,
        enrich=values.enrich,
        returned_prefixes=(values.RETURNED,),
    ),
    expressions=Expressions(
        slice=python.page,
        brief_error=values.brief_error,
        assignment=python.assignment,
    ),
    output=AdapterOutput(
        # pydevd's advice about itself, such as a value that took half a second on a busy machine.
        ignored=frozenset({"telemetry", "important"}),
        log_channel=hasattr(os, "mkfifo"),
    ),
    children=Children(
        event="debugpyAttach",
        read_offer=_read_child_offer,
    ),
)
