"""Looking at a program that stands: frames, variables, expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from freezeframe.backends.backend import RawFrame, RawValue
from freezeframe.backends.console.prompt.spelling import Ask, At, Spelling
from freezeframe.errors import EvaluationFailed
from freezeframe.model.values import ScopeKind

from . import expressions, places, stops, values
from .bytecode import Event, Program

T = TypeVar("T")
U = TypeVar("U")


class Looking(Spelling):
    """The part of the debugger's spelling that changes nothing."""

    _program: Program | None = None

    def event_at(self, address: int | None) -> Event | None:
        if address is None or self._program is None:
            return None
        return self._program.at(address)

    def select(self, at: At, from_: At) -> Sequence[str]:
        return (f"frame {at.level}",)

    def frames(self, thread: int, start: int, count: int) -> Ask[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            return [self._frame(*each) for each in stops.frames(text)[start:]]

        return Ask(f"backtrace {start + count}", read)

    def _frame(self, level: int, address: int) -> RawFrame:
        event, program = self.event_at(address), self._program
        if event is None or program is None:
            return RawFrame(0, "?", library=True)
        return RawFrame(
            0,
            function_of(event),
            program.file_of(event),
            event.called if level else event.line,
            None if level else event.column,
            places.shown_module(event.module),
            library=program.is_library(event.module),
        )

    def depth(self, thread: int) -> Ask[int]:
        return Ask("backtrace -1", lambda text: sum(1 + level for level, _ in stops.frames(text)))

    def scope(self, kind: ScopeKind, at: At) -> Ask[Sequence[RawValue]]:
        def then(text: str) -> Ask[Sequence[RawValue]]:
            event = self._here(text)
            known = event.names() if event is not None else []
            # Names with a dash are the compiler's own.
            shown = [each for each in reversed(known) if each.local and "-" not in each.name]
            top = event is not None and event.function == event.module
            # Functions of the module, which its own code has on its stack and others take along.
            around = {each.name for each in shown if top or not each.stacked}
            return _printed([each.name for each in shown], around)

        return Ask("frame", lambda text: [], then=then)

    def arguments(self, at: At) -> Ask[Sequence[str] | None]:
        def read(text: str) -> Sequence[str] | None:
            event, program = self._here(text), self._program
            owner = program.owner(event) if event is not None and program is not None else None
            if owner is None:
                return []
            return [each.name for each in reversed(owner.names()) if each.stacked]

        return Ask("frame", read)

    def _here(self, text: str) -> Event | None:
        """Return the event of the frame that `frame` shows."""
        found = stops.frames(text)
        return self.event_at(found[0][1]) if found else None

    def children(
        self, expression: str, at: At, start: int, count: int | None
    ) -> Ask[Sequence[RawValue]]:
        def read(value: RawValue) -> Sequence[RawValue]:
            parts = values.split(value.text)
            shown = parts[start : None if count is None else start + count]
            return [
                RawValue(
                    part.name,
                    part.text,
                    ref=1 if part.access and values.split(part.text) else 0,
                    expression=f"{expression}{part.access}" if part.access else None,
                )
                for part in shown
            ]

        return _map(self.evaluate(expression, at), read)

    def evaluate(self, expression: str, at: At) -> Ask[RawValue]:
        tree = expressions.parse(expression)
        wanted = list(dict.fromkeys(look.text for look in expressions.looks(tree)))
        prints = "\n".join(f"print {text}" for text in wanted)

        def read(text: str) -> RawValue:
            told = values.answers(text, len(wanted))
            if isinstance(tree, expressions.Look):
                return values.read(told[0], expression.strip())
            seen = {
                name: expressions.known(value.type or "", value.text)
                for name, value in zip(wanted, map(values.read, told), strict=True)
            }
            result = expressions.work(tree, seen)
            return RawValue(expression.strip(), result.text, result.type or None)

        def then(text: str) -> Ask[RawValue] | None:
            told = values.answers(text, len(wanted))
            if any(values.unbound(each) for each in told):
                # The values of a module are on the stack of its own code until that is through.
                return Ask("backtrace -1", read, then=lambda bottom: outside(bottom, text))
            return None

        def outside(bottom: str, text: str) -> Ask[RawValue]:
            found = stops.frames(bottom)
            event = self.event_at(found[0][1]) if found else None
            level = found[0][0] if found else 0
            if event is None or event.function != event.module or level == at.level:
                return Ask("", lambda _: read(text))

            def among(answer: str) -> RawValue:
                here = values.answers(text, len(wanted))
                there = values.answers(answer, len(wanted) + 2)[1:]
                both = [
                    second if values.unbound(first) and not values.unbound(second) else first
                    for first, second in zip(here, there, strict=False)
                ]
                return read("\n(ocd) ".join(both))

            return Ask(f"frame {level}\n{prints}\nframe {at.level}", among)

        return Ask(prints, read, then=then if wanted else None)

    def truth(self, condition: str, at: At) -> Ask[bool]:
        def read(value: RawValue) -> bool:
            if value.type != "bool":
                raise EvaluationFailed(f"a condition is a bool, and {condition} is {value.type}")
            return value.text == "true"

        return _map(self.evaluate(condition, at), read)

    def log_text(self, expression: str, at: At) -> Ask[str]:
        def read(value: RawValue) -> str:
            if value.type == "string":
                return str(expressions.known("string", value.text).value)
            return value.text

        return _map(self.evaluate(expression, at), read)


def _map(asked: Ask[T], read: Callable[[T], U]) -> Ask[U]:
    """Return an `Ask` whose answer is made into something else."""
    then = asked.then
    return Ask(
        asked.command,
        lambda text: read(asked.read(text)),
        asked.before,
        None if then is None else functools.partial(_mapped, then, read),
    )


def _mapped(
    then: Callable[[str], Ask[T] | None], read: Callable[[T], U], text: str
) -> Ask[U] | None:
    following = then(text)
    return None if following is None else _map(following, read)


def _printed(names: Sequence[str], around: set[str]) -> Ask[Sequence[RawValue]]:
    """Ask for several variables at once; one that cannot be shown says why."""

    def one(name: str, text: str) -> RawValue:
        try:
            value = values.read(text, name)
        except EvaluationFailed as error:
            return RawValue(name, error.message, failed=True)
        return replace(value, definition=name in around and value.text == "<fun>")

    def read(text: str) -> Sequence[RawValue]:
        told = values.answers(text, len(names))
        both = zip(names, told, strict=True)
        return [one(name, answer) for name, answer in both if not values.unbound(answer)]

    return Ask("\n".join(f"print {name}" for name in names), read)


def function_of(event: Event) -> str:
    """Return a function's name without that of its module, and a module's own code by its name."""
    if event.function == event.module:
        return places.shown_module(event.module)
    return event.function.removeprefix(f"{event.module}.")
