"""Below the source: registers and instructions of a frame."""

from __future__ import annotations

import re

from freezeframe.backends.backend import Feature, RawScope
from freezeframe.errors import DebuggerError
from freezeframe.model.answers import Instruction
from freezeframe.model.stops import Frame
from freezeframe.model.values import Scope, ScopeKind, Value
from freezeframe.session.moment import Moment

#: Instructions before and after the current one where there is no source to show.
_BEFORE, _AFTER = 3, 5
#: parts of other registers, and what only systems programmers of another kind look at
_MINOR = re.compile(
    r"[abcd][hlx]|[sd]i|[sb]p|[sd]il|[sb]pl|e[abcd]x|e[sd]i|e[sb]p|r\d+[lwdb]|[cdefgs]s|[fg]s_base"
    r"|w\d+|k_gs_base|orig_rax"
)
#: names that every processor has, and what they are called on each
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
    moment: Moment, frame: Frame
) -> tuple[tuple[Instruction, ...], tuple[Scope, ...]]:
    """Return the instructions around a frame without source, and its registers.

    Nothing, where the debugger has none or the frame stands where there is no code.
    """
    instructions: tuple[Instruction, ...] = ()
    if Feature.DISASSEMBLE in moment.backend.features and frame.address is not None:
        try:
            found = await moment.backend.disassemble(
                frame.address, _BEFORE + 1 + _AFTER, offset=-_BEFORE
            )
            instructions = tuple(found) if any(each.current for each in found) else ()
        except DebuggerError:
            pass
    registers: list[Scope] = []
    if Feature.REGISTERS in moment.backend.features:
        try:
            registers = (await register_groups(moment, frame, ()))[:1]
        except DebuggerError:
            pass
    return instructions, tuple(registers)


async def register_groups(moment: Moment, frame: Frame, names: tuple[str, ...]) -> list[Scope]:
    """Return registers by group: those of *names* (of registers, or of groups), or the general
    ones that a person reads."""
    wanted = {name.lower().lstrip("$%") for name in names}
    groups = [
        group
        for raw in await moment.scopes(frame.index)
        if raw.kind is ScopeKind.REGISTERS
        for group in await _groups(moment, raw)
    ]
    if not wanted:
        for group in groups:
            main = [v for v in group.values if not _MINOR.fullmatch(v.name.lower())]
            if main:
                return [Scope(group.name, ScopeKind.REGISTERS, tuple(main))]
        return []
    known = {value.name.lower() for group in groups for value in group.values}
    for name in [*wanted]:
        # `sp` is the stack pointer, although x86 has a part of it under that name.
        real = next((each for each in _GENERIC.get(name, ()) if each in known), None)
        if real is not None:
            wanted = (wanted - {name}) | {real}
    found = []
    for group in groups:
        whole = wanted & {"all", *_group_names(group.name)}
        chosen = tuple(v for v in group.values if whole or v.name.lower() in wanted)
        if chosen:
            found.append(Scope(group.name, ScopeKind.REGISTERS, chosen))
    return found


def _group_names(name: str) -> set[str]:
    """Return how a user may call a group: `Floating Point Registers` is float, floating, fpu."""
    lower = name.lower()
    words = {lower, *lower.split(), lower.removesuffix(" registers").replace(" ", "-")}
    if "float" in lower:
        words |= {"float", "fpu"}
    if "vector" in lower:
        words |= {"vector", "avx"}
    return words - {"registers"}


async def _groups(moment: Moment, scope: RawScope) -> list[Scope]:
    """Return the registers of a scope; debuggers that group them have one value a group."""
    groups: list[Scope] = []
    plain: list[Value] = []
    for raw in await moment.backend.children(scope.ref):
        if raw.ref and (not raw.text or raw.opaque):
            inside = await moment.backend.children(raw.ref)
            values = tuple(moment.value(each) for each in inside)
            groups.append(Scope(raw.name, ScopeKind.REGISTERS, values))
        else:
            plain.append(moment.value(raw))
    if plain:
        groups.insert(0, Scope(scope.name, ScopeKind.REGISTERS, tuple(plain)))
    return groups
