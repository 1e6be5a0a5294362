"""Convert and check the value of one key of config.toml, or of its variable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, fields
from types import MappingProxyType
from typing import Any, get_type_hints

from freezeframe.errors import BadConfig

FILE = "config.toml"


def keys(cls: type) -> tuple[Field[Any], ...]:
    """Return the declared keys of a section."""
    return fields(cls)


def checked(name: str, value: object, key: Field[Any], cls: type) -> object:
    """Return *value* converted to the type of its key; raise BadConfig if that is impossible."""
    kind = get_type_hints(cls)[key.name]
    if kind is bool:
        if isinstance(value, bool):
            return value
    elif kind is int:
        # bool is an int in Python, and not in TOML.
        if isinstance(value, int) and not isinstance(value, bool):
            return _bounded(name, value, key)
    elif kind is float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _bounded(name, float(value), key)
    elif kind == tuple[str, ...]:
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
    elif kind == Mapping[str, Any] | None:
        if isinstance(value, dict):
            return MappingProxyType(value)
    elif isinstance(value, str):
        return value or None
    raise BadConfig(f"{name} must be {_type_name(kind)}, not {value!r}.", next="dbg config")


def _bounded(name: str, value: float, key: Field[Any]) -> float:
    least, most = key.metadata["least"], key.metadata["most"]
    # Tests for inside the bounds, not outside, so that nan is refused.
    if (least is None or value >= least) and (most is None or value <= most):
        return value
    bounds = f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"
    raise BadConfig(f"{name} must be {bounds}, not {value:g}.", next="dbg config")


#: names of a boolean in the environment
_SWITCHES = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(
    ("0", "false", "no", "off"), False
)


def from_variable(variable: str, text: str, key: Field[Any], cls: type) -> object:
    """Return the value that a variable gives to its key. Raises BadConfig."""
    kind = get_type_hints(cls)[key.name]
    value: object = text
    if kind is bool:
        value = _SWITCHES.get(text.lower(), text)
    elif kind in (int, float):
        try:
            number = float(text) * key.metadata["env_scale"]
            value = int(number) if kind is int else number
        except (ValueError, OverflowError):
            raise BadConfig(
                f"{variable} must be a number, not {text!r}.", next=f"unset {variable}"
            ) from None
    try:
        return checked(variable, value, key, cls)
    except BadConfig as error:
        raise BadConfig(error.message, next=f"unset {variable}") from None


def _type_name(kind: object) -> str:
    if kind is bool:
        return "true or false"
    if kind is int:
        return "a whole number"
    if kind is float:
        return "a number"
    if kind == Mapping[str, Any] | None:
        return "a table"
    return "a list of strings" if kind == tuple[str, ...] else "a string"


def table(content: object, section: str) -> Mapping[str, Any]:
    """Return the keys of a section. Raises BadConfig if it is not one."""
    if isinstance(content, dict):
        return content
    raise BadConfig(f"{section} must be a section, not {content!r}.", next="dbg config")


def unknown(name: str, section: str, known: Iterable[str]) -> str:
    """Return the warning about a key that no setting has, with the nearest one."""
    import difflib  # needed for warnings only

    # Names are compared without their section, which would make all of them similar.
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"the nearest is {section}{near[0]}" if near else f"there are {', '.join(known)}"
    return f"{section}{name} is not a key of {FILE} and was passed over; {hint}."
