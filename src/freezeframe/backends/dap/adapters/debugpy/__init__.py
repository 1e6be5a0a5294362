"""Python through debugpy.

We speak to debugpy's server inside the program directly: it connects to a port of ours, and so
does every child process it patches. Its own adapter process would only stand between: it costs
0.4 s at start, owns the program's streams, and hangs on requests it does not know. Measured with
debugpy 1.8.22 on Python 3.11 to 3.13.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from freezeframe import paths
from freezeframe.backends import python
from freezeframe.backends.backend import (
    Attach,
    Core,
    Feature,
    Launch,
    Passed,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.dap.adapters._descriptor import (
    Adapter,
    Breakpoints,
    ChildOffer,
    Children,
    Dial,
    End,
    Endpoint,
    Exceptions,
    Expressions,
    Frames,
    Greeting,
    Output,
    Plan,
    Reverse,
    Spawn,
    Start,
    Surroundings,
    Values,
    Wired,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.config import AdapterConfig
from freezeframe.errors import Insecure, Unsupported

from . import conditions, exceptions, joining, snapshots, unfollowed, values

# --- finding it, and the interpreter to run -----------------------------------------------------


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    """debugpy comes with us; a `path` in the configuration names another package directory."""
    if config.path is not None:
        path = os.path.expanduser(config.path)
        if not os.path.isfile(os.path.join(path, "__main__.py")):
            return Missing(f"{path} is not a debugpy package directory")
        return Found(path, None, (path,))
    spec = importlib.util.find_spec("debugpy")
    if spec is None or not spec.submodule_search_locations:
        return Missing("the debugpy package is not installed beside freezeframe")
    path = spec.submodule_search_locations[0]
    return Found(path, _version(path))


def _version(path: str) -> str | None:
    """Return the version of the package at *path*, by the directory that its installer left.

    `importlib.metadata` knows it too, and takes 15 ms to import at the first start.
    """
    for entry in os.listdir(os.path.dirname(path)):
        if match := re.fullmatch(r"debugpy-(.+)\.(?:dist|egg)-info", entry):
            return match[1]
    return None


# --- how it is started --------------------------------------------------------------------------


def _reverse(target: Target) -> bool:
    return not (isinstance(target, Attach) and target.host is not None)


def _options(target: Launch | Attach) -> dict[str, Any]:
    return {
        "type": "debugpy",
        "justMyCode": target.just_my_code,
        "subProcess": target.follow_children,
        "redirectOutput": False,
        "showReturnValue": True,
        "resolveSymlinks": True,
        "stopAllThreadsOnSuspend": True,
        "steppingResumesAllThreads": True,
        "breakOnSystemExit": [],
        "stopOnEntry": isinstance(target, Launch) and target.stop_on_entry,
        "variablePresentation": {
            "special": "hide",
            "function": "inline",
            "class": "inline",
            "protected": "inline",
        },
        **target.options,
    }


def _plan(target: Target, around: Surroundings) -> Plan:
    if isinstance(target, Core):
        raise Unsupported("Python has no core files to open.", next="dbg start PROGRAM")
    if isinstance(target, Attach) and target.host is not None and target.port is not None:
        arguments = {
            **_options(target),
            "request": "attach",
            "redirectOutput": True,
            "connect": {"host": target.host, "port": target.port},
        }
        del arguments["connect"]
        return Plan(Dial(target.host, target.port), "attach", arguments)
    assert around.endpoint is not None
    if isinstance(target, Attach):
        spawn = joining.injector(target, around.found.path, _bytecode_directory(), around.endpoint)
        return Plan(Reverse(), "attach", _options(target), spawn, spawn.argv[0])
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
    # pydevd heeds stopOnEntry in a launch only; to it the two are otherwise the same.
    return Plan(Reverse(), "launch", _options(target), spawn, interpreter)


def _boot() -> str:
    return os.path.join(os.path.dirname(__file__), "boot_probe.py")


def _bytecode_directory() -> str:
    """Return where bytecode of debugpy is kept for interpreters that have none; empty for nowhere.

    Without it each start under such an interpreter takes three times as long.
    """
    try:
        paths.secure(paths.cache_dir())
        return paths.secure(os.path.join(paths.cache_dir(), "bytecode"))
    except Insecure:
        return ""


def _greet(endpoint: Endpoint | None) -> Sequence[Greeting]:
    if endpoint is None:
        return ()

    def known(body: Mapping[str, Any]) -> str | None:
        if body.get("clientAccessToken") == endpoint.token:
            return None
        return "a process that is not ours called the debugger's port"

    return (
        Greeting("pydevdAuthorize", {"debugServerAccessToken": None}, known),
        Greeting("pydevdSystemInfo", {}),
    )


def _identity(body: Mapping[str, Any]) -> tuple[int | None, int | None]:
    process = body.get("process") or {}
    return process.get("pid"), process.get("ppid")


def _prime(target: Target, around: Surroundings) -> Sequence[str]:
    install = conditions.install(os.path.basename(around.directory))
    # A process that is joined may have been left before.
    return (install, _FOLLOW_AGAIN) if isinstance(target, Attach) else (install,)


def _read_command(text: str) -> tuple[str, ...]:
    """Return what a child was started for; a process of multiprocessing's own by its role."""
    try:
        facts = json.loads(text)
        own = facts["role"] in ("worker", "forkserver", "tracker")
        return ("multiprocessing", facts["role"]) if own else tuple(facts["argv"])
    except (ValueError, KeyError, TypeError):
        return ()


#: Whether processes that the program starts are told our port.
_FOLLOW = (
    "(lambda m: m.__dict__.update(_get_apply_arg_patching={}))"
    "(__import__('sys').modules['_pydev_bundle.pydev_monkey'])"
)
_FOLLOW_AGAIN = _FOLLOW.format("lambda: getattr(m._arg_patch, 'apply_arg_patching', True)")


def _farewell(target: Target) -> str:
    parts = [_FOLLOW.format("lambda: False"), conditions.leave()]
    if isinstance(target, Launch) and sys.platform == "linux":
        # It was to die with us: PR_SET_PDEATHSIG.
        parts.append("__import__('ctypes').CDLL(None).prctl(1, 0)")
    return f"[{', '.join(parts)}]"


def _child_arguments(target: Target, around: Surroundings) -> dict[str, Any]:
    assert isinstance(target, Launch | Attach)
    return _options(target)


def _read_child_offer(body: Mapping[str, Any]) -> ChildOffer | None:
    connect = body.get("connect") or {}
    return ChildOffer(
        dict(body),
        host=connect.get("host") or body.get("host"),
        port=connect.get("port") or body.get("port"),
        pid=body.get("subProcessId"),
        name=body.get("name"),
    )


# --- breakpoints --------------------------------------------------------------------------------


def _wire(wanted: Sequence[WantedBreakpoint], fifo: str | None) -> list[Wired]:
    """pydevd keeps one breakpoint a line (or function), the last one wins: those that share one
    become one, their conditions, counts and messages in its condition."""
    places: dict[object, list[WantedBreakpoint]] = {}
    for want in wanted:
        places.setdefault(_bare_name(want) or want.location, []).append(want)
    entries = []
    for place, group in places.items():
        points = [
            conditions.Point(str(w.id), w.condition, w.hit_count, w.log, _qualified_name(w))
            for w in group
        ]
        fields: dict[str, Any] = {"name": place} if isinstance(place, str) else {}
        if not all(point.plain for point in points):
            fields["condition"] = conditions.condition(points, fifo)
        stopping = tuple(w.id for w in group if w.log is None)
        ids = stopping + tuple(w.id for w in group if w.log is not None)
        entries.append(Wired(ids, group[0], fields))
    return entries


def _bare_name(wanted: WantedBreakpoint) -> str | None:
    """The name of a function as pydevd knows it: every function of that name, in any file."""
    function = wanted.location.function
    return None if function is None else function.rpartition(".")[2]


def _qualified_name(wanted: WantedBreakpoint) -> str | None:
    location = wanted.location
    if location.module and location.function:
        return f"{location.module}.{location.function}"
    return location.function if location.function and "." in location.function else None


def _ask_passed(ids: Sequence[int]) -> str:
    failures = ", ".join(f"'{id}': {conditions.failure(str(id))}" for id in ids)
    return f"__import__('json').dumps([{conditions.passed()}, {{{failures}}}])"


def _read_passed(text: str, ids: Sequence[int]) -> Passed:
    try:
        by_thread, failures = json.loads(text)
        keys = {key for keys in json.loads(by_thread).values() for key in keys}
    except (ValueError, TypeError, AttributeError):
        return Passed(tuple(ids))
    # A plain breakpoint keeps no record; where there is none, every one of them was hit.
    return Passed(
        tuple(id for id in ids if str(id) in keys) or tuple(ids),
        {int(key): why for key, why in failures.items() if why},
    )


def _check_log(message: str) -> str | None:
    try:
        conditions.read_log(message)
    except ValueError as error:
        return str(error)
    return None


def _is_expression(code: str) -> bool:
    return _check_condition(code) is None


def _check_condition(expression: str) -> str | None:
    try:
        compile(expression.strip(), "<condition>", "eval")
    except (SyntaxError, ValueError) as error:
        return error.msg if isinstance(error, SyntaxError) else str(error)
    return None


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
        # Threads that wait in C are not stopped, but seen.
        | {Feature.RUNNING_STACKS}
    ),
    hints={
        Feature.WATCHPOINTS: "dbg break FILE:LINE -c 'EXPR'",
        Feature.MEMORY_READ: "dbg print 'memoryview(EXPR).hex()'",
        Feature.MEMORY_WRITE: "dbg eval 'EXPR[:] = …'",
        Feature.REGISTERS: "dbg locals",
        Feature.DISASSEMBLE: "dbg eval '__import__(\"dis\").dis(FUNCTION)'",
        Feature.INSTRUCTION_STEP: "dbg step",
        Feature.ADDRESS_BREAKPOINTS: "dbg break FILE:LINE",
        Feature.SINGLE_THREAD: "dbg continue",
        Feature.STEP_BACK: "dbg restart",
    },
    probe_program=(".py", "print('probe')\n"),
    start=Start(
        reverse=_reverse,
        greet=_greet,
        prime=_prime,
        read_command=_read_command,
        read_failure=joining.failure,
    ),
    end=End(
        farewell=_farewell,
    ),
    breakpoints=Breakpoints(
        wire=_wire,
        ask_passed=_ask_passed,
        read_passed=_read_passed,
        ask_edited=conditions.is_edited,
        check_condition=_check_condition,
        check_log=_check_log,
    ),
    exceptions=Exceptions(
        read=exceptions.read,
        narrow=conditions.narrow,
    ),
    frames=Frames(
        function_name=lambda name: name.removesuffix(exceptions.CURRENT),
        is_library=_is_library,
        is_none=exceptions.is_none,
        read=exceptions.read_frame,
        ask_snapshot=conditions.snapshot,
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
        is_expression=_is_expression,
        unstick=conditions.unstick,
        ask_blocked=conditions.blocked,
        beside=conditions.beside,
        slice=conditions.page,
        brief_error=values.brief_error,
        assignment=python.assignment,
    ),
    output=Output(
        ignored=frozenset({"telemetry"}),
        log_channel=hasattr(os, "mkfifo"),
    ),
    children=Children(
        read_identity=_identity,
        arguments=_child_arguments,
        event="debugpyAttach",
        read_offer=_read_child_offer,
        is_replaced=lambda body: body.get("pydevdReason") == "processReplaced",
        unfollowed=unfollowed.read,
    ),
)
