"""Registers and instructions of a frame."""

from __future__ import annotations

import re

from freezeframe.backends.backend import Feature, RawScope
from freezeframe.backends.capabilities import InstructionAccess
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import Frame
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.session.stop_state import StopState

#: Instructions before and after the current one if there is no source to show.
_BEFORE, _AFTER = 3, 5
#: parts of other registers, and system registers that are rarely of interest
_MINOR = re.compile(
    r"[abcd][hlx]|[sd]i|[sb]p|[sd]il|[sb]pl|e[abcd]x|e[sd]i|e[sb]p|r\d+[lwdb]|[cdefgs]s|[fg]s_base"
    r"|w\d+|k_gs_base|orig_rax"
)
#: generic register names, and the names on each processor
_GENERIC = {
    "pc": ("rip", "eip", "pc"),
    "sp": ("rsp", "esp", "sp"),
    "fp": ("rbp", "ebp", "fp", "x29"),
    "flags": ("rflags", "eflags", "cpsr"),
    "eflags": ("eflags", "rflags"),
    "rflags": ("rflags", "eflags"),
    "lr": ("lr", "x30"),
}


async def machine_level(
    stop: StopState, frame: Frame
) -> tuple[tuple[Instruction, ...], tuple[Scope, ...]]:
    """Return the instructions around a frame without source, and its registers.

    Empty if the debugger has neither, or if there is no code at the frame's address.
    """
    instructions: tuple[Instruction, ...] = ()
    backend, can = stop.backend, Feature.DISASSEMBLE in stop.backend.features
    if can and frame.address is not None and isinstance(backend, InstructionAccess):
        try:
            found = await backend.disassemble(frame.address, _BEFORE + 1 + _AFTER, offset=-_BEFORE)
            instructions = tuple(found) if any(each.current for each in found) else ()
        except DebuggerError:
            pass
    registers: list[Scope] = []
    if Feature.REGISTERS in stop.backend.features:
        try:
            registers = (await register_groups(stop, frame, ()))[:1]
        except DebuggerError:
            pass
    return instructions, tuple(registers)


async def register_groups(stop: StopState, frame: Frame, names: tuple[str, ...]) -> list[Scope]:
    """Return registers by group: those in *names* (registers or groups), or else the
    general-purpose ones."""
    requested = {name.lower().lstrip("$%") for name in names}
    groups = [
        group
        for raw in await stop.scopes(frame.index)
        if raw.kind is ScopeKind.REGISTERS
        for group in await _groups(stop, raw)
    ]
    if not requested:
        for group in groups:
            main = [v for v in group.values if not _MINOR.fullmatch(v.name.lower())]
            if main:
                return [Scope(group.name, ScopeKind.REGISTERS, tuple(main))]
        return []
    known = {value.name.lower() for group in groups for value in group.values}
    for name in [*requested]:
        # `sp` is the stack pointer, although x86 has its low 16 bits under that name.
        real = next((each for each in _GENERIC.get(name, ()) if each in known), None)
        if real is not None:
            requested = (requested - {name}) | {real}
    found = []
    for group in groups:
        whole = requested & {"all", *_group_names(group.name)}
        chosen = tuple(v for v in group.values if whole or v.name.lower() in requested)
        if chosen:
            found.append(Scope(group.name, ScopeKind.REGISTERS, chosen))
    return found


def _group_names(name: str) -> set[str]:
    """Return the accepted names of a group: `Floating Point Registers` is float, floating, fpu."""
    lower = name.lower()
    names = {lower, *lower.split(), lower.removesuffix(" registers").replace(" ", "-")}
    if "float" in lower:
        names |= {"float", "fpu"}
    if "vector" in lower:
        names |= {"vector", "avx"}
    return names - {"registers"}


async def _groups(stop: StopState, scope: RawScope) -> list[Scope]:
    """Return the registers of a scope; debuggers that group them have one value per group."""
    groups: list[Scope] = []
    plain: list[Value] = []
    for raw in await stop.backend.children(scope.ref):
        if raw.ref and (not raw.text or raw.opaque):
            inside = await stop.backend.children(raw.ref)
            values = tuple(stop.value(each) for each in inside)
            groups.append(Scope(raw.name, ScopeKind.REGISTERS, values))
        else:
            plain.append(stop.value(raw))
    if plain:
        groups.insert(0, Scope(scope.name, ScopeKind.REGISTERS, tuple(plain)))
    return groups
