"""The MCP tools, generated from the registry of operations: names, schemas, hints, requests.

The default list is short, because an agent pays for it in tokens. A tool lists its most useful
arguments and accepts every argument of its operation. With *all*, every other operation is a tool
too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from freezeframe.errors import UsageError
from freezeframe.frontends import argument_aliases
from freezeframe.frontends.tokenizer import split
from freezeframe.ops._json_schema import Schema, input_schema, output_schema
from freezeframe.ops._registry import OPS, Effect, Needs, OpSpec
from freezeframe.ops._suggestions import quoted

#: Operations that serve the command line itself.
_NOT_FOR_PROGRAMS = frozenset({"completion", "mcp"})
#: Operations that only read, but evaluate an expression of the caller in the program.
_RUNS_CODE = frozenset({"print", "hits", "hit_trend"})
_ANY: Schema = {"type": "object"}


@dataclass(frozen=True, slots=True)
class OperationChoice:
    """An argument that chooses the operation; the first value is the default."""

    argument: str
    operations: dict[str, str]


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool. Without `choice` it runs `operation`."""

    name: str
    operation: str = ""
    #: arguments to list, in order; others are accepted as well
    arguments: str = ""
    #: replaces the operation's summary
    description: str = ""
    choice: OperationChoice | None = None
    #: shorter help texts of arguments
    descriptions: dict[str, str] = field(default_factory=dict)
    #: default arguments
    defaults: dict[str, str] = field(default_factory=dict)

    def specs(self) -> list[OpSpec]:
        ids = self.choice.operations.values() if self.choice else (self.operation,)
        return [OPS.by_id(id) for id in ids]

    def request(self, arguments: Mapping[str, Any]) -> dict[str, object]:
        """Return the request to the daemon. Raises UsageError with the path of the error."""
        args = argument_aliases.snake(arguments)
        request: dict[str, object] = {"session": _session(self.name, args)}
        operation = self.operation
        if self.choice:
            known = self.choice.operations
            default = next(iter(known))
            if "until" in known and any(args.get(name) for name in ("where", "line", "location")):
                default = "until"
            picked = argument_aliases.choice(args, self.choice.argument, known, default)
            if not isinstance(picked, str) or picked not in known:
                raise UsageError(
                    f"{self.name}: `args.{self.choice.argument}` takes {', '.join(known)}, "
                    f"not {str(picked)[:60]!r}.",
                    next=f"dbg {OPS.by_id(known[default]).name}",
                )
            operation = known[picked]
            expression = argument_aliases.expression(args)
            if expression is not None and "expression" not in _names(OPS.by_id(operation)):
                raise UsageError(
                    f"{self.name} shows all of them, not one by its name.",
                    next=f"dbg print {quoted(expression)}",
                )
        spec = OPS.by_id(operation)
        if "where" in self.arguments.split() and not args.get("where") and "pid" in args:
            args["where"] = str(args.pop("pid"))
        selectors = {"frame", "thread"} if spec.needs is Needs.STOPPED else set()
        args = {**self.defaults, **argument_aliases.named(args, _names(spec) | selectors)}
        for selector in selectors & args.keys():
            if selector not in _names(spec) or (
                selector in _flags(spec) and _is_number(args[selector])
            ):
                request[selector] = args.pop(selector)
        if self.choice and "timeout" not in _names(spec):
            args.pop("timeout", None)  # an operation that does not wait needs no time limit
        if _makes_session(spec) and request["session"] is not None:
            args.setdefault("name", request.pop("session"))
        return {**request, "command": operation, "args": args}

    def input_schema(self) -> Schema:
        properties: dict[str, Schema] = {}
        required: list[str] = []
        if self.choice:
            properties[self.choice.argument] = {"enum": list(self.choice.operations)}
        listed = self.arguments.split()
        for spec in self.specs():
            schema = input_schema(spec)
            for name in listed or schema["properties"]:
                if name in schema["properties"] and name not in properties:
                    described = schema["properties"][name]
                    properties[name] = _lean(described, self.descriptions.get(name))
            if not self.choice:
                required = schema.get("required", [])
        properties = {name: properties[name] for name in _order(properties, listed)}
        for name in listed:
            if name in ("frame", "thread"):
                properties[name] = {"type": "integer"}
        properties["session"] = {"type": "string"}
        shown: Schema = {"type": "object", "properties": properties}
        return {**shown, "required": required} if required else shown

    def output_schema(self) -> Schema:
        """Return a schema with the required fields of an answer. `full_schema` has the rest."""
        results = {str(spec.result): spec.result for spec in self.specs()}
        if len(results) > 1:
            return _ANY
        return _outline(output_schema(*results.values()))

    def hints(self) -> dict[str, bool]:
        """Return the tool's annotations that differ from MCP's defaults."""
        specs = self.specs()
        effects = {spec.effect for spec in specs}
        code = any(spec.id in _RUNS_CODE or "code" in _names(spec) for spec in specs)
        reads = effects == {Effect.READS} and not code
        world = {"openWorldHint": Effect.RESUMES in effects or code}
        if reads:
            return {"readOnlyHint": True, **world}
        return {"destructiveHint": code or Effect.ENDS in effects, **world}

    def declaration(self, *, structured: bool = False) -> dict[str, Any]:
        """Return the tool's entry in `tools/list`; *structured*: answers hold data besides text."""
        return {
            "name": self.name,
            "description": self.description or self.specs()[0].summary,
            "inputSchema": self.input_schema(),
            **({"outputSchema": self.output_schema()} if structured else {}),
            "annotations": self.hints(),
        }


@dataclass(frozen=True, slots=True)
class CommandLineTool(McpTool):
    """The tool that runs any command line."""

    #: takes commands of debuggers with this in their names only: `lldb`
    language: str = ""

    def specs(self) -> list[OpSpec]:
        return []

    def request(self, arguments: Mapping[str, Any]) -> dict[str, object]:
        args = argument_aliases.named(argument_aliases.snake(arguments), {"command"})
        session, line = _session(self.name, args), args.pop("command", None)
        limit = args.pop("timeout", None)
        if limit is not None and not isinstance(limit, int | float):
            raise UsageError(f"{self.name}: `args.timeout` takes seconds, not {limit!r}.")
        request: dict[str, object] = {"session": session, **({"wait_s": limit} if limit else {})}
        tokens = [*(line if isinstance(line, list) else [line]), *_listed(args.pop("args", ()))]
        if len(tokens) > 1 and all(isinstance(each, str) for each in tokens):
            line = quoted(*tokens)  # `["print", "x"]`, or `"print"` with `args`
        raw = args.pop("raw", bool(self.language))
        if not isinstance(line, str) or not line.strip():
            raise UsageError(f"{self.name} needs `args.command`: a command line.", next="dbg help")
        if not isinstance(raw, bool):
            raise UsageError(f"{self.name}: `args.raw` takes true or false, not {raw!r}.")
        if args:
            raise UsageError(f"{self.name} has no argument `{next(iter(args))}`.")
        if raw:
            only = {"language": self.language} if self.language else {}
            return {**request, "command": "raw", "args": {"command": line, **only}}
        try:
            split(line)
        except UsageError as error:
            raise UsageError(f"{self.name}: `args.command`: {error.message}") from None
        return {**request, "line": line}

    def input_schema(self) -> Schema:
        return {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "raw": {"type": "boolean", "description": "a native debugger command"},
                "session": {"type": "string"},
            },
            "required": ["command"],
        }

    def output_schema(self) -> Schema:
        return _ANY

    def hints(self) -> dict[str, bool]:
        return {"destructiveHint": True, "openWorldHint": True}


@dataclass(frozen=True, slots=True)
class QuestionTool(McpTool):
    """The tool of the questions; `about` is what each of them is asked about."""

    def request(self, arguments: Mapping[str, Any]) -> dict[str, object]:
        args = argument_aliases.snake(arguments)
        about = args.pop("about", None)
        question = args.get("question")
        listed = [str(each) for each in _listed(about)] if about not in (None, "", []) else []
        if question in ("hang", "crash") and listed:
            line = split(listed[0]) if len(listed) == 1 else listed
            args = {"program": line[0], "args": list(line[1:]), **args}
        elif question in ("why", "trace") and listed:
            args = {"expression" if question == "why" else "where": " ".join(listed), **args}
        elif listed:
            name = {"diff": "runs", "try": "hypotheses"}.get(str(question), "command")
            args = {name: listed, **args}
        return McpTool.request(self, args)

    def input_schema(self) -> Schema:
        shown = McpTool.input_schema(self)
        about: Schema = {
            "type": ["string", "array"],
            "description": "expression; diff: two commands, or one and `against`; "
            "try: changes; trace: function; else a command",
        }
        question, *others = shown["properties"].items()
        properties = dict([question, ("about", about), *others])
        return {**shown, "properties": properties, "required": ["question"]}


_TIMEOUT = {"timeout": "seconds, at most 45"}

DEFAULT: tuple[McpTool, ...] = (
    McpTool(
        "debug_test",
        "test",
        "selectors matching all args cwd timeout",
        "Run tests; stop at the first failure with its values. debug_continue: the next one.",
        descriptions={
            "selectors": "name, path, file:line or id",
            "matching": "of names",
            "all": "every failure at once",
            "args": "",
            "cwd": "",
            **_TIMEOUT,
        },
    ),
    McpTool(
        "debug_start",
        "start",
        "program args breakpoints stop_on_entry adapter cwd env timeout",
        "Run a program to its first stop: breakpoint, uncaught exception, crash or end.",
        descriptions={
            "program": "file or module",
            "args": "",
            "breakpoints": "file:line or function",
            "stop_on_entry": "",
            "cwd": "",
            "env": "K=V",
            "adapter": "debugger",
            **_TIMEOUT,
        },
    ),
    McpTool(
        "debug_attach",
        "attach",
        "where wait_for breakpoints pause",
        "Debug a running process.",
        descriptions={
            "where": "pid, name or HOST:PORT",
            "wait_for": "name of a program to wait for",
            "breakpoints": "",
            "pause": "",
        },
    ),
    McpTool(
        "debug_attach_sim",
        "attach",
        "simulator bundle_id pid wait_for pause",
        "Debug an app in an Xcode simulator.",
        descriptions={
            "simulator": "name or UDID",
            "bundle_id": "",
            "pid": "instead of bundle_id",
            "wait_for": "true: its next start",
            "pause": "",
        },
        defaults={"simulator": ""},
    ),
    McpTool(
        "debug_breakpoint_add",
        "breakpoint_add",
        "where condition hit_count log temporary",
        "Set a breakpoint or logpoint; also before start.",
        descriptions={
            "where": "file:line or function",
            "hit_count": "N, >=N, %N",
            "log": "print this, do not stop; {expr}",
            "condition": "expression",
            "temporary": "",
        },
    ),
    McpTool("debug_breakpoint_list", "breakpoint_list", "session"),
    McpTool(
        "debug_breakpoint_remove",
        "breakpoint_remove",
        "which all",
        descriptions={"which": "ids or locations", "all": ""},
    ),
    McpTool(
        "debug_continue",
        arguments="timeout",
        description="Run to the next stop. `running` = time is up: call with `wait`, or `pause`.",
        choice=OperationChoice("mode", {"run": "continue", "wait": "await", "pause": "pause"}),
        descriptions=_TIMEOUT,
    ),
    McpTool(
        "debug_step",
        arguments="count where timeout",
        description="Step and show what changed; `until` runs to `where`.",
        choice=OperationChoice(
            "kind",
            {"over": "next", "in": "step", "out": "finish", "until": "until", "back": "back"},
        ),
        descriptions={"where": "line, file:line or function", "count": "", **_TIMEOUT},
    ),
    McpTool(
        "debug_stack",
        "backtrace",
        "limit locals all_threads thread",
        "Show the call stack.",
        descriptions={"limit": "", "locals": "variables of each frame", "all_threads": ""},
    ),
    McpTool(
        "debug_variables",
        arguments="range frame",
        description="Show the variables of the current frame, or of `frame`.",
        choice=OperationChoice("scope", {"locals": "locals", "args": "args", "globals": "globals"}),
        descriptions={"range": "100:200"},
    ),
    McpTool(
        "debug_evaluate",
        "print",
        "expression depth range frame",
        "Evaluate an expression in the current frame, or in `frame`.",
        descriptions={"expression": "in the program's language", "range": "children, 100:200"},
    ),
    McpTool(
        "debug_output",
        "output",
        "all tail stderr",
        "Show what the program printed since the last call.",
        descriptions={"all": "not only what is new", "tail": "lines", "stderr": "only"},
    ),
    McpTool("debug_detach", "detach"),
    McpTool("debug_stop", "stop", "all", descriptions={"all": "every session here"}),
    McpTool("debug_status", "status", "", "Show every session: phase, debugger, pid, location."),
    QuestionTool(
        "debug_question",
        arguments="against",
        description=(
            "why: where a value came from. diff: first divergence of two runs. hunt: flaky "
            "command. hang, crash: explained. try: how changes at this stop end."
        ),
        choice=OperationChoice(
            "question",
            {each: each for each in ("why", "diff", "hunt", "hang", "crash", "try", "trace")},
        ),
        descriptions={"against": "git revision"},
    ),
    CommandLineTool(
        "debug_command",
        description="Any `dbg` command line: `watch x`, `set x 3`, `doctor`, `help`.",
    ),
)


#: names of other servers for these tools, which work and are not listed
_ALIASES = {"doctor": "debug_doctor"}
_LANGUAGE = re.compile(r"debug_([a-z]+)_command")


def find_tool(name: str, offered: Mapping[str, McpTool]) -> McpTool | None:
    """Return the tool with the name *name*: one of *offered*, or one that is not listed.

    `debug_OPERATION` runs any operation, `debug_lldb_command` a command of LLDB.
    """
    name = _ALIASES.get(name, name)
    if name in offered:
        return offered[name]
    if language := _LANGUAGE.fullmatch(name):
        return CommandLineTool(name, language=language[1])
    id = name.removeprefix("debug_")
    known = any(spec.id == id for spec in OPS if not spec.hidden) and id not in _NOT_FOR_PROGRAMS
    return McpTool(name, id) if known and id != name else None


def tools(*, all: bool = False) -> dict[str, McpTool]:
    """Return the tools to list, by name."""
    found = {tool.name: tool for tool in DEFAULT}
    if all:
        for spec in OPS:
            if not spec.hidden and spec.id not in _NOT_FOR_PROGRAMS:
                found.setdefault(f"debug_{spec.id}", McpTool(f"debug_{spec.id}", spec.id))
    return found


def full_schema(operation: str) -> Schema:
    """Return the whole schema of an operation's answers. Raises UsageError."""
    return output_schema(OPS.by_id(operation).result)


def _session(tool: str, args: dict[str, Any]) -> str | None:
    """Take the session's name out of *args*. Raises UsageError."""
    session = argument_aliases.session(args)
    if isinstance(session, int) and not isinstance(session, bool):
        session = str(session)
    if session is not None and not isinstance(session, str):
        raise UsageError(
            f"{tool}: `args.session` takes a name, not {str(session)[:60]!r}.", next="dbg sessions"
        )
    return session


def _is_number(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)


def _listed(given: object) -> list[object]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _names(spec: OpSpec) -> set[str]:
    return {param.name for param in spec.params}


def _flags(spec: OpSpec) -> set[str]:
    return {param.name for param in spec.params if param.is_flag}


def _makes_session(spec: OpSpec) -> bool:
    """Whether a caller's session name is the name of the session that the operation creates."""
    return spec.effect is Effect.RESUMES and spec.needs is Needs.NOTHING and "name" in _names(spec)


def _order(properties: Mapping[str, Schema], listed: list[str]) -> list[str]:
    """Return the argument that chooses the operation, then the others in the listed order."""
    first = [name for name in properties if name not in listed]
    return [*first, *(name for name in listed if name in properties)]


def _lean(schema: Schema, description: str | None) -> Schema:
    """Return the schema of an argument, reduced to what an agent needs."""
    lean = {key: value for key, value in schema.items() if key not in ("default", "description")}
    if lean.get("type") == "string" and "enum" in lean:
        del lean["type"]
    description = schema["description"] if description is None else description
    return {**lean, "description": description} if description else lean


def _outline(schema: Schema) -> Schema:
    reference = schema.get("$ref", "").rpartition("/")[2]
    whole = schema.get("$defs", {}).get(reference)
    if whole is None:
        return _ANY
    return {"type": "object", "required": whole["required"]}
