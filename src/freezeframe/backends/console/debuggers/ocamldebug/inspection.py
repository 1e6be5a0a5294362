"""Inspection of a stopped program: frames, variables, expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from freezeframe.backends.backend import RawFrame, RawValue
from freezeframe.backends.console.prompt.command_set import CommandSet, ConsoleQuery, FrameRef
from freezeframe.errors import EvaluationFailed
from freezeframe.model.values import ScopeKind

from . import breakpoint_locations, expressions, stop_parser, value_parser
from .bytecode import BytecodeProgram, DebugEvent

T = TypeVar("T")
U = TypeVar("U")


class OcamlInspection(CommandSet):
    """The part of the command set that changes nothing."""

    _program: BytecodeProgram | None = None

    def event_at(self, address: int | None) -> DebugEvent | None:
        if address is None or self._program is None:
            return None
        return self._program.at(address)

    def select(self, at: FrameRef, from_: FrameRef) -> Sequence[str]:
        return (f"frame {at.level}",)

    def frames(self, thread: int, start: int, count: int) -> ConsoleQuery[Sequence[RawFrame]]:
        def read(text: str) -> Sequence[RawFrame]:
            return [self._frame(*each) for each in stop_parser.frames(text)[start:]]

        return ConsoleQuery(f"backtrace {start + count}", read)

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
            breakpoint_locations.shown_module(event.module),
            library=program.is_library(event.module),
        )

    def depth(self, thread: int) -> ConsoleQuery[int]:
        return ConsoleQuery(
            "backtrace -1", lambda text: sum(1 + level for level, _ in stop_parser.frames(text))
        )

    def scope(self, kind: ScopeKind, at: FrameRef) -> ConsoleQuery[Sequence[RawValue]]:
        def then(text: str) -> ConsoleQuery[Sequence[RawValue]]:
            event = self._here(text)
            names = event.names() if event is not None else []
            # Names with a dash are made by the compiler.
            shown = [each for each in reversed(names) if each.local and "-" not in each.name]
            top = event is not None and event.function == event.module
            # Functions of the module: on the stack of its top-level code, captured by others.
            module_functions = {each.name for each in shown if top or not each.stacked}
            return _print_all([each.name for each in shown], module_functions)

        return ConsoleQuery("frame", lambda text: [], then=then)

    def arguments(self, at: FrameRef) -> ConsoleQuery[Sequence[str] | None]:
        def read(text: str) -> Sequence[str] | None:
            event, program = self._here(text), self._program
            owner = program.owner(event) if event is not None and program is not None else None
            if owner is None:
                return []
            return [each.name for each in reversed(owner.names()) if each.stacked]

        return ConsoleQuery("frame", read)

    def _here(self, text: str) -> DebugEvent | None:
        """Return the event of the frame in the output of `frame`."""
        found = stop_parser.frames(text)
        return self.event_at(found[0][1]) if found else None

    def children(
        self, expression: str, at: FrameRef, start: int, count: int | None
    ) -> ConsoleQuery[Sequence[RawValue]]:
        def read(value: RawValue) -> Sequence[RawValue]:
            parts = value_parser.split(value.text)
            shown = parts[start : None if count is None else start + count]
            return [
                RawValue(
                    part.name,
                    part.text,
                    ref=1 if part.access and value_parser.split(part.text) else 0,
                    expression=f"{expression}{part.access}" if part.access else None,
                )
                for part in shown
            ]

        return _map_query(self.evaluate(expression, at), read)

    def evaluate(self, expression: str, at: FrameRef) -> ConsoleQuery[RawValue]:
        tree = expressions.parse(expression)
        printed = list(dict.fromkeys(lookup.text for lookup in expressions.lookups(tree)))
        prints = "\n".join(f"print {text}" for text in printed)

        def read(text: str) -> RawValue:
            answers = value_parser.answers(text, len(printed))
            if isinstance(tree, expressions.Lookup):
                return value_parser.read(answers[0], expression.strip())
            values = {
                name: expressions.constant(value.type or "", value.text)
                for name, value in zip(printed, map(value_parser.read, answers), strict=True)
            }
            result = expressions.evaluate_tree(tree, values)
            return RawValue(expression.strip(), result.text, result.type or None)

        def then(text: str) -> ConsoleQuery[RawValue] | None:
            answers = value_parser.answers(text, len(printed))
            if any(value_parser.unbound(each) for each in answers):
                # A module's values are on the stack of its top-level code until that has ended.
                return ConsoleQuery(
                    "backtrace -1", read, then=lambda bottom: look_in_module(bottom, text)
                )
            return None

        def look_in_module(bottom: str, text: str) -> ConsoleQuery[RawValue]:
            found = stop_parser.frames(bottom)
            event = self.event_at(found[0][1]) if found else None
            level = found[0][0] if found else 0
            if event is None or event.function != event.module or level == at.level:
                return ConsoleQuery("", lambda _: read(text))

            def merge(answer: str) -> RawValue:
                here = value_parser.answers(text, len(printed))
                there = value_parser.answers(answer, len(printed) + 2)[1:]
                both = [
                    second
                    if value_parser.unbound(first) and not value_parser.unbound(second)
                    else first
                    for first, second in zip(here, there, strict=False)
                ]
                return read("\n(ocd) ".join(both))

            return ConsoleQuery(f"frame {level}\n{prints}\nframe {at.level}", merge)

        return ConsoleQuery(prints, read, then=then if printed else None)

    def evaluate_condition(self, condition: str, at: FrameRef) -> ConsoleQuery[bool]:
        def read(value: RawValue) -> bool:
            if value.type != "bool":
                raise EvaluationFailed(f"a condition is a bool, and {condition} is {value.type}")
            return value.text == "true"

        return _map_query(self.evaluate(condition, at), read)

    def log_text(self, expression: str, at: FrameRef) -> ConsoleQuery[str]:
        def read(value: RawValue) -> str:
            if value.type == "string":
                return str(expressions.constant("string", value.text).value)
            return value.text

        return _map_query(self.evaluate(expression, at), read)


def _map_query(query: ConsoleQuery[T], read: Callable[[T], U]) -> ConsoleQuery[U]:
    """Return a query whose result is converted by *read*."""
    then = query.then
    return ConsoleQuery(
        query.command,
        lambda text: read(query.read(text)),
        query.before,
        None if then is None else functools.partial(_map_next, then, read),
    )


def _map_next(
    then: Callable[[str], ConsoleQuery[T] | None], read: Callable[[T], U], text: str
) -> ConsoleQuery[U] | None:
    following = then(text)
    return None if following is None else _map_query(following, read)


def _print_all(
    names: Sequence[str], module_functions: set[str]
) -> ConsoleQuery[Sequence[RawValue]]:
    """Query several variables at once; one that cannot be shown has the error as its text."""

    def one(name: str, text: str) -> RawValue:
        try:
            value = value_parser.read(text, name)
        except EvaluationFailed as error:
            return RawValue(name, error.message, failed=True)
        return replace(value, definition=name in module_functions and value.text == "<fun>")

    def read(text: str) -> Sequence[RawValue]:
        answers = value_parser.answers(text, len(names))
        both = zip(names, answers, strict=True)
        return [one(name, answer) for name, answer in both if not value_parser.unbound(answer)]

    return ConsoleQuery("\n".join(f"print {name}" for name in names), read)


def function_of(event: DebugEvent) -> str:
    """Return a function's name without its module; the module's name for its top-level code."""
    if event.function == event.module:
        return breakpoint_locations.shown_module(event.module)
    return event.function.removeprefix(f"{event.module}.")
