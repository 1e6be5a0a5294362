"""Validate every message of an adapter against the DAP schema, once, before it is used.

Adapters are not trusted. A field of a wrong type counts as absent: an optional one is dropped, one
that its object needs (an id, an exit code) makes the object invalid, any other gets the neutral
value of its type. An invalid object of a list is dropped; an invalid body makes the message an
error. Fields outside the schema are kept unchecked, except those below, which adapters and our
agents add.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NotRequired, TypedDict, get_args, get_origin, get_type_hints

Check = Callable[[object], Any]
_ADDRESS = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,32}|[1-9][0-9]{0,31}|0)")

#: Fields that an object needs to mean anything.
_IDENTITIES = frozenset({"id", "exitCode", "filter", "address", "args", "format"})
#: Required fields that adapters omit; no neutral value is used for them.
_OFTEN_MISSING = frozenset({"threadId"})
#: File and host names: never with a zero byte.
_PATHS = frozenset({"path", "cwd", "host"})
#: Memory addresses, as numbers: `0x7f…`
_ADDRESSES = frozenset({"address", "instructionPointerReference", "memoryReference"})
_PIDS = frozenset({"pid", "ppid", "systemProcessId", "subProcessId"})
#: Numbers have at most 64 bits.
_MOST = 1 << 63
#: Most levels of nested objects that are checked: some types are recursive.
_DEPTH = 32


class Invalid(Exception):
    """A value is not of its type. The message names the field and the expected type."""


class _Address(TypedDict):
    host: NotRequired[str]
    port: NotRequired[int]


class _Identity(TypedDict):
    pid: NotRequired[int]
    ppid: NotRequired[int]


class _OtherBody(TypedDict):
    """The fields that are read from events and answers outside the protocol."""

    connect: NotRequired[_Address]
    host: NotRequired[str]
    port: NotRequired[int]
    pid: NotRequired[int]
    subProcessId: NotRequired[int]
    name: NotRequired[str]
    clientAccessToken: NotRequired[str]
    process: NotRequired[_Identity]
    result: NotRequired[str]


class _Facts(TypedDict):
    """The fields that our agent in a Python program adds to a variable."""

    count: NotRequired[int]
    definition: NotRequired[bool]
    failed: NotRequired[bool]
    changed: NotRequired[bool]
    was: NotRequired[str]
    parts: NotRequired[list[list[str | None]]]
    more: NotRequired[int]
    gone: NotRequired[bool]


class _ErrorBody(TypedDict):
    error: NotRequired[dict[str, Any]]


#: Fields added to objects of the protocol.
_ADDED: dict[str, dict[str, Any]] = {
    "VariablePresentationHint": {"freezeframe": NotRequired[_Facts]},
    "Variable": {"freezeframeText": NotRequired[str]},
    "EvaluateResponseBody": {"freezeframeText": NotRequired[str]},
    "StackFrame": {"freezeframeArguments": NotRequired[str]},
    "StoppedEventBody": {"fault": NotRequired[list[int]]},
    "ExitedEventBody": {"pydevdReason": NotRequired[str]},
}


def prepare() -> None:
    """Load the types in advance, which takes a while."""
    _named("Capabilities")


def check_event(name: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an event with every known field validated. Raises Invalid."""
    checked = _check(f"{_capitalised(name)}EventBody", body)
    return _exit(checked) if name == "exited" else checked


def check_response(command: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a successful answer, likewise. Raises Invalid."""
    if command == "initialize":
        return _check("Capabilities", body)
    return _check(f"{_capitalised(command)}ResponseBody", body)


def check_error(command: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of a failed answer, likewise."""
    return dict(_object(_ErrorBody, 0)(body))


def check_request(command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a reverse request, likewise. Raises Invalid."""
    return _check(f"{_capitalised(command)}RequestArguments", arguments)


def _exit(body: dict[str, Any]) -> dict[str, Any]:
    # On Windows an exit code is a number of 32 bits, with or without a sign.
    if abs(body["exitCode"]) >= 1 << 32:
        raise Invalid("`exitCode` is not an exit code")
    return body


def _check(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_named(kind)(body))


def _capitalised(name: str) -> str:
    return name[:1].upper() + name[1:]


@cache
def _named(kind: str) -> Check:
    from . import types  # a hundred classes: not loaded by a daemon without DAP sessions

    return _object(getattr(types, kind, None) or _OtherBody, 0)


# --- one check for each type --------------------------------------------------------------------


@cache
def _object(kind: type, depth: int) -> Check:
    hints = get_type_hints(kind, include_extras=True)
    hints |= _ADDED.get(kind.__name__, {})
    fields: dict[str, tuple[Check, bool]] = {}
    for name, hint in hints.items():
        optional = get_origin(hint) is NotRequired
        hint = get_args(hint)[0] if optional else hint
        fields[name] = (_lazy(hint, depth + 1, name), optional or name in _OFTEN_MISSING)
    neutral = {
        name: None if name in _IDENTITIES else _neutral(hint)
        for name, hint in hints.items()
        if get_origin(hint) is not NotRequired
    }

    def check(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Invalid("is not an object")
        found = dict(value)
        for name, (field, optional) in fields.items():
            if name in value:
                try:
                    found[name] = field(value[name])
                    continue
                except Invalid as error:
                    del found[name]
                    why = f"`{name}` {error}"
            else:
                why = f"`{name}` is missing"
            if optional:
                continue
            make = neutral[name]
            if make is None:
                raise Invalid(why)
            found[name] = make()
        return found

    return check


def _neutral(hint: Any) -> Callable[[], Any] | None:
    """Return the factory of a type's neutral value; None if it has none."""
    origin = get_origin(hint)
    if origin is UnionType:
        return (lambda: None) if NoneType in get_args(hint) else None
    if origin is Literal:
        return str
    kind = origin or hint
    return kind if kind in (str, bool, int, list) else None


def _lazy(hint: Any, depth: int, name: str) -> Check:
    """Return a check that is built on first use: types refer to themselves."""
    made: list[Check] = []

    def check(value: object) -> Any:
        if not made:
            made.append(_check_of(hint, depth, name))
        return made[0](value)

    return check


def _check_of(hint: Any, depth: int, name: str = "") -> Check:
    if depth > _DEPTH:
        return _too_deep
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: value
    if hint is str or origin is Literal:
        if name in _ADDRESSES:
            return _address
        return _path if name in _PATHS else _text
    if hint is bool:
        return _truth
    if hint is int:
        return _pid if name in _PIDS else _number
    if hint is NoneType:
        return _nothing
    if origin is UnionType:
        return _any_of([_check_of(each, depth, name) for each in inner])
    if origin is list:
        whole = not (isinstance(inner[0], type) and hasattr(inner[0], "__total__"))
        return _list(_check_of(inner[0], depth), whole)
    if origin is dict:
        return _mapping(_check_of(inner[1], depth))
    return _object(hint, depth)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Invalid("is not text")
    return value


def _path(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise Invalid("is not a path")
    return value


def _address(value: object) -> str:
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise Invalid("is not an address")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise Invalid("is neither true nor false")
    return value


def _number(value: object) -> int:
    if isinstance(value, float) and value.is_integer():  # 1.0, as Lua's and others' JSON has it
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -_MOST <= value < 2 * _MOST:
        raise Invalid("is not a whole number")
    return value


def _pid(value: object) -> int:
    """Accept only the pid of a single process, since signals are sent to it: not 0, -N or 1."""
    number = _number(value)
    if not 1 < number < 1 << 31:
        raise Invalid("is not a process id")
    return number


def _nothing(value: object) -> None:
    if value is not None:
        raise Invalid("is not null")


def _too_deep(value: object) -> Any:
    raise Invalid("is nested too deeply")


def _any_of(checks: list[Check]) -> Check:
    def check(value: object) -> Any:
        for each in checks:
            try:
                return each(value)
            except Invalid:
                continue
        raise Invalid("is of a wrong type")

    return check


def _list(item: Check, whole: bool) -> Check:
    """Drop invalid objects from a list; for other items, each must be valid."""

    def check(value: object) -> list[Any]:
        if not isinstance(value, list):
            raise Invalid("is not a list")
        if whole:
            return [item(each) for each in value]
        found = []
        for each in value:
            try:
                found.append(item(each))
                continue
            except Invalid:
                pass
            # Breakpoints are matched by their position in the list, so an invalid one keeps it.
            with contextlib.suppress(Invalid):
                found.append(item({}))
        return found

    return check


def _mapping(item: Check) -> Check:
    def check(value: object) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise Invalid("is not an object")
        return {name: item(each) for name, each in value.items()}

    return check
