"""Values of one isolate: asked for through a function that runs inside it.

V8's own previews stop at five fields and say `Object` of what lies deeper; `values_probe.js` tells
the whole in one round trip, and runs no code of the program's. References live until it resumes.
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

from .conditions import BINDING, FAILED_CODE
from .protocol import ERROR, ONE, ROWS, Shape, fits
from .scripts import OURS, Ask

#: objects that were handed out belong to this group and are let go when the program resumes
GROUP = "freezeframe-stop"
#: what stays as long as the connection
KEPT = "freezeframe"
_URL = f"{OURS}values"
_PROBE = Path(__file__).with_name("values_probe.js")
_NAMED = f"try{{{BINDING}.log=api.log;{BINDING}.api=api;{FAILED_CODE}}}catch{{}}"
#: characters of one value in a list, and of one that was asked for
_SHORT, _LONG = 2_000, 40_000
_MOST = 5_000
#: what the runtime puts into every module of CommonJS
_WRAPPED = ("exports", "require", "module", "__filename", "__dirname")
#: the probe's sign that an object may have private fields
_PRIVATE = 4
_PLAIN = re.compile(r"(?:[^\W\d]|\$)[\w$]*")


@dataclass(frozen=True, slots=True)
class Held:
    """Where the value behind a reference is: an object of V8's, or a part of one."""

    object: str = ""
    #: of a part: the reference that holds it, and its key there
    within: int = 0
    key: str = ""
    expression: str | None = None
    #: of a scope: the objects that make it up, innermost first
    scopes: tuple[str, ...] = ()
    #: further values of a scope: `this`, what was returned
    extra: tuple[tuple[str, dict[str, Any]], ...] = ()
    module: bool = False
    #: it lies around the function that runs
    outer: bool = False
    #: of a scope: V8's name of the frame, and the scopes further in, whose names hide these
    call: str = ""
    inner: tuple[tuple[str, str], ...] = ()
    #: of a scope: where each of the objects stands in the text, the same at every stop
    keys: tuple[str, ...] = ()
    #: of the variables of a frame: what gives them as one object there
    code: str = ""
    #: what the source calls the variables of a scope, by their names in the running code
    names: Mapping[str, str] = field(default_factory=dict, hash=False)


class Values:
    """References of one isolate. *number* gives references that no other isolate has."""

    def __init__(self, ask: Ask, number: Callable[[], int]) -> None:
        self._ask = ask
        self._number = number
        self._held: dict[int, Held] = {}
        #: the functions of the probe, by context; None where it cannot be had
        self._probes: dict[int, str | None] = {}
        #: the names in scopes, which a text has once for all
        self._names: dict[str, list[str]] = {}

    def use(self, probe: str) -> None:
        """Take the probe that was made in the context that programs begin in."""
        self._probes[0] = probe

    def forget(self) -> None:
        """The program resumes: references die."""
        self._held.clear()

    def has(self, ref: int) -> bool:
        return ref in self._held

    def hold(self, held: Held) -> int:
        ref = self._number()
        self._held[ref] = held
        return ref

    # --- the probe

    async def probe(self, context: int = 0) -> str | None:
        """Return the probe of a context, made once; 0 is the one that programs begin in."""
        if context not in self._probes:
            self._probes[context] = None
            params: dict[str, Any] = {"contextId": context} if context else {}
            answer = await self._ask(
                "Runtime.evaluate",
                expression=f"(()=>{{const util=null;{probe_code()};return api}})()"
                f"\n//# sourceURL={_URL}",
                objectGroup=KEPT,
                silent=True,
                **params,
            )
            if "exceptionDetails" not in answer:
                self._probes[context] = answer["result"].get("objectId")
        return self._probes[context]

    async def call(self, shape: Shape, code: str, *objects: str, context: int = 0) -> Any:
        """Return what a function of the probe's gives for objects; None if it has no such shape."""
        probe = await self._probe_for(objects, context)
        if probe is None:
            return None
        answer = await self._ask(
            "Runtime.callFunctionOn",
            functionDeclaration=f"function(a,b){{return {code}}}",
            objectId=probe,
            arguments=[{"objectId": each} for each in objects],
            returnByValue=True,
            silent=True,
        )
        told = None if "exceptionDetails" in answer else answer["result"].get("value")
        return told if fits(told, shape) else None

    async def _probe_for(self, objects: Sequence[str], context: int) -> str | None:
        """An object can be handed to functions of its own context only; its id names that."""
        if objects:
            parts = objects[0].split(".")
            context = int(parts[1]) if len(parts) == 3 and parts[1].isdecimal() else context
        # The first context is the program's own; evaluating without one means it.
        return await self.probe(context if context > 1 else 0)

    # --- one value

    async def value(
        self, name: str, remote: dict[str, Any], expression: str | None = None
    ) -> RawValue:
        """Return a value that V8 has handed out."""
        object_id = remote.get("objectId")
        if object_id is None:
            return RawValue(name, primitive(remote), _type(remote), expression=expression)
        told = await self.call(ONE, f"this.one(a,{_LONG})", object_id)
        if told is None:
            words = str(remote.get("description") or remote.get("type"))
            return RawValue(name, words, _type(remote), expression=expression)
        text, kind, _, count = told
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
        answer = await self._ask(
            "Runtime.getProperties", objectId=object_id, ownProperties=True, generatePreview=False
        )
        found = []
        for each in answer.get("privateProperties") or ():
            if "value" not in each:
                continue
            remote = each["value"]
            text = primitive(remote)
            if "objectId" in remote:
                told = await self.call(ONE, f"this.one(a,{_SHORT})", remote["objectId"])
                ref = self.hold(Held(remote["objectId"])) if told and told[3] else 0
                found.append(
                    RawValue(each["name"], told[0], told[1], ref, told[3])
                    if told
                    else RawValue(each["name"], text)
                )
            else:
                found.append(RawValue(each["name"], text, _type(remote)))
        return found

    # --- what is inside

    async def children(self, ref: int, start: int, count: int | None) -> list[RawValue]:
        """Return what a value or a scope holds. Raises Stale for a reference of an earlier stop."""
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
                # What compilers put around a module to stand for the language.
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
        """Return the variables of a scope as they are now, and a reference to what holds them.

        V8's own account is how they were when it stopped.
        """
        if held.call:
            names = [
                name
                for name in await self._names_in(scope, key)
                if _PLAIN.fullmatch(name) and name not in hidden and name != BINDING
            ]
            reads = "".join(f"try{{__v.{name}={name}}}catch{{}}" for name in names)
            made = f"const __v={{__proto__:null}};{reads}"
            answer = await self._ask(
                "Debugger.evaluateOnCallFrame",
                callFrameId=held.call,
                expression=f"(()=>{{{made}return {BINDING}.api.list(__v,0,{_MOST},{_SHORT})}})()",
                returnByValue=True,
                silent=True,
            )
            rows = answer.get("result", {}).get("value")
            if fits(rows, ROWS):
                code = f"(()=>{{{made}return __v}})()"
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
            answer = await self._ask(
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
        probe = await self._probe_for((parent,), 0)
        answer = await self._ask(
            "Runtime.callFunctionOn",
            functionDeclaration=f"function(a){{return this.part(a,{json.dumps(held.key)})}}",
            objectId=probe,
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
        """Return the value of an evaluation's answer. Raises EvaluationFailed."""
        details = answer.get("exceptionDetails")
        if details is not None:
            raise EvaluationFailed(await self._complaint(expression, details))
        return await self.value(name or expression, answer["result"], expression)

    async def _complaint(self, expression: str, details: dict[str, Any]) -> str:
        thrown = details.get("exception") or {}
        if "objectId" in thrown:
            told = await self.call(ERROR, "this.error(a)", thrown["objectId"])
            if told is not None:
                words = f"{told[0]}: {told[1]}" if told[1] else str(told[0])
                if "await is only valid" in words and "await" in expression:
                    words += "; a program that stands still cannot finish an await"
                return words
        if thrown:
            return f"thrown: {primitive(thrown)}"
        return str(details.get("text"))


RETURNED = "(returned)"


@functools.cache
def probe_code() -> str:
    """Return code that makes the probe, `api`, of `util`; logpoints and frames find it by name."""
    return f"const api={_probe()};{_NAMED}"


@functools.cache
def realm_code(beside: str) -> str:
    """Return code that makes the probe with what `load` loads, and `beside` of that code.

    Both run in a realm of their own: a program that replaces parts of the language is not called.
    *beside* sees `process` and returns an object.
    """
    code = f"(function(util,process){{return {{api:{_probe()},beside:(()=>{{{beside}}})()}}}})"
    made = f"load('vm').runInNewContext({json.dumps(code)},{{}},{json.dumps(f'{OURS}monitor')})"
    return f"const {{api,beside}}={made}(load('util'),process);{_NAMED}"


def _probe() -> str:
    return f"(\n{_PROBE.read_text('utf-8').rstrip()}\n)(util)"


def primitive(remote: dict[str, Any]) -> str:
    """Return the text of a value that is no object."""
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
    where = key[1:]
    if key[:1] != "p":
        return None
    if where.isdecimal():
        return f"{within}[{where}]"
    return f"{within}.{where}" if _PLAIN.fullmatch(where) else f"{within}[{json.dumps(where)}]"


def _with_private(text: str, private: Sequence[RawValue]) -> str:
    shown = ", ".join(f"{each.name}: {each.text}" for each in private)
    if not text.endswith("}"):
        return text
    head, inside = text[:-1], "" if text.endswith("{}") else ", "
    return f"{head}{inside}{shown}}}"
