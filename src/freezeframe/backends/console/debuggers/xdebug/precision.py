"""Floats with all their digits.

Xdebug formats floats by PHP's setting `precision`, which drops digits unless it is -1. The program
sees its own setting: it is changed only while Xdebug formats a value, after an expression was
evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from xml.etree.ElementTree import Element

from freezeframe.backends.console.prompt.command_set import ConsoleQuery
from freezeframe.errors import EvaluationFailed

from . import dbgp, php_snippets

T = TypeVar("T")

_QUERY = dbgp.command("eval", data=php_snippets.PRECISION)
_EXACT = "-1"
_RETURNED = "$__RETURN_VALUE"


@dataclass(frozen=True, slots=True)
class Precision:
    """The program's setting; None if Xdebug formats all digits already, or it cannot be changed."""

    setting: str | None

    @property
    def after(self) -> str:
        """The code that ends an evaluation."""
        return php_snippets.change_precision(self.setting, _EXACT) if self.setting else ""

    def around(self, query: ConsoleQuery[T], *, evaluated: bool = False) -> ConsoleQuery[T]:
        """Return a query with exact floats; *evaluated*: its command ends with `after`."""
        if self.setting is None:
            return query
        commands = (
            "status" if evaluated else dbgp.command("eval", data=self.after),
            query.command,
            dbgp.command("eval", data=php_snippets.change_precision(_EXACT, self.setting)),
        )
        then = query.then
        return ConsoleQuery(
            dbgp.joined(commands),
            lambda answer: query.read(dbgp.without_outer(answer)),
            then=None if then is None else lambda answer: then(dbgp.without_outer(answer)),
        )


def exact(make: Callable[[Precision], ConsoleQuery[T]]) -> ConsoleQuery[T]:
    """Query the program's setting, then what *make* returns for it."""

    def read(answer: str) -> T:
        raise EvaluationFailed("PHP did not answer in time")

    return ConsoleQuery(_QUERY, read, then=lambda answer: make(_read(answer)))


def returned_commands(text: str) -> tuple[str, ...]:
    """Return the commands that read a returned value exactly, if the text of a stop has a float."""
    stop, *more = dbgp.responses(text)
    returned = dbgp.child(stop, "return_value")
    if returned is None or len(more) > 1:
        return ()
    if not any(each.get("type") == "float" for each in returned.iter()):
        return ()
    if not more:
        return (_QUERY,)
    command = dbgp.command("property_get", "-n", _RETURNED)
    return (_read(text).around(ConsoleQuery(command, _read)).command,)


def returned_property(stop: Element, *more: Element) -> Element | None:
    """Return the returned value of a stop, the exact one if it was read."""
    returned = dbgp.child(stop, "return_value")
    if returned is None:
        return None
    found = (dbgp.child(each, "property") for each in more)
    exactly = (each for each in found if each is not None and each.get("name") == _RETURNED)
    return next(exactly, dbgp.child(returned, "property"))


def _read(answer: str) -> Precision:
    prop = dbgp.child(dbgp.response(answer), "property")
    setting = dbgp.text_of(prop).decode("ascii", "replace") if prop is not None else ""
    return Precision(setting if re.fullmatch(r"\d{1,3}", setting) else None)
