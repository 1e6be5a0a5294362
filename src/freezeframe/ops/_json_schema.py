"""JSON Schemas of operations, and conversion to and from the data that they describe.

`input_schema` describes the arguments of an operation, `output_schema` any answer. Both come
from the types alone, so they cannot drift from the code. `to_jsonable` makes data that the
output schema accepts; `from_jsonable` reads data that the input schema accepts, and reports the
path of an error.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from freezeframe.errors import UsageError
from freezeframe.model.locations import Location

from ._params import ArgType, ParamSpec
from ._registry import OpSpec
from ._suggestions import nearest

Schema = dict[str, Any]

_PRIMITIVES: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {"type": "string", "contentEncoding": "base64"},
    object: {},
    Any: {},
}
#: strings that programs and models send for a boolean
_BOOLEANS: dict[int | str, bool] = {
    True: True,  # and 1
    False: False,  # and 0
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


# --- arguments ----------------------------------------------------------------------------------


def input_schema(spec: OpSpec) -> Schema:
    """Return the schema of the object that a structured call of *spec* passes as `args`."""
    shown = [param for param in spec.params if not param.hidden]
    schema: Schema = {
        "type": "object",
        "properties": {param.name: _param_schema(param) for param in shown},
        "additionalProperties": False,
    }
    required = [param.name for param in shown if param.required]
    if required:
        schema["required"] = required
    return schema


def _param_schema(param: ParamSpec) -> Schema:
    schema = _value_schema(param.type)
    if param.alone is not None:
        schema["type"] = [schema["type"], "boolean"]
    if param.many:
        schema = {"type": "array", "items": schema}
        if param.required:
            schema["minItems"] = 1
    schema["description"] = param.help
    # A default of None means "not given"; listing it would make every option look nullable.
    if param.default is not None and not param.many:
        default = param.default
        schema["default"] = default.value if isinstance(default, Enum) else default
    return schema


def _value_schema(kind: ArgType) -> Schema:
    if kind.choices:
        return {"type": "string", "enum": list(kind.choices)}
    if kind.base is Location:
        return {"type": "string"}
    return dict(_PRIMITIVES[kind.base])


def from_jsonable(spec: OpSpec, args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments for *spec* that the plain data *args* spells.

    A null means "not given". Raises UsageError with the path of what is wrong (`args.ids[2]`).
    """
    if not isinstance(args, Mapping):
        raise _wrong(spec, "args", "an object", args)
    known = {param.name: param for param in spec.params}
    kwargs: dict[str, Any] = {}
    for name, value in args.items():
        param = known.get(name)
        if param is None:
            close = nearest(name, known)
            hint = f"; the nearest is `{close[0]}`" if close else ""
            raise UsageError(f"{spec.id} takes no `args.{name}`{hint}.", next=_help(spec))
        if value is not None:
            kwargs[name] = _read(spec, param, value)
    for param in spec.params:
        if param.required and param.name not in kwargs:
            raise UsageError(
                f"{spec.id} needs `args.{param.name}`: {param.help}.", next=_help(spec)
            )
    return kwargs


def _read(spec: OpSpec, param: ParamSpec, value: Any) -> Any:
    path = f"args.{param.name}"
    if param.alone is not None and isinstance(value, bool):
        return param.alone if value else None
    if not param.many:
        return _read_one(spec, param.type, path, value)
    if isinstance(value, Mapping) and param.type.base is str:  # an environment
        value = [f"{name}={each}" for name, each in value.items()]
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        value = [value]  # a single value is accepted as a list of one
    if not isinstance(value, list | tuple):
        raise _wrong(spec, path, "an array", value)
    if param.required and not value:
        raise _wrong(spec, path, "at least one item", value)
    return param.type.collect(
        [_read_one(spec, param.type, f"{path}[{index}]", item) for index, item in enumerate(value)]
    )


def _read_one(spec: OpSpec, kind: ArgType, path: str, value: Any) -> Any:
    base = kind.base
    if base is bool:
        word = value.strip().lower() if isinstance(value, str) else value
        if isinstance(word, bool | int | str) and word in _BOOLEANS:
            return _BOOLEANS[word]
        raise _wrong(spec, path, "true or false", value)
    if base in (int, float):
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if not isinstance(value, bool) and (whole or (base is float and isinstance(value, float))):
            return base(value)
        if isinstance(value, str):
            with contextlib.suppress(ValueError):
                return kind.read(value.strip())
        raise _wrong(spec, path, kind.expected, value)
    if isinstance(value, int) and not isinstance(value, bool) and not kind.choices:
        value = str(value)  # a pid, a line, a hit count
    if not isinstance(value, str):
        raise _wrong(spec, path, kind.expected if kind.choices else "a string", value)
    try:
        return kind.read(value)
    except ValueError:
        raise _wrong(spec, path, kind.expected, value) from None


def _wrong(spec: OpSpec, path: str, expected: str, value: Any) -> UsageError:
    shown = repr(value)
    if len(shown) > 60:
        shown = f"{shown[:57]}…"
    return UsageError(f"{spec.id}: `{path}` takes {expected}, not {shown}.", next=_help(spec))


def _help(spec: OpSpec) -> str:
    return f"dbg help {spec.name}"


# --- answers ------------------------------------------------------------------------------------


def output_schema(result: Any) -> Schema:
    """Return the schema of *result*, a dataclass or a union of them, as `to_jsonable` writes it.

    Every dataclass appears once, under `$defs`, so that types may be recursive.
    """
    definitions: dict[str, Schema] = {}
    schema = _type_schema(result, definitions)
    return {**schema, "$defs": definitions} if definitions else schema


def _type_schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    if kind in _PRIMITIVES:
        return dict(_PRIMITIVES[kind])
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_type_schema(arg, definitions) for arg in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is list or (origin is tuple and len(args) == 2 and args[1] is Ellipsis):
        return {"type": "array", "items": _type_schema(args[0], definitions)}
    if origin is tuple:
        items = [_type_schema(arg, definitions) for arg in args]
        return {"type": "array", "prefixItems": items, "minItems": len(args), "items": False}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        # Keys of another type become strings in JSON.
        return {"type": "object", "additionalProperties": _type_schema(args[1], definitions)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass_schema(kind, definitions)
    raise TypeError(f"{kind!r} has no JSON form")


def _dataclass_schema(kind: type, definitions: dict[str, Schema]) -> Schema:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # placeholder while the fields, which may refer to it, are read
        hints = get_type_hints(kind)
        definitions[name] = {
            "type": "object",
            "properties": {
                each.name: _field_schema(each, hints[each.name], definitions)
                for each in fields(kind)
            },
            "required": [each.name for each in fields(kind) if _always_written(each)],
            "additionalProperties": False,
        }
    return {"$ref": f"#/$defs/{name}"}


def _field_schema(each: Any, kind: Any, definitions: dict[str, Schema]) -> Schema:
    schema = _type_schema(kind, definitions)
    if not _always_written(each):
        schema["default"] = to_jsonable(_default(each)())
    return schema


def _always_written(each: Any) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def to_jsonable(value: Any) -> Any:
    """Return *value* as plain JSON data. Fields that hold their default are left out.

    This keeps answers small; the schema says what a missing field means.
    """
    kind = type(value)
    if value is None or kind is str or kind is int or kind is bool:
        return value
    plan = _plan(kind)  # type: ignore[arg-type]  # mypy: type[Any] is not Hashable
    if plan is not None:
        data = {}
        for name, required, make_default in plan:
            item = getattr(value, name)
            if required or item != make_default():
                data[name] = to_jsonable(item)
        return data
    if isinstance(value, float):
        # JSON has no NaN and no infinity.
        return value if value - value == 0 else str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str | int):
        return value
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(to_jsonable(key)): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_jsonable(item) for item in value]
    # `object` fields hold data of a configuration or a debugger: its text is enough.
    return str(value)


@functools.cache
def _plan(kind: Hashable) -> tuple[tuple[str, bool, Callable[[], Any]], ...] | None:
    """Return (field, always written, its default) of a dataclass; None for other types."""
    if not (isinstance(kind, type) and is_dataclass(kind)):
        return None
    return tuple((each.name, _always_written(each), _default(each)) for each in fields(kind))


def _default(each: Any) -> Callable[[], Any]:
    if each.default_factory is not MISSING:
        return each.default_factory  # type: ignore[no-any-return]
    value = each.default
    return lambda: value
