"""Breakpoints and exception filters as an adapter has them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from freezeframe.backends.backend import (
    BoundBreakpoint,
    Configuration,
    Feature,
    Stopped,
    WantedBreakpoint,
)
from freezeframe.model.stops import ExceptionFilter

from . import translate
from .adapters._descriptor import Wired
from .wire import Wire


class Marks:
    """What was set through one wire; knows our ids behind the adapter's."""

    def __init__(self, wire: Wire, log_channel: Callable[[], str | None]) -> None:
        self._wire = wire
        self._log_channel = log_channel
        self._ids: dict[int, tuple[int, ...]] = {}
        self._conditional: set[int] = set()
        #: what was asked for last, by file or kind
        self._asked: dict[str, Sequence[WantedBreakpoint]] = {}
        self._filters: Sequence[ExceptionFilter] | None = None
        #: filters were narrowed to types
        self._narrowed = False

    @property
    def configuration(self) -> Configuration:
        """Everything that is set now, to be set again for another program."""
        wanted = [want for entries in self._asked.values() for want in entries]
        return Configuration(wanted, self._filters)

    async def set_all(self, configuration: Configuration) -> list[BoundBreakpoint]:
        """Set every breakpoint and filter; requests that do not depend on each other together."""
        files: dict[str, list[WantedBreakpoint]] = {}
        functions: list[WantedBreakpoint] = []
        addresses: list[WantedBreakpoint] = []
        for wanted in configuration.breakpoints:
            if wanted.location.file is not None:
                files.setdefault(wanted.location.file, []).append(wanted)
            elif wanted.location.address is not None:
                addresses.append(wanted)
            else:
                functions.append(wanted)
        work = [self.set_lines(path, wanted) for path, wanted in files.items()]
        if functions:
            work.append(self.set_functions(functions))
        if addresses:
            work.append(self.set_addresses(addresses))
        bound = [entry for entries in await asyncio.gather(*work) for entry in entries]
        filters = configuration.filters_among(translate.filters(self._wire.capabilities))
        if self._wire.capabilities.get("exceptionBreakpointFilters"):
            await self.set_filters(filters)
        return bound

    async def set_lines(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> list[BoundBreakpoint]:
        self._asked[path] = wanted
        source = {"path": path, "name": os.path.basename(path)}
        return await self._set(
            "setBreakpoints",
            wanted,
            lambda entry: {"line": entry.wanted.location.line},
            {"source": source},
        )

    async def set_functions(self, wanted: Sequence[WantedBreakpoint]) -> list[BoundBreakpoint]:
        if Feature.FUNCTION_BREAKPOINTS not in self._wire.features:
            return self._refused(wanted, Feature.FUNCTION_BREAKPOINTS)
        self._asked["function"] = wanted
        return await self._set(
            "setFunctionBreakpoints", wanted, lambda entry: {"name": _function_name(entry.wanted)}
        )

    async def set_addresses(self, wanted: Sequence[WantedBreakpoint]) -> list[BoundBreakpoint]:
        if Feature.ADDRESS_BREAKPOINTS not in self._wire.features:
            return self._refused(wanted, Feature.ADDRESS_BREAKPOINTS)
        self._asked["address"] = wanted
        return await self._set(
            "setInstructionBreakpoints",
            wanted,
            lambda entry: {"instructionReference": f"{entry.wanted.location.address:#x}"},
        )

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        self._filters = filters
        offered = {f.name for f in translate.filters(self._wire.capabilities)}
        chosen = [f for f in filters if f.name in offered]
        arguments: dict[str, Any] = {"filters": [f.name for f in chosen]}
        narrowed = {f.name: f.condition for f in chosen if f.condition}
        if self._wire.adapter.narrow is not None:
            await self._narrow(self._wire.adapter.narrow, narrowed)
        elif narrowed and self._wire.capabilities.get("supportsExceptionFilterOptions"):
            arguments["filters"] = [f.name for f in chosen if not f.condition]
            arguments["filterOptions"] = [
                {"filterId": name, "condition": condition} for name, condition in narrowed.items()
            ]
        await self._wire.request("setExceptionBreakpoints", arguments)

    async def _narrow(
        self,
        expression: Callable[[Mapping[str, Sequence[str]]], str],
        narrowed: Mapping[str, str],
    ) -> None:
        if not narrowed and not self._narrowed:
            return
        self._narrowed = bool(narrowed)
        types = {name: condition.split(", ") for name, condition in narrowed.items()}
        context = self._wire.adapter.expression_context
        await self._wire.request("evaluate", {"expression": expression(types), "context": context})

    def stopped(self, body: Mapping[str, Any]) -> Stopped:
        return translate.stopped(body, self._ids)

    def conditional(self, ids: Sequence[int]) -> list[int]:
        """Return those of our breakpoints that the adapter was given with a condition."""
        return [id for id in ids if id in self._conditional]

    def moved(self, answer: Mapping[str, Any]) -> list[BoundBreakpoint]:
        """Return what an event says about breakpoints of ours."""
        ids = self._ids.get(answer.get("id", -1), ())
        return [translate.bound_one(id, answer) for id in ids]

    async def _set(
        self,
        command: str,
        wanted: Sequence[WantedBreakpoint],
        place: Callable[[Wired], dict[str, Any]],
        more: Mapping[str, Any] | None = None,
    ) -> list[BoundBreakpoint]:
        usable, refused = self._usable(wanted)
        adapter = self._wire.adapter
        entries = adapter.wire_breakpoints(usable, self._log_channel())
        for entry in entries:
            (self._conditional.update if entry.fields else self._conditional.difference_update)(
                entry.ids
            )
        body = await self._wire.request(
            command,
            {**(more or {}), "breakpoints": [{**place(e), **e.fields} for e in entries]},
        )
        return translate.bound(entries, body, adapter, self._ids) + refused

    def _usable(
        self, wanted: Sequence[WantedBreakpoint]
    ) -> tuple[list[WantedBreakpoint], list[BoundBreakpoint]]:
        """Tell breakpoints that can be set from those whose words can never be evaluated."""
        usable, refused = [], []
        for want in wanted:
            adapter = self._wire.adapter
            wrong = adapter.check_condition(want.condition) if want.condition else None
            wrong = wrong or (adapter.check_log(want.log) if want.log is not None else None)
            if wrong is None:
                usable.append(want)
            else:
                refused.append(BoundBreakpoint(want.id, False, message=wrong, rejected=True))
        return usable, refused

    def _refused(
        self, wanted: Sequence[WantedBreakpoint], feature: Feature
    ) -> list[BoundBreakpoint]:
        message = f"{self._wire.adapter.name} has no {feature.value}"
        return [BoundBreakpoint(w.id, False, message=message, rejected=True) for w in wanted]


def _function_name(wanted: WantedBreakpoint) -> str:
    location = wanted.location
    return f"{location.module}!{location.function}" if location.module else location.function or ""
