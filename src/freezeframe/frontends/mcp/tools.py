"""The tools, made of the table of operations: name, schemas, hints, and the request of a call.

Few and cheap by default: the whole list costs an agent less than one page of source. A tool lists
the arguments that are worth their price and takes every argument of its operation. With *all*,
each operation that is not among them is a tool of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from freezeframe.errors import UsageError
from freezeframe.frontends.lines import split
from freezeframe.ops._registry import OPS, Effect, Needs, OpSpec
from freezeframe.ops._schema import Schema, input_schema, output_schema

from . import natural

#: Operations that serve the command line itself.
_NOT_FOR_PROGRAMS = frozenset({"completion", "mcp"})
#: They look, and what they look at is code of the caller's that runs in the program.
_RUNS_CODE = frozenset({"print", "hits", "hit_trend"})
_ANY: Schema = {"type": "object"}


@dataclass(frozen=True, slots=True)
class Choice:
    """An argument that says which operation is meant; the first value is the default."""

    argument: str
    operations: dict[str, str]


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. Without `choice` it is the operation `operation`."""

    name: str
    operation: str = ""
    #: arguments to list, in order; others are taken as well
    arguments: str = ""
    #: where the operation's own summary does not say it
    description: str = ""
    choice: Choice | None = None
    #: instead of the operation's own words, where those are long
    words: dict[str, str] = field(default_factory=dict)

    def specs(self) -> list[OpSpec]:
        ids = self.choice.operations.values() if self.choice else (self.operation,)
        return [OPS.by_id(id) for id in ids]

    def request(self, arguments: Mapping[str, Any]) -> dict[str, object]:
        """Return what the daemon is asked. Raises UsageError with the path of what is wrong."""
        args = natural.snake(arguments)
        request: dict[str, object] = {"session": _session(self.name, args)}
        operation = self.operation
        if self.choice:
            known = self.choice.operations
            default = next(iter(known))
            if "until" in known and any(args.get(name) for name in ("where", "line", "location")):
                default = "until"
            picked = natural.choice(args, self.choice.argument, known, default)
            if not isinstance(picked, str) or picked not in known:
                raise UsageError(
                    f"{self.name}: `args.{self.choice.argument}` takes {', '.join(known)}, "
                    f"not {str(picked)[:60]!r}."
                )
            operation = known[picked]
        spec = OPS.by_id(operation)
        if "where" in self.arguments.split() and not args.get("where") and "pid" in args:
            args["where"] = str(args.pop("pid"))
        places = {"frame", "thread"} if spec.needs is Needs.STOPPED else set()
        args = natural.named(args, _names(spec) | places)
        for place in ("frame", "thread"):
            if place in args and place not in _names(spec) and spec.needs is Needs.STOPPED:
                request[place] = args.pop(place)
        if self.choice and "timeout" not in _names(spec):
            args.pop("timeout", None)  # one that does not wait keeps to every time
        if _makes_session(spec) and request["session"] is not None:
            args.setdefault("name", request.pop("session"))
        return {**request, "command": operation, "args": args}

    def input_schema(self) -> Schema:
        properties: dict[str, Schema] = {}
        required: list[str] = []
        if self.choice:
            properties[self.choice.argument] = {"enum": list(self.choice.operations)}
        wanted = self.arguments.split()
        for spec in self.specs():
            schema = input_schema(spec)
            for name in wanted or schema["properties"]:
                if name in schema["properties"] and name not in properties:
                    properties[name] = _lean(schema["properties"][name], self.words.get(name))
            if not self.choice:
                required = schema.get("required", [])
        properties = {name: properties[name] for name in _order(properties, wanted)}
        for name in wanted:
            if name in ("frame", "thread"):
                properties[name] = {"type": "integer"}
        properties["session"] = {"type": "string"}
        shown: Schema = {"type": "object", "properties": properties}
        return {**shown, "required": required} if required else shown

    def output_schema(self) -> Schema:
        """Return the outline of an answer: what is always there. `full_schema` has the rest."""
        results = {str(spec.result): spec.result for spec in self.specs()}
        if len(results) > 1:
            return _ANY
        return _outline(output_schema(*results.values()))

    def hints(self) -> dict[str, bool]:
        """Return what a host may rely on when it asks its user; what is left out is the default."""
        specs = self.specs()
        effects = {spec.effect for spec in specs}
        code = any(spec.id in _RUNS_CODE or "code" in _names(spec) for spec in specs)
        reads = effects == {Effect.READS} and not code
        world = {"openWorldHint": Effect.RESUMES in effects or code}
        if reads:
            return {"readOnlyHint": True, **world}
        return {"destructiveHint": code or Effect.ENDS in effects, **world}

    def declaration(self, *, structured: bool = False) -> dict[str, Any]:
        """Return the tool as `tools/list` has it; *structured*: answers hold data besides text."""
        return {
            "name": self.name,
            "description": self.description or self.specs()[0].summary,
            "inputSchema": self.input_schema(),
            **({"outputSchema": self.output_schema()} if structured else {}),
            "annotations": self.hints(),
        }


@dataclass(frozen=True, slots=True)
class CommandLine(Tool):
    """The tool that takes any command line, so that nothing is out of reach."""

    def specs(self) -> list[OpSpec]:
        return []

    def request(self, arguments: Mapping[str, Any]) -> dict[str, object]:
        args = natural.named(natural.snake(arguments), {"command"})
        session, line = _session(self.name, args), args.pop("command", None)
        raw = args.pop("raw", False)
        if not isinstance(line, str) or not line.strip():
            raise UsageError(f"{self.name} needs `args.command`: a command line.", next="dbg help")
        if not isinstance(raw, bool):
            raise UsageError(f"{self.name}: `args.raw` takes true or false, not {raw!r}.")
        if args:
            raise UsageError(f"{self.name} has no argument `{next(iter(args))}`.")
        if raw:
            return {"session": session, "command": "raw", "args": {"command": line}}
        try:
            split(line)
        except UsageError as error:
            raise UsageError(f"{self.name}: `args.command`: {error.message}") from None
        return {"session": session, "line": line}

    def input_schema(self) -> Schema:
        return {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "raw": {"type": "boolean", "description": "in the native debugger's language"},
                "session": {"type": "string"},
            },
            "required": ["command"],
        }

    def output_schema(self) -> Schema:
        return _ANY

    def hints(self) -> dict[str, bool]:
        return {"destructiveHint": True, "openWorldHint": True}


_TIMEOUT = {"timeout": "seconds, 20 unless given, at most 45"}

DEFAULT: tuple[Tool, ...] = (
    Tool(
        "debug_start",
        "start",
        "program args module breakpoints stop_on_entry adapter cwd env timeout",
        "Run a program to its first stop: breakpoint, uncaught exception, crash or end.",
        words={
            "program": "file or module",
            "args": "",
            "module": "as python -m",
            "breakpoints": "file:line or function",
            "stop_on_entry": "",
            "cwd": "",
            "env": "K=V",
            "adapter": "debugger",
            **_TIMEOUT,
        },
    ),
    Tool(
        "debug_attach",
        "attach",
        "where wait_for breakpoints pause adapter",
        "Debug a process that runs.",
        words={
            "where": "pid, name or HOST:PORT",
            "wait_for": "name of a program to wait for",
            "breakpoints": "",
            "adapter": "",
            "pause": "",
        },
    ),
    Tool(
        "debug_attach_sim",
        "attach",
        "simulator bundle_id pid wait_for pause",
        "Debug an app in a simulator of Xcode's.",
        words={
            "simulator": "name or UDID; default: the booted one",
            "bundle_id": "",
            "pid": "instead of bundle_id",
            "wait_for": "true: its next start",
            "pause": "do not let it run on",
        },
    ),
    Tool(
        "debug_breakpoint_add",
        "breakpoint_add",
        "where condition hit_count log temporary",
        "Set a breakpoint or logpoint; also before start.",
        words={
            "where": "file:line or function",
            "hit_count": "N, >=N, %N",
            "log": "print this, do not stop; {expr}",
            "condition": "expression",
            "temporary": "",
        },
    ),
    Tool("debug_breakpoint_list", "breakpoint_list", "session"),
    Tool(
        "debug_breakpoint_remove",
        "breakpoint_remove",
        "which all",
        words={"which": "ids or places", "all": ""},
    ),
    Tool(
        "debug_continue",
        arguments="timeout",
        description="Run to the next stop. `running` = time is up: go on with `wait`, or `pause`.",
        choice=Choice("mode", {"run": "continue", "wait": "await", "pause": "pause"}),
        words=_TIMEOUT,
    ),
    Tool(
        "debug_step",
        arguments="count where timeout",
        description="Step and show what changed; `until` runs to `where`.",
        choice=Choice(
            "kind",
            {"over": "next", "in": "step", "out": "finish", "until": "until", "back": "back"},
        ),
        words={"where": "line, file:line or function", "count": "", **_TIMEOUT},
    ),
    Tool(
        "debug_stack",
        "backtrace",
        "limit locals all_threads thread",
        "Show the call stack.",
        words={"limit": "", "locals": "variables of each frame", "all_threads": ""},
    ),
    Tool(
        "debug_variables",
        arguments="range frame",
        description="Show the variables of the current frame, or of `frame`.",
        choice=Choice("scope", {"locals": "locals", "args": "args", "globals": "globals"}),
        words={"range": "100:200"},
    ),
    Tool(
        "debug_evaluate",
        "print",
        "expression depth range frame",
        "Evaluate an expression in the current frame, or in `frame`.",
        words={"expression": "in the program's language", "range": "children, 100:200"},
    ),
    Tool(
        "debug_output",
        "output",
        "all tail stderr",
        "Show what the program printed since this was last asked.",
        words={"all": "not only what is new", "tail": "lines", "stderr": "only"},
    ),
    Tool("debug_detach", "detach"),
    Tool("debug_stop", "stop", "all", words={"all": "every session here"}),
    Tool("debug_doctor", "doctor", "session", "Check which debuggers work here."),
    Tool("debug_status", "status", "", "Show every session: phase, debugger, pid, place."),
    CommandLine(
        "debug_lldb_command",
        description=(
            "Any `dbg` command line, for every debugger: `help`, `frame 2`, `watch x`, `set x 3`, "
            "`display x`, `catch raised`, `input text`, `batch next locals`, `restart`."
        ),
    ),
)


def tools(*, all: bool = False) -> dict[str, Tool]:
    """Return the tools that are offered, by name."""
    found = {tool.name: tool for tool in DEFAULT}
    if all:
        for spec in OPS:
            if not spec.hidden and spec.id not in _NOT_FOR_PROGRAMS:
                found.setdefault(f"debug_{spec.id}", Tool(f"debug_{spec.id}", spec.id))
    return found


def full_schema(operation: str) -> Schema:
    """Return the whole schema of an operation's answers. Raises UsageError."""
    return output_schema(OPS.by_id(operation).result)


def _session(tool: str, args: dict[str, Any]) -> str | None:
    """Take the session's name out of *args*. Raises UsageError."""
    session = args.pop("session", None)
    if session is not None and not isinstance(session, str):
        raise UsageError(
            f"{tool}: `args.session` takes a name, not {str(session)[:60]!r}.", next="dbg sessions"
        )
    return session


def _names(spec: OpSpec) -> set[str]:
    return {param.name for param in spec.params}


def _makes_session(spec: OpSpec) -> bool:
    """Whether the session that a caller names is the one that the operation makes."""
    return spec.effect is Effect.RESUMES and spec.needs is Needs.NOTHING and "name" in _names(spec)


def _order(properties: Mapping[str, Schema], wanted: list[str]) -> list[str]:
    """The argument that picks the operation first, then as they are wanted."""
    first = [name for name in properties if name not in wanted]
    return [*first, *(name for name in wanted if name in properties)]


def _lean(schema: Schema, words: str | None) -> Schema:
    """Return the schema of an argument without what an agent can do without."""
    lean = {key: value for key, value in schema.items() if key not in ("default", "description")}
    if lean.get("type") == "string" and "enum" in lean:
        del lean["type"]
    words = schema["description"] if words is None else words
    return {**lean, "description": words} if words else lean


def _outline(schema: Schema) -> Schema:
    reference = schema.get("$ref", "").rpartition("/")[2]
    whole = schema.get("$defs", {}).get(reference)
    if whole is None:
        return _ANY
    return {"type": "object", "required": whole["required"]}
