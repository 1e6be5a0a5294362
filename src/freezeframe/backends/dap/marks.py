"""Breakpoints and exception filters as an adapter has them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from freezeframe.backends.backend import (
    Attach,
    BoundBreakpoint,
    Configuration,
    Core,
    Feature,
    Launch,
    Stopped,
    Target,
    WantedBreakpoint,
)
from freezeframe.backends.counting import read_hits, wants
from freezeframe.model.places import Location
from freezeframe.model.stops import ExceptionFilter, StopReason

from . import edits, refusals, translate
from .adapters._descriptor import Wired
from .commanded import Commanded
from .wire import Wire

#: Ids of breakpoints that are ours, not the user's and not those of `until`.
_ENTRY = -1_000_000
_FIRST_SCOPE = -1_500_000
_FIRST_FILTER = -2_000_000
_FIRST_RETURN = -3_000_000


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
        self._target: Target = Attach()
        self._since_ns = time.time_ns()
        #: functions that we stop at for reasons of our own, by an id below zero
        self._own: dict[int, str] = {}
        #: where the program begins, when that is known by address only
        self._entry: int | None = None
        #: where functions go on whose callees' variables are watched, by the watchpoint's id
        self._scopes: dict[int, WantedBreakpoint] = {}
        #: return instructions of a function that a thread finishes
        self._returns: Sequence[WantedBreakpoint] = ()
        #: breakpoints as they were wanted, by id
        self._wanted: dict[int, WantedBreakpoint] = {}
        #: where the adapter put them
        self._bound_at: dict[int, tuple[str | None, int | None]] = {}
        #: breakpoints that share an entry of the adapter's with others, or that we speak for
        self._shared: set[int] = set()
        #: breakpoints that were made by a raw command
        self._commanded = Commanded(wire, self._ids, self._wanted)
        #: hit counts that we count ourselves, and passes so far
        self._hits: dict[int, str] = {}
        self._passes: dict[int, int] = {}
        #: addresses at which threads were seen stopped at a breakpoint
        self._addresses: set[str] = set()
        #: filters were narrowed to types
        self._narrowed = False
        #: types that a filter is narrowed to, by its label
        self._types: dict[str, frozenset[str]] = {}

    @property
    def configuration(self) -> Configuration:
        """Everything that is set now, to be set again for another program."""
        wanted = [want for entries in self._asked.values() for want in entries]
        return Configuration(wanted, self._filters)

    async def set_all(self, configuration: Configuration, target: Target) -> list[BoundBreakpoint]:
        """Set every breakpoint and filter; requests that do not depend on each other together."""
        self._target = target
        if isinstance(target, Core):
            return [refusals.dead(wanted) for wanted in configuration.breakpoints]
        adapter = self._wire.adapter
        filters = self._filters = configuration.filters_among(self.offered())
        if isinstance(target, Launch) and target.stop_on_entry:
            entry = adapter.start.entry_function(target)
            if entry is not None:
                self._own[_ENTRY] = entry
        self._own.update(self._filter_functions(filters))
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
        if functions or self._own:
            work.append(self.set_functions(functions))
        if addresses:
            work.append(self.set_addresses(addresses))
        bound = [entry for entries in await asyncio.gather(*work) for entry in entries]
        if self._wire.capabilities.get("exceptionBreakpointFilters"):
            await self.set_filters(filters)
        return bound

    async def clear(self) -> None:
        """Take away every breakpoint and filter."""
        for key in [key for key, wanted in self._asked.items() if wanted]:
            if key == "function":
                await self.set_functions(())
            elif key == "address":
                await self.set_addresses(())
            else:
                await self.set_lines(key, ())
        if self._filters:
            await self.set_filters(())

    async def set_lines(
        self, path: str, wanted: Sequence[WantedBreakpoint]
    ) -> list[BoundBreakpoint]:
        if isinstance(self._target, Core):
            return [refusals.dead(want) for want in wanted]
        self._asked[path] = wanted
        source = {"path": path, "name": os.path.basename(path)}
        line = lambda entry: {"line": entry.wanted.location.line}  # noqa: E731
        bound = await self._set("setBreakpoints", wanted, line, {"source": source})
        since_ns = self._since_ns if isinstance(self._target, Launch) else None
        return await edits.told(self._wire, path, bound, since_ns)

    async def set_functions(self, wanted: Sequence[WantedBreakpoint]) -> list[BoundBreakpoint]:
        if isinstance(self._target, Core):
            return [refusals.dead(want) for want in wanted]
        if Feature.FUNCTION_BREAKPOINTS not in self._wire.features:
            return refusals.lacking(self._wire.adapter, wanted, Feature.FUNCTION_BREAKPOINTS)
        self._asked["function"] = wanted
        command = self._wire.adapter.breakpoints.in_module
        in_modules = [w for w in wanted if command is not None and w.location.module]
        own = [
            WantedBreakpoint(id, Location(function=name), self._own_condition(id))
            for id, name in self._own.items()
        ]
        bound = await self._set(
            "setFunctionBreakpoints",
            [*(w for w in wanted if w not in in_modules), *own],
            lambda entry: {"name": self._function_name(entry.wanted)},
        )
        if command is not None:
            if self._wire.adapter.breakpoints.searches(self._target):
                lost = {each.id for each in bound if not each.verified and not each.rejected}
                in_modules += [w for w in wanted if w.id in lost]
            counts = self._wire.adapter.breakpoints.counts_hits
            counted = (lambda want: want) if counts else self._counted
            found = await self._commanded.set(in_modules, command, counted)
            replaced = {each.id for each in found}
            bound = [each for each in bound if each.id not in replaced] + found
        return [entry for entry in bound if entry.id not in self._own]

    async def set_addresses(self, wanted: Sequence[WantedBreakpoint]) -> list[BoundBreakpoint]:
        if Feature.ADDRESS_BREAKPOINTS not in self._wire.features:
            return refusals.lacking(self._wire.adapter, wanted, Feature.ADDRESS_BREAKPOINTS)
        self._asked["address"] = wanted
        own = [*self._scopes.values(), *self._returns]
        if self._entry is not None:
            own.append(WantedBreakpoint(_ENTRY, Location(address=self._entry)))
        bound = await self._set(
            "setInstructionBreakpoints",
            [*wanted, *own],
            lambda entry: {"instructionReference": f"{entry.wanted.location.address:#x}"},
        )
        return [entry for entry in bound if entry.id > _ENTRY]

    async def set_returns(self, locations: Sequence[Location], condition: str | None) -> None:
        """Stop at these return instructions, and at no others."""
        if locations or self._returns:
            self._returns = [
                WantedBreakpoint(_FIRST_RETURN - index, where, condition)
                for index, where in enumerate(locations)
            ]
            await self.set_addresses(self._asked.get("address", ()))

    @staticmethod
    def is_return(stopped: Stopped) -> bool:
        """Whether a stop is at a return instruction and at nothing else."""
        ids = stopped.breakpoints
        return bool(ids) and all(id <= _FIRST_RETURN for id in ids)

    async def set_scope(self, watch: int, address: int, condition: str) -> None:
        """Stop where a function goes on that called the one whose variable is watched."""
        if Feature.ADDRESS_BREAKPOINTS in self._wire.features:
            where = Location(address=address)
            self._scopes[watch] = WantedBreakpoint(_FIRST_SCOPE - watch, where, condition)
            await self.set_addresses(self._asked.get("address", ()))

    async def forget_scope(self, watch: int) -> None:
        if self._scopes.pop(watch, None) is not None:
            await self.set_addresses(self._asked.get("address", ()))

    @staticmethod
    def without_scopes(stopped: Stopped) -> tuple[int, ...]:
        """Return the breakpoints of a stop that are not where a watched variable ends."""
        return tuple(id for id in stopped.breakpoints if not _FIRST_FILTER < id <= _FIRST_SCOPE)

    async def set_filters(self, filters: Sequence[ExceptionFilter]) -> None:
        self._filters = filters
        names = self._wire.adapter.exceptions.names
        offered = {f.name for f in translate.filters(self._wire.capabilities)}
        wanted = [replace(f, name=names.get(f.name, f.name)) for f in filters]
        chosen = [f for f in wanted if f.name in offered]
        arguments: dict[str, Any] = {"filters": [f.name for f in chosen]}
        narrowed = {f.name: f.condition for f in chosen if f.condition}
        labels = {f.name: f.label for f in translate.filters(self._wire.capabilities)}
        self._types = {
            # A stop names its filter, or has its label as description.
            key: frozenset(condition.split(", "))
            for name, condition in narrowed.items()
            for key in (name, labels[name])
        }
        by_function = self._wire.adapter.exceptions.functions
        self._types |= {
            f.name: frozenset(f.condition.split(", "))
            for f in filters
            if f.condition and f.name in by_function
        }
        if self._wire.adapter.exceptions.narrow is not None:
            await self._narrow(self._wire.adapter.exceptions.narrow, narrowed)
        elif self._wire.adapter.exceptions.examines:
            pass  # each is looked at when it is thrown
        elif narrowed and self._wire.capabilities.get("supportsExceptionFilterOptions"):
            arguments["filters"] = [f.name for f in chosen if not f.condition]
            arguments["filterOptions"] = [
                {"filterId": name, "condition": condition} for name, condition in narrowed.items()
            ]
        if offered:
            await self._wire.request("setExceptionBreakpoints", arguments)
        for command in self._wire.adapter.exceptions.commands({f.name for f in filters}):
            await self._commanded.raw(command)
        functions = self._filter_functions(filters)
        before = {id: name for id, name in self._own.items() if id <= _FIRST_FILTER}
        if functions != before:
            self._own = {id: n for id, n in self._own.items() if id not in before} | functions
            await self.set_functions(self._asked.get("function", ()))

    async def _narrow(
        self,
        expression: Callable[[Mapping[str, Sequence[str]]], str],
        narrowed: Mapping[str, str],
    ) -> None:
        if not narrowed and not self._narrowed:
            return
        self._narrowed = bool(narrowed)
        types = {name: condition.split(", ") for name, condition in narrowed.items()}
        context = self._wire.adapter.expressions.context
        await self._wire.request("evaluate", {"expression": expression(types), "context": context})

    def offered(self) -> tuple[ExceptionFilter, ...]:
        """Return the exception filters there are, in our words."""
        own = translate.filters(self._wire.capabilities)
        return tuple(self._wire.adapter.exceptions.offered(own, self._target))

    def lets_pass(self, description: str) -> bool:
        """Whether a stop is for a kind of exception that the user has turned off."""
        name = self._wire.adapter.exceptions.filter_of(description)
        return name is not None and name not in {each.name for each in self._filters or ()}

    def _filter_functions(self, filters: Sequence[ExceptionFilter]) -> dict[int, str]:
        """Return the functions to stop at for filters that the adapter has not."""
        known = list(self._wire.adapter.exceptions.functions.items())
        on = {f.name for f in filters}
        return {
            _FIRST_FILTER - index: self._wire.adapter.breakpoints.function_alias(
                self._target, each.function
            )
            for index, (name, each) in enumerate(known)
            if name in on
        }

    def _own_condition(self, id: int) -> str | None:
        known = list(self._wire.adapter.exceptions.functions.values())
        return known[_FIRST_FILTER - id].condition if id <= _FIRST_FILTER else None

    def filter_of(self, stopped: Stopped) -> str | None:
        """Return the filter that a stop at a function of ours means."""
        names = list(self._wire.adapter.exceptions.functions)
        filters = (id for id in stopped.breakpoints if _FIRST_RETURN < id <= _FIRST_FILTER)
        found = [_FIRST_FILTER - id for id in filters]
        return names[found[0]] if found else None

    def filter_named(self, label: str) -> str | None:
        """Return the name of a filter that a stop is described with."""
        own = {theirs: ours for ours, theirs in self._wire.adapter.exceptions.names.items()}
        for each in translate.filters(self._wire.capabilities):
            if label in (each.label, each.name, own.get(each.name)):
                return own.get(each.name, each.name)
        return label if label in self._wire.adapter.exceptions.functions else None

    def wants(self, label: str, types: Sequence[str]) -> bool:
        """Whether the filter of that label wants an exception of these types: its own, and those
        that it inherits from. A type may be named without what it is in."""
        wanted = self._types.get(label)
        if wanted is None:
            return True
        return any(name == each or name.endswith(f"::{each}") for name in types for each in wanted)

    def is_entry(self, stopped: Stopped) -> bool:
        return _ENTRY in stopped.breakpoints

    async def forget_entry(self) -> None:
        """Stop at the beginning only once."""
        if self._own.pop(_ENTRY, None) is not None:
            await self.set_functions(self._asked.get("function", ()))
        if self._entry is not None:
            self._entry = None
            await self.set_addresses(self._asked.get("address", ()))

    async def move_entry(self, address: str | None) -> None:
        """Stop for the beginning at an address instead of a function."""
        self._own.pop(_ENTRY, None)
        await self.set_functions(self._asked.get("function", ()))
        try:
            self._entry = int((address or "").split()[0], 0)
        except (IndexError, ValueError):
            return
        await self.set_addresses(self._asked.get("address", ()))

    def stopped(self, body: Mapping[str, Any]) -> Stopped:
        # Watchpoints have ids of their own, and the same numbers.
        watched = body.get("reason") == "data breakpoint"
        stopped = translate.stopped(body, {} if watched else self._ids)
        read = self._wire.adapter.stops.read(body)
        if read is not None:
            stopped = replace(stopped, reason=read[0], description=read[1])
        return stopped

    def proven(self, stopped: Stopped) -> list[BoundBreakpoint]:
        """Return breakpoints that no event ever told of, and that a stop shows to be in place."""
        return [BoundBreakpoint(id, True) for id in stopped.breakpoints if id in self._commanded]

    def sharing(self, stopped: Stopped) -> list[WantedBreakpoint]:
        """Return the breakpoints of a stop that one entry of the adapter's stands for."""
        if not any(id in self._shared for id in stopped.breakpoints):
            return []
        return [self._wanted[id] for id in stopped.breakpoints if id in self._wanted]

    def counts(self, stopped: Stopped) -> bool:
        """Count a pass of each breakpoint that was hit; whether one of them wants this pass."""
        if stopped.reason is not StopReason.BREAKPOINT or not stopped.breakpoints:
            return True
        wanted = False
        for id in stopped.breakpoints:
            hits = self._hits.get(id)
            if hits is None:
                wanted = True
                continue
            self._passes[id] = self._passes.get(id, 0) + 1
            wanted = wanted or wants(read_hits(hits), self._passes[id])
        return wanted

    def conditional(self, ids: Sequence[int]) -> list[int]:
        """Return those of our breakpoints that the adapter was given with a condition."""
        return [id for id in ids if id in self._conditional]

    def moved(self, answer: Mapping[str, Any]) -> list[BoundBreakpoint]:
        """Return what an event says about breakpoints of ours."""
        ids = self._ids.get(answer.get("id", -1), ())
        check = self._wire.adapter.breakpoints.check_bound
        return [
            check(self._wanted[id], bound) if id in self._wanted else bound
            for id, bound in ((id, translate.bound_one(id, answer)) for id in ids)
        ]

    async def _set(
        self,
        command: str,
        wanted: Sequence[WantedBreakpoint],
        place: Callable[[Wired], dict[str, Any]],
        more: Mapping[str, Any] | None = None,
    ) -> list[BoundBreakpoint]:
        adapter = self._wire.adapter
        usable, refused = refusals.usable(adapter, wanted)
        self._wanted.update((want.id, want) for want in usable)
        if not (adapter.breakpoints.counts_hits and self._does(Feature.HIT_COUNTS)):
            usable = [self._counted(want) for want in usable]
        entries = adapter.breakpoints.wire(usable, self._log_channel())
        if adapter.breakpoints.one_a_place:
            entries = self._joined(entries)
        writes = self._does(Feature.LOGPOINTS) and adapter.breakpoints.logs(self._target)
        writes = writes and (more is not None or adapter.breakpoints.logs_functions)
        entries = [self._spoken_for(entry, writes=writes) for entry in entries]
        for entry in entries:
            (self._conditional.update if entry.fields else self._conditional.difference_update)(
                entry.ids
            )
        body = await self._wire.request(
            command,
            {**(more or {}), "breakpoints": [{**place(e), **e.fields} for e in entries]},
        )
        bound = translate.bound(entries, body, adapter, self._ids)
        for each in bound:
            there = self._wanted[each.id].location
            self._bound_at[each.id] = (each.path or there.file, each.line or there.line)
        await self._commanded.once_a_pass(self._target, {each.id for each in bound})
        return bound + refused

    def _does(self, feature: Feature) -> bool:
        """Whether the adapter does it itself; what it does not is done here, at its stops."""
        return feature in translate.told(self._wire.capabilities, self._wire.adapter)

    def at(self, path: str | None, line: int | None) -> tuple[int, ...]:
        """Return the breakpoints of a place, for an adapter that names none at a stop.

        Nothing where none of them needs to be known.
        """
        asked = [want.id for entries in self._asked.values() for want in entries]
        there = [id for id in asked if self._bound_at.get(id) == (path, line)]
        needed = any(id in self._hits or id in self._shared for id in there)
        return tuple(there) if needed else ()

    @property
    def any_set(self) -> bool:
        return any(self._asked.values())

    def stopping_at(self, path: str | None, line: int | None) -> list[WantedBreakpoint]:
        """Return the breakpoints of a place that stop a thread, not the adapter's logpoints."""
        asked = [want for entries in self._asked.values() for want in entries]
        return [
            want
            for want in asked
            if self._bound_at.get(want.id) == (path, line)
            and (want.log is None or want.id in self._shared)
        ]

    def learn_address(self, address: str | None) -> None:
        """Remember where a thread stopped at a breakpoint."""
        if address is not None:
            self._addresses.add(address)

    def knows_address(self, address: str | None) -> bool:
        return address in self._addresses

    @property
    def helps_out(self) -> bool:
        """Some breakpoints do only with our help what they are to do."""
        return bool(self._hits or self._shared)

    def _spoken_for(self, entry: Wired, *, writes: bool) -> Wired:
        """Let a logpoint stop where the adapter does not write it, or not count its hits: we do."""
        counted = not self._hits.keys().isdisjoint(entry.ids)
        if "logMessage" not in entry.fields or (writes and not counted):
            return entry
        self._shared.update(entry.ids)
        rest = {name: value for name, value in entry.fields.items() if name != "logMessage"}
        return replace(entry, fields=rest)

    def _joined(self, entries: Sequence[Wired]) -> list[Wired]:
        """Join the breakpoints of one place into one that stops for each of them."""
        places: dict[Location, list[Wired]] = {}
        for entry in entries:
            places.setdefault(entry.wanted.location, []).append(entry)
        result = []
        for group in places.values():
            ids = tuple(id for entry in group for id in entry.ids)
            (self._shared.update if len(group) > 1 else self._shared.difference_update)(ids)
            if len(group) == 1:
                result.append(group[0])
                continue
            conditions = [entry.wanted.condition for entry in group]
            fields: dict[str, Any] = {}
            if all(conditions):
                fields["condition"] = " || ".join(f"({each})" for each in conditions)
            result.append(Wired(ids, replace(group[0].wanted, condition=None, log=None), fields))
        return result

    def _counted(self, want: WantedBreakpoint) -> WantedBreakpoint:
        """Take the hit count off a breakpoint: we count. A changed one begins anew."""
        self._shared.discard(want.id)
        if want.hit_count is None:
            self._hits.pop(want.id, None)
            return want
        if self._hits.get(want.id) != want.hit_count:
            self._hits[want.id] = want.hit_count
            self._passes[want.id] = 0
        return replace(want, hit_count=None)

    def _function_name(self, wanted: WantedBreakpoint) -> str:
        location = wanted.location
        if location.module:
            return f"{location.module}!{location.function}"
        return self._wire.adapter.breakpoints.function_alias(self._target, location.function or "")
