"""Values of one isolate, read by an agent that runs inside it.

V8's own previews stop at five fields and show only `Object` for deeper ones; `values_agent.js`
returns everything in one round trip, and runs no code of the program. References are valid until
the program resumes.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from freezeframe.backends.backend import RawValue
from freezeframe.errors import EvaluationFailed, Stale
from freezeframe.model.values import UNSET

from .breakpoint_conditions import BINDING, FAILED_CODE
from .protocol import ERROR, ONE, ROWS, Shape, fits
from .scripts import INTERNAL_URL, Requester

#: the group of objects that are released when the program resumes
GROUP = "freezeframe-stop"
#: the group of objects that are kept as long as the connection
KEPT = "freezeframe"
_URL = f"{INTERNAL_URL}values"
_AGENT = Path(__file__).with_name("values_agent.js")
_NAMED = f"try{{{BINDING}.log=api.log;{BINDING}.api=api;{FAILED_CODE}}}catch{{}}"
#: size limits of one value in a list, and of a requested one, in characters
_SHORT, _LONG = 2_000, 40_000
_MOST = 5_000
#: parameters of the function that the runtime puts around every CommonJS module
_WRAPPED = ("exports", "require", "module", "__filename", "__dirname")
#: the agent's flag of an object that may have private fields
_PRIVATE = 4
_PLAIN = re.compile(r"(?:[^\W\d]|\$)[\w$]*")


@dataclass(frozen=True, slots=True)
class Held:
    """Where the value of a reference is: an object of V8, or a part of one."""

    object: str = ""
    #: of a part: the reference of its parent, and its key there
    within: int = 0
    key: str = ""
    expression: str | None = None
    #: of a scope: the objects that make it up, innermost first
    scopes: tuple[str, ...] = ()
    #: further values of a scope: `this`, the return value
    extra: tuple[tuple[str, dict[str, Any]], ...] = ()
    module: bool = False
    #: whether the scope is around the running function
    outer: bool = False
    #: of a scope: V8's id of the frame, and the inner scopes, whose names hide these
    call: str = ""
    inner: tuple[tuple[str, str], ...] = ()
    #: of a scope: the position of each object in the text, the same at every stop
    keys: tuple[str, ...] = ()
    #: of the variables of a frame: an expression that gives them as one object
    code: str = ""
    #: of a scope: variables that the frame cannot read yet
    uninitialized: frozenset[str] = frozenset()
    #: the source's names of the variables of a scope, by their names in the running code
    names: Mapping[str, str] = field(default_factory=dict, hash=False)


class V8Variables:
    """References of one isolate. *number* returns ids that are unique among all isolates."""

    def __init__(self, request: Requester, number: Callable[[], int]) -> None:
        self._request = request
        self._number = number
        self._held: dict[int, Held] = {}
        #: the agent's object, by context; None where it cannot be created
        self._agents: dict[int, str | None] = {}
        #: the names in scopes, which depend on the text only
        self._names: dict[str, list[str]] = {}

    def use(self, agent: str) -> None:
        """Set the agent of the context that programs begin in."""
        self._agents[0] = agent

    def forget(self) -> None:
        """Invalidate all references, because the program resumes."""
        self._held.clear()

    def has(self, ref: int) -> bool:
        return ref in self._held

    def hold(self, held: Held) -> int:
        ref = self._number()
        self._held[ref] = held
        return ref

    # --- the agent

    async def agent(self, context: int = 0) -> str | None:
        """Return the agent of a context, created once; 0 is the context that programs begin in."""
        if context not in self._agents:
            self._agents[context] = None
            params: dict[str, Any] = {"contextId": context} if context else {}
            answer = await self._request(
                "Runtime.evaluate",
                expression=f"(()=>{{const util=null;{agent_code()};return api}})()"
                f"\n//# sourceURL={_URL}",
                objectGroup=KEPT,
                silent=True,
                **params,
            )
            if "exceptionDetails" not in answer:
                self._agents[context] = answer["result"].get("objectId")
        return self._agents[context]

    async def call(self, shape: Shape, code: str, *objects: str, context: int = 0) -> Any:
        """Return the result of a function of the agent; None if it does not have that shape."""
        agent = await self._agent_for(objects, context)
        if agent is None:
            return None
        answer = await self._request(
            "Runtime.callFunctionOn",
            functionDeclaration=f"function(a,b){{return {code}}}",
            objectId=agent,
            arguments=[{"objectId": each} for each in objects],
            returnByValue=True,
            silent=True,
        )
        described = None if "exceptionDetails" in answer else answer["result"].get("value")
        return described if fits(described, shape) else None

    async def _agent_for(self, objects: Sequence[str], context: int) -> str | None:
        """Return the agent of the objects' context, the only one that can take them; ids name
        it."""
        if objects:
            parts = objects[0].split(".")
            context = int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else context
        # The first context is the program's own, and the default of an evaluation.
        return await self.agent(context if context > 1 else 0)

    # --- one value

    async def value(
        self, name: str, remote: dict[str, Any], expression: str | None = None
    ) -> RawValue:
        """Return a value for a remote object of V8."""
        object_id = remote.get("objectId")
        if object_id is None:
            return RawValue(name, primitive(remote), _type(remote), expression=expression)
        described = await self.call(ONE, f"this.one(a,{_LONG})", object_id)
        if described is None:
            message = str(remote.get("description") or remote.get("type"))
            return RawValue(name, message, _type(remote), expression=expression)
        text, kind, _, count = described
        private = await self._private(object_id)
        if private:
            text = _with_private(text, private)
            count = (count or 0) + len(private)
        ref = 0
        if count:
            ref = self.hold(Held(object_id, expression=expression))
        return RawValue(name, text, kind, ref, count, expression)

    async def _private(self, object_id: str) -> list[RawValue]:
        """Return the private fields of an object, which only V8 can see."""
        # V8 lists all other properties with them: 200,000 take it 10 s.
        if await self.call(bool, "this.hasPrivate(a)", object_id) is False:
            return []
        answer = await self._request(
            "Runtime.getProperties",
            objectId=object_id,
            ownProperties=True,
            nonIndexedPropertiesOnly=True,
            generatePreview=False,
        )
        found = []
        for each in answer.get("privateProperties") or ():
            if "value" not in each:
                continue
            remote = each["value"]
            text = primitive(remote)
            if "objectId" in remote:
                described = await self.call(ONE, f"this.one(a,{_SHORT})", remote["objectId"])
                ref = self.hold(Held(remote["objectId"])) if described and described[3] else 0
                found.append(
                    RawValue(each["name"], described[0], described[1], ref, described[3])
                    if described
                    else RawValue(each["name"], text)
                )
            else:
                found.append(RawValue(each["name"], text, _type(remote)))
        return found

    # --- children

    async def children(self, ref: int, start: int, count: int | None) -> list[RawValue]:
        """Return the children of a value or scope. Raises Stale for a reference of an earlier
        stop."""
        held = self._held.get(ref)
        if held is None:
            raise Stale("that value belongs to an earlier stop.", next="dbg locals")
        most = _MOST if count is None else count
        if not held.object and not held.within and not held.code:
            return (await self._variables(held))[start : start + most]
        object_id = await self._object(held)
        rows = await self.call(ROWS, f"this.list(a,{start},{most},{_SHORT})", object_id) or []
        found = [self._row(ref, held.expression, each) for each in rows]
        if len(found) < most:
            found += await self._private(object_id)
        return found

    async def _variables(self, held: Held) -> list[RawValue]:
        found: dict[str, RawValue] = {}
        for name, remote in held.extra:
            value = await self.value(name, remote, name)
            found[name] = replace(value, returned=name == RETURNED)
        hidden = set(found)
        for scope, key in held.inner:
            hidden |= set(await self._names_in(scope, key))
        for scope, key in zip(held.scopes, held.keys or ("",) * len(held.scopes), strict=True):
            ref, rows = await self._rows(held, scope, key, hidden)
            for row in rows:
                value = self._row(ref, None, row)
                if value.name == BINDING:
                    continue
                wrapped = held.module and value.name in _WRAPPED
                # Helpers that compilers put around a module.
                helper = held.outer and value.name.startswith("__") and value.type == "function"
                if wrapped or helper:
                    value = replace(value, definition=True)
                if row[6] == _PRIVATE:
                    value = await self._opened(ref, row, value)
                if (written := held.names.get(value.name)) is not None:
                    value = replace(value, name=written, expression=written)
                found.setdefault(value.name, value)
            hidden |= {str(row[1]) for row in rows}
        return list(found.values())

    async def _rows(
        self, held: Held, scope: str, key: str, hidden: set[str]
    ) -> tuple[int, list[list[Any]]]:
        """Return the current variables of a scope, and a reference to the object that has them.

        V8's own scope object has the values at the time of the stop.
        """
        if held.call:
            names = [
                name
                for name in await self._names_in(scope, key)
                if _PLAIN.fullmatch(name) and name not in hidden and name != BINDING
            ]
            reads = "".join(
                f"try{{__v.{name}={name}}}catch(e){{__u.push(['{name}',e.message])}}"
                for name in names
                if name not in held.uninitialized
            )
            made = f"const __v={{__proto__:null}},__u=[];{reads}"
            answer = await self._request(
                "Debugger.evaluateOnCallFrame",
                callFrameId=held.call,
                expression=f"(()=>{{{made}"
                f"return [{BINDING}.api.list(__v,0,{_MOST},{_SHORT}),__u]}})()",
                returnByValue=True,
                silent=True,
            )
            described = answer.get("result", {}).get("value")
            if fits(described, (ROWS, [(str, str)])):
                code = f"(()=>{{{made}return __v}})()"
                rows = _with_unreadable(names, described[0], dict(described[1]))
                return self.hold(Held(call=held.call, code=code)), rows
        listed = await self.call(ROWS, f"this.list(a,0,{_MOST},{_SHORT})", scope)
        return self.hold(Held(scope)), listed or []

    async def _names_in(self, scope: str, key: str) -> list[str]:
        if key in self._names:
            return self._names[key]
        names = [str(name) for name in await self.call([str], "this.names(a)", scope) or ()]
        if key:
            self._names[key] = names
        return names

    async def _opened(self, parent: int, row: Sequence[Any], value: RawValue) -> RawValue:
        """Return a variable with the private fields of its value."""
        held = Held(within=parent, key=row[0], expression=value.expression)
        private = await self._private(await self._object(held))
        if not private:
            return value
        return replace(
            value,
            text=_with_private(value.text, private),
            count=(value.count or 0) + len(private),
            ref=value.ref or self.hold(held),
        )

    def _row(self, parent: int, within: str | None, row: Sequence[Any]) -> RawValue:
        key, name, text, kind, _, count, flag = row
        expression = _expression(within, key) if within is not None else None
        if within is None and key.startswith("p"):
            expression = name  # a variable
        ref = 0
        if count:
            ref = self.hold(Held(within=parent, key=key, expression=expression))
        return RawValue(
            name, text, kind, ref, count, expression, definition=flag == 1, failed=flag == 2
        )

    async def _object(self, held: Held) -> str:
        if held.object:
            return held.object
        if held.code:
            answer = await self._request(
                "Debugger.evaluateOnCallFrame",
                callFrameId=held.call,
                expression=held.code,
                objectGroup=GROUP,
                silent=True,
            )
            if "objectId" not in answer["result"]:
                raise Stale("that frame is not there any more.", next="dbg locals")
            return str(answer["result"]["objectId"])
        above = self._held.get(held.within)
        if above is None:
            raise Stale("that value belongs to an earlier stop.", next="dbg locals")
        parent = await self._object(above)
        agent = await self._agent_for((parent,), 0)
        answer = await self._request(
            "Runtime.callFunctionOn",
            functionDeclaration=f"function(a){{return this.part(a,{json.dumps(held.key)})}}",
            objectId=agent,
            arguments=[{"objectId": parent}],
            objectGroup=GROUP,
            silent=True,
        )
        object_id = answer["result"].get("objectId")
        if object_id is None:
            raise Stale("that value is not there any more.", next="dbg locals")
        return str(object_id)

    # --- evaluation

    async def evaluated(
        self, expression: str, answer: dict[str, Any], name: str | None = None
    ) -> RawValue:
        """Return the value in an evaluation's answer. Raises EvaluationFailed."""
        details = answer.get("exceptionDetails")
        if details is not None:
            raise EvaluationFailed(await self._error_message(expression, details))
        return await self.value(name or expression, answer["result"], expression)

    async def _error_message(self, expression: str, details: dict[str, Any]) -> str:
        thrown = details.get("exception") or {}
        if "objectId" in thrown:
            described = await self.call(ERROR, "this.error(a)", thrown["objectId"])
            if described is not None:
                message = f"{described[0]}: {described[1]}" if described[1] else str(described[0])
                if "await is only valid" in message and "await" in expression:
                    message += "; a stopped program cannot finish an await"
                return message
        if thrown:
            return f"thrown: {primitive(thrown)}"
        return str(details.get("text"))


RETURNED = "(returned)"


def _with_unreadable(
    names: Sequence[str], rows: Sequence[list[Any]], messages: Mapping[str, str]
) -> list[list[Any]]:
    """Return the rows of variables, including those without a value, in the order of *names*.

    *messages* say why one could not be read; for one that was not tried the reason is known.
    """
    read = {row[1]: row for row in rows}
    found = []
    for name in names:
        is_known = name not in messages or "before initialization" in messages[name]
        text = UNSET if is_known else "<not available>"
        found.append(read.get(name) or [f"p{name}", name, text, None, 0, None, 0])
    return found


@functools.cache
def agent_code() -> str:
    """Return code that creates the agent, `api`, from `util`; logpoints and frames use it by
    name."""
    return f"const api={_agent()};{_NAMED}"


@functools.cache
def realm_code(beside: str) -> str:
    """Return code that creates the agent with what `load` loads, and an object `beside` it.

    Both run in their own realm: built-in objects that the program replaces are not called. The code
    *beside* sees `process` and returns an object.
    """
    code = f"(function(util,process){{return {{api:{_agent()},beside:(()=>{{{beside}}})()}}}})"
    url = json.dumps(f"{INTERNAL_URL}monitor")
    made = f"load('vm').runInNewContext({json.dumps(code)},{{}},{url})"
    return f"const {{api,beside}}={made}(load('util'),process);{_NAMED}"


def _agent() -> str:
    return f"(\n{_AGENT.read_text('utf-8').rstrip()}\n)(util)"


def primitive(remote: dict[str, Any]) -> str:
    """Return the text of a value that is not an object."""
    if remote.get("subtype") == "null":
        return "null"
    if "unserializableValue" in remote:
        return str(remote["unserializableValue"])
    kind, value = remote.get("type"), remote.get("value")
    if kind == "undefined":
        return "undefined"
    if kind == "string":
        return quoted(str(value))
    if kind == "boolean":
        return "true" if value else "false"
    return str(remote.get("description", value))


def quoted(text: str) -> str:
    body = json.dumps(text, ensure_ascii=False)[1:-1]
    if "'" not in body:
        return "'" + body.replace('\\"', '"') + "'"
    if '\\"' not in body:
        return f'"{body}"'
    return "'" + body.replace('\\"', '"').replace("'", "\\'") + "'"


def _type(remote: dict[str, Any]) -> str:
    return str(remote.get("className") or remote.get("subtype") or remote.get("type"))


def _expression(within: str, key: str) -> str | None:
    name_or_index = key[1:]
    if key == "r":
        return f"{within}.deref()"
    if key[:1] != "p":
        return None
    if name_or_index.isdecimal():
        return f"{within}[{name_or_index}]"
    return (
        f"{within}.{name_or_index}"
        if _PLAIN.fullmatch(name_or_index)
        else f"{within}[{json.dumps(name_or_index)}]"
    )


def _with_private(text: str, private: Sequence[RawValue]) -> str:
    shown = ", ".join(f"{each.name}: {each.text}" for each in private)
    if not text.endswith("}"):
        return text
    head, inside = text[:-1], "" if text.endswith("{}") else ", "
    return f"{head}{inside}{shown}}}"
