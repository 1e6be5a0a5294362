"""Breakpoints and exception filters, as set in one adapter."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    BreakpointRequest,
    Configuration,
    Core,
    Feature,
    Launch,
    Stopped,
    Target,
)
from freezeframe.backends.breakpoint_hits import BreakpointHits, has_literal_braces
from freezeframe.backends.native import is_of_type
from freezeframe.model.locations import Location
from freezeframe.model.stops import ExceptionFilter, StopReason

from . import edited_files, translate, unsupported_breakpoints
from .adapter_channel import AdapterChannel
from .adapters._breakpoints import by_location, merge
from .adapters._descriptor import AdapterBreakpoint
from .breakpoint_setter import BreakpointSetter
from .command_breakpoints import CommandBreakpoints

#: Ids of internal breakpoints: not those of the user, not those of `until`.
_ENTRY = -1_000_000
_FIRST_SCOPE = -1_500_000
_FIRST_FILTER = -2_000_000
_FIRST_RETURN = -3_000_000


class AdapterBreakpoints:
    """The breakpoints set through one channel; maps the adapter's ids to ours."""

    def __init__(self, channel: AdapterChannel, log_channel: Callable[[], str | None]) -> None:
        self._channel = channel
        self._log_channel = log_channel
        self._ids: dict[int, tuple[int, ...]] = {}
        self._conditional: set[int] = set()
        self._setter = BreakpointSetter(channel)
        #: the last request, by file or kind
        self._requested: dict[str, Sequence[BreakpointRequest]] = {}
        self._filters: Sequence[ExceptionFilter] | None = None
        self._target: Target = Attach()
        self._since_ns = time.time_ns()
        #: internal function breakpoints, by a negative id
        self._internal: dict[int, str] = {}
        #: the entry point, when only its address is known
        self._entry: int | None = None
        #: watchpoint id → breakpoint at the return address of the function that owns the variable
        self._scopes: dict[int, BreakpointRequest] = {}
        #: return instructions of the function a thread steps out of
        self._returns: Sequence[BreakpointRequest] = ()
        #: breakpoints as requested, by id
        self._requests: dict[int, BreakpointRequest] = {}
        #: where the adapter bound them
        self._bound_at: dict[int, tuple[str | None, int | None]] = {}
        #: breakpoints that share an adapter breakpoint with others, or are emulated
        self._shared: set[int] = set()
        #: breakpoints set by a raw command
        self._by_command = CommandBreakpoints(channel, self._ids, self._requests)
        #: breakpoints whose hits are counted here, not by the adapter
        self._counted: set[int] = set()
        self.hits = BreakpointHits()
        #: a filter is limited to some types
        self._narrowed = False
        #: the types a filter is limited to, by its label
        self._types: dict[str, str] = {}

    @property
    def configuration(self) -> Configuration:
        """Everything that is set now, to be set again after an exec."""
        requests = [each for entries in self._requested.values() for each in entries]
        return Configuration(requests, self._filters)

    async def set_all(self, configuration: Configuration, target: Target) -> list[BoundBreakpoint]:
        """Set every breakpoint and filter; independent DAP requests are sent together."""
        self._target = target
        if isinstance(target, Core):
            return [unsupported_breakpoints.in_core_file(b) for b in configuration.breakpoints]
        adapter = self._channel.adapter
        filters = self._filters = configuration.filters_among(self.offered())
        if isinstance(target, Launch) and target.stop_on_entry:
            entry = adapter.start.entry_function(target)
            if entry is not None:
                self._internal[_ENTRY] = entry
        self._internal.update(self._filter_functions(filters))
        files: dict[str, list[BreakpointRequest]] = {}
        functions: list[BreakpointRequest] = []
        addresses: list[BreakpointRequest] = []
        for request in configuration.breakpoints:
            if request.location.file is not None:
                files.setdefault(request.location.file, []).append(request)
            elif request.location.address is not None:
                addresses.append(request)
            else:
                functions.append(request)
        work = [self.set_lines(path, requests) for path, requests in files.items()]
        if functions or self._internal:
            work.append(self.set_functions(functions))
        if addresses:
            work.append(self.set_addresses(addresses))
        bound = [entry for entries in await asyncio.gather(*work) for entry in entries]
        if self._channel.capabilities.get("exceptionBreakpointFilters"):
            await self.set_filters(filters)
        return bound

    async def clear(self) -> None:
        """Remove every breakpoint and filter."""
        for key in [key for key, requests in self._requested.items() if requests]:
            if key == "function":
                await self.set_functions(())
            elif key == "address":
                await self.set_addresses(())
            else:
                await self.set_lines(key, ())
        if self._filters:
            await self.set_filters(())

    async def set_lines(
        self, path: str, requests: Sequence[BreakpointRequest]
    ) -> list[BoundBreakpoint]:
        if isinstance(self._target, Core):
            return [unsupported_breakpoints.in_core_file(each) for each in requests]
        gone = self._replace(path, requests)
        source = {"path": path, "name": os.path.basename(path)}
        line = lambda entry: {"line": entry.request.location.line}  # noqa: E731
        bound = await self._set("setBreakpoints", requests, line, {"source": source})
        self._forget(gone)
        since_ns = self._since_ns if isinstance(self._target, Launch) else None
        return await edited_files.mark_edited(self._channel, path, bound, since_ns)

    async def set_functions(self, requests: Sequence[BreakpointRequest]) -> list[BoundBreakpoint]:
        if isinstance(self._target, Core):
            return [unsupported_breakpoints.in_core_file(each) for each in requests]
        if Feature.FUNCTION_BREAKPOINTS not in self._channel.features:
            return unsupported_breakpoints.lacking(
                self._channel.adapter, requests, Feature.FUNCTION_BREAKPOINTS
            )
        gone = self._replace("function", requests)
        command = self._channel.adapter.breakpoints.in_module
        in_modules = [r for r in requests if command is not None and r.location.module]
        internal = [
            BreakpointRequest(id, Location(function=name), self._internal_condition(id))
            for id, name in self._internal.items()
        ]
        bound = await self._set(
            "setFunctionBreakpoints",
            [*(r for r in requests if r not in in_modules), *internal],
            lambda entry: {"name": self._function_name(entry.request)},
        )
        if command is not None:
            if self._channel.adapter.breakpoints.searches(self._target):
                lost = {each.id for each in bound if not each.verified and not each.rejected}
                in_modules += [r for r in requests if r.id in lost]
            counts_hits = self._channel.adapter.breakpoints.counts_hits
            counted = (lambda request: request) if counts_hits else self._without_hit_count
            found = await self._by_command.set(in_modules, command, counted, self._target)
            replaced = {each.id for each in found}
            bound = [each for each in bound if each.id not in replaced] + found
        self._forget(gone)
        return [entry for entry in bound if entry.id not in self._internal]

    async def set_addresses(self, requests: Sequence[BreakpointRequest]) -> list[BoundBreakpoint]:
        if Feature.ADDRESS_BREAKPOINTS not in self._channel.features:
            return unsupported_breakpoints.lacking(
                self._channel.adapter, requests, Feature.ADDRESS_BREAKPOINTS
            )
        gone = self._replace("address", requests)
        internal = [*self._scopes.values(), *self._returns]
        if self._entry is not None:
            internal.append(BreakpointRequest(_ENTRY, Location(address=self._entry)))
        bound = await self._set(
            "setInstructionBreakpoints",
            [*requests, *internal],
            lambda entry: {"instructionReference": f"{entry.request.location.address:#x}"},
        )
        self._forget(gone)
        return [entry for entry in bound if entry.id > _ENTRY]

    async def set_returns(self, locations: Sequence[Location], condition: str | None) -> None:
        """Stop at these return instructions, and at no others."""
        if locations or self._returns:
            self._returns = [
                BreakpointRequest(_FIRST_RETURN - index, location, condition)
                for index, location in enumerate(locations)
            ]
            await self.set_addresses(self._requested.get("address", ()))

    @staticmethod
    def is_return(stopped: Stopped) -> bool:
        """Whether a stop is only at one of the internal return breakpoints."""
        ids = stopped.breakpoints
        return bool(ids) and all(id <= _FIRST_RETURN for id in ids)

    async def set_scope(self, watch: int, address: int, condition: str) -> None:
        """Stop at the return address of the function whose variable is watched."""
        if Feature.ADDRESS_BREAKPOINTS in self._channel.features:
            location = Location(address=address)
            self._scopes[watch] = BreakpointRequest(_FIRST_SCOPE - watch, location, condition)
            await self.set_addresses(self._requested.get("address", ()))

    async def forget_scope(self, watch: int) -> None:
        if self._scopes.pop(watch, None) is not None:
            await self.set_addresses(self._requested.get("address", ()))

    @staticmethod
    def without_scopes(stopped: Stopped) -> tuple[int, ...]:
        """Return the breakpoints of a stop without the internal ones of `set_scope`."""
        return tuple(id for id in stopped.breakpoints if not _FIRST_FILTER < id <= _FIRST_SCOPE)

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        self._filters = filters
        names = self._channel.adapter.exceptions.names
        offered = {f.name for f in translate.filters(self._channel.capabilities)}
        renamed = [replace(f, name=names.get(f.name, f.name)) for f in filters]
        chosen = [f for f in renamed if f.name in offered]
        arguments: dict[str, Any] = {"filters": [f.name for f in chosen]}
        narrowed = {f.name: f.condition for f in chosen if f.condition}
        labels = {f.name: f.label for f in translate.filters(self._channel.capabilities)}
        self._types = {
            # The description of a stop is the filter's name or its label.
            key: condition
            for name, condition in narrowed.items()
            for key in (name, labels[name])
        }
        by_function = self._channel.adapter.exceptions.functions
        self._types |= {
            f.name: f.condition for f in filters if f.condition and f.name in by_function
        }
        if self._channel.adapter.exceptions.narrow is not None:
            await self._narrow(self._channel.adapter.exceptions.narrow, narrowed)
        elif self._channel.adapter.exceptions.examines:
            pass  # StopHandler checks the type of each exception at its stop
        elif narrowed and self._channel.capabilities.get("supportsExceptionFilterOptions"):
            arguments["filters"] = [f.name for f in chosen if not f.condition]
            arguments["filterOptions"] = [
                {"filterId": name, "condition": condition} for name, condition in narrowed.items()
            ]
        if offered:
            await self._channel.request("setExceptionBreakpoints", arguments)
        for command in self._channel.adapter.exceptions.commands({f.name for f in filters}):
            await self._by_command.raw(command)
        functions = self._filter_functions(filters)
        before = {id: name for id, name in self._internal.items() if id <= _FIRST_FILTER}
        if functions != before:
            self._internal = {
                id: n for id, n in self._internal.items() if id not in before
            } | functions
            await self.set_functions(self._requested.get("function", ()))

    async def _narrow(
        self,
        expression: Callable[[Mapping[str, Sequence[str]]], str],
        narrowed: Mapping[str, str],
    ) -> None:
        if not narrowed and not self._narrowed:
            return
        self._narrowed = bool(narrowed)
        types = {name: condition.split(", ") for name, condition in narrowed.items()}
        context = self._channel.adapter.expressions.context
        await self._channel.request(
            "evaluate", {"expression": expression(types), "context": context}
        )

    def offered(self) -> tuple[ExceptionFilter, ...]:
        """Return the available exception filters, under our names."""
        advertised = translate.filters(self._channel.capabilities)
        return tuple(self._channel.adapter.exceptions.offered(advertised, self._target))

    def filter_is_off(self, description: str) -> bool:
        """Whether a stop is for an exception filter that is off."""
        name = self._channel.adapter.exceptions.filter_of(description)
        return name is not None and name not in {each.name for each in self._filters or ()}

    def _filter_functions(self, filters: Sequence[ExceptionFilter]) -> dict[int, str]:
        """Return the function breakpoints that emulate filters the adapter does not have."""
        known = list(self._channel.adapter.exceptions.functions.items())
        on = {f.name for f in filters}
        return {
            _FIRST_FILTER - index: self._channel.adapter.breakpoints.function_alias(
                self._target, each.function
            )
            for index, (name, each) in enumerate(known)
            if name in on
        }

    def _internal_condition(self, id: int) -> str | None:
        known = list(self._channel.adapter.exceptions.functions.values())
        return known[_FIRST_FILTER - id].condition if id <= _FIRST_FILTER else None

    def filter_of(self, stopped: Stopped) -> str | None:
        """Return the filter that an internal function breakpoint of a stop emulates."""
        names = list(self._channel.adapter.exceptions.functions)
        filters = (id for id in stopped.breakpoints if _FIRST_RETURN < id <= _FIRST_FILTER)
        found = [_FIRST_FILTER - id for id in filters]
        return names[found[0]] if found else None

    def filter_named(self, label: str) -> str | None:
        """Return our name of the filter in the description of a stop."""
        names = {adapters: our for our, adapters in self._channel.adapter.exceptions.names.items()}
        for each in translate.filters(self._channel.capabilities):
            if label in (each.label, each.name, names.get(each.name)):
                return names.get(each.name, each.name)
        return label if label in self._channel.adapter.exceptions.functions else None

    def filter_matches(self, label: str, types: Sequence[str]) -> bool:
        """Whether the filter with a label stops for *types*: an exception's type and its bases."""
        limits = self._types.get(label)
        return limits is None or is_of_type(types, limits)

    def is_entry(self, stopped: Stopped) -> bool:
        return _ENTRY in stopped.breakpoints

    async def forget_entry(self) -> None:
        """Remove the entry breakpoint, so that it stops only once."""
        if self._internal.pop(_ENTRY, None) is not None:
            await self.set_functions(self._requested.get("function", ()))
        if self._entry is not None:
            self._entry = None
            await self.set_addresses(self._requested.get("address", ()))

    async def move_entry(self, address: str | None) -> None:
        """Move the entry breakpoint from a function to an address."""
        self._internal.pop(_ENTRY, None)
        await self.set_functions(self._requested.get("function", ()))
        try:
            self._entry = int((address or "").split()[0], 0)
        except (IndexError, ValueError):
            return
        await self.set_addresses(self._requested.get("address", ()))

    def stopped(self, body: Mapping[str, Any]) -> Stopped:
        # Ids of watchpoints are a separate sequence and may equal those of breakpoints.
        watched = body.get("reason") == "data breakpoint"
        stopped = translate.stopped(body, {} if watched else self._ids)
        read = self._channel.adapter.stops.read(body)
        if read is not None:
            stopped = replace(stopped, reason=read[0], description=read[1])
        return stopped

    def confirmed_by_stop(self, stopped: Stopped) -> list[BoundBreakpoint]:
        """Return breakpoints without a `breakpoint` event that a stop proves to be bound."""
        return [BoundBreakpoint(id, True) for id in stopped.breakpoints if id in self._by_command]

    def shares(self, stopped: Stopped) -> bool:
        """Whether the conditions and messages of a stop's breakpoints are evaluated here."""
        return not self._shared.isdisjoint(stopped.breakpoints)

    def counts(self, stopped: Stopped) -> bool:
        """Whether hits of a stop's breakpoints are counted here."""
        hit = stopped.reason is StopReason.BREAKPOINT
        return hit and not self._counted.isdisjoint(stopped.breakpoints)

    def conditional(self, ids: Sequence[int]) -> list[int]:
        """Return the breakpoints that the adapter has with a condition, hit count or message."""
        return [id for id in ids if id in self._conditional]

    def changed(self, answer: Mapping[str, Any]) -> list[BoundBreakpoint]:
        """Return the breakpoints that a `breakpoint` event changes."""
        ids = self._ids.get(answer.get("id", -1), ())
        check = self._channel.adapter.breakpoints.check_bound
        return [
            check(self._requests[id], bound) if id in self._requests else bound
            for id, bound in ((id, translate.bound_one(id, answer)) for id in ids)
        ]

    def _replace(self, key: str, requests: Sequence[BreakpointRequest]) -> set[int]:
        """Note what is requested for a file or kind; return the ids that no longer are."""
        before = self._requested.get(key, ())
        self._requested[key] = requests
        return {each.id for each in before} - {each.id for each in requests}

    def _forget(self, gone: set[int]) -> None:
        """Forget removed breakpoints, once the adapter has answered: a stop may come before."""
        for number in [number for number, ids in self._ids.items() if gone.issuperset(ids)]:
            del self._ids[number]
        for id in gone:
            self._requests.pop(id, None)
            self._bound_at.pop(id, None)

    async def _merge_locations(self, bound: Sequence[BoundBreakpoint]) -> Set[int]:
        """Make breakpoints that were bound stop once per execution of their line.

        Return those that other breakpoints of the adapter replace now.
        """
        return frozenset()

    async def _set(
        self,
        command: str,
        requests: Sequence[BreakpointRequest],
        location_fields: Callable[[AdapterBreakpoint], dict[str, Any]],
        more: Mapping[str, Any] | None = None,
    ) -> list[BoundBreakpoint]:
        adapter = self._channel.adapter
        usable, refused = unsupported_breakpoints.usable(adapter, requests)
        self._requests.update((each.id, each) for each in usable)
        if not (adapter.breakpoints.counts_hits and self._supports(Feature.HIT_COUNTS)):
            usable = [self._without_hit_count(each) for each in usable]
        elif adapter.breakpoints.hit_query is None:
            for request in usable:
                self.hits.add(replace(request, hit_count=None))
        entries = adapter.breakpoints.encode(usable, self._log_channel())
        if adapter.breakpoints.one_per_location:
            entries = self._merge_same_location(entries)
        writes = self._supports(Feature.LOGPOINTS) and adapter.breakpoints.logs(self._target)
        writes = writes and (more is not None or adapter.breakpoints.logs_functions)
        entries = [self._emulate_logpoint(entry, writes=writes) for entry in entries]
        for entry in entries:
            (self._conditional.update if entry.fields else self._conditional.difference_update)(
                entry.ids
            )
        sent = [{**location_fields(entry), **entry.fields} for entry in entries]
        body = await self._setter.request(command, {**(more or {}), "breakpoints": sent})
        bound = translate.bound(entries, body, adapter, self._ids)
        for each in bound:
            location = self._requests[each.id].location
            self._bound_at[each.id] = (each.path or location.file, each.line or location.line)
        moved = await self._merge_locations(bound)
        self._shared |= moved
        bound = [replace(e, verified=True, message=None) if e.id in moved else e for e in bound]
        return bound + refused

    def _supports(self, feature: Feature) -> bool:
        """Whether the adapter has a feature; otherwise it is emulated here, at stops."""
        return feature in translate.declared(self._channel.capabilities, self._channel.adapter)

    def at(self, path: str | None, line: int | None) -> tuple[int, ...]:
        """Return the breakpoints at a location if one is emulated, for a stop that names none."""
        ids = [each.id for entries in self._requested.values() for each in entries]
        there = [id for id in ids if self._bound_at.get(id) == (path, line)]
        needed = any(id in self._counted or id in self._shared for id in there)
        return tuple(there) if needed else ()

    @property
    def any_set(self) -> bool:
        return any(self._requested.values())

    def stopping_at(self, path: str | None, line: int | None) -> list[BreakpointRequest]:
        """Return the breakpoints at a location that stop: all but the adapter's logpoints."""
        requests = [each for entries in self._requested.values() for each in entries]
        return [
            each
            for each in requests
            if self._bound_at.get(each.id) == (path, line)
            and (each.log is None or each.id in self._shared)
        ]

    @property
    def emulates_any(self) -> bool:
        """Whether hit counts, logpoints or shared breakpoints are emulated here."""
        return bool(self._counted or self._shared)

    def _emulate_logpoint(self, entry: AdapterBreakpoint, *, writes: bool) -> AdapterBreakpoint:
        """Make a logpoint stop if the adapter cannot log it as we do, or count its hits."""
        message, counted = entry.request.log, not self._counted.isdisjoint(entry.ids)
        if message is None or "logMessage" not in entry.fields or entry.ids[0] not in self.hits:
            return entry
        if writes and not counted and not has_literal_braces(message):
            return entry
        self._shared.update(entry.ids)
        rest = {name: value for name, value in entry.fields.items() if name != "logMessage"}
        return replace(entry, fields=rest)

    def _merge_same_location(self, entries: Sequence[AdapterBreakpoint]) -> list[AdapterBreakpoint]:
        """Merge the breakpoints of one location into one that stops for each of them."""
        result = []
        for group in by_location(entries):
            ids = tuple(id for entry in group for id in entry.ids)
            (self._shared.update if len(group) > 1 else self._shared.difference_update)(ids)
            result.append(merge(group))
        return result

    def _without_hit_count(self, request: BreakpointRequest) -> BreakpointRequest:
        """Remove the hit count from a request: its hits are counted here."""
        self.hits.add(request)
        self._shared.discard(request.id)
        (self._counted.discard if request.hit_count is None else self._counted.add)(request.id)
        return replace(request, hit_count=None)

    def _function_name(self, request: BreakpointRequest) -> str:
        location = request.location
        if location.module:
            return f"{location.module}!{location.function}"
        return self._channel.adapter.breakpoints.function_alias(
            self._target, location.function or ""
        )
