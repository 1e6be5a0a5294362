"""Machine level: memory and instructions."""

from __future__ import annotations

from freezeframe.model.answers import Disassembly, Instruction, Memory
from freezeframe.render.budget import Listing, Section
from freezeframe.render.page import Line, Tone, View, row
from freezeframe.render.words import clip, one_line, place, plural

from ._table import headline, renders, via

#: format → (bytes on a line, how one is written)
_FORMATS = {
    "hex": (16, "{:02x}"),
    "binary": (8, "{:08b}"),
    "decimal": (16, "{:d}"),
}


@renders(Memory)
def _memory(answer: Memory, view: View) -> list[Section]:
    data = answer.data
    sections: list[Section] = []
    per_line, spelled = _FORMATS.get(answer.format, _FORMATS["hex"])
    if answer.format in ("text", "string"):
        per_line = 64
    start = _address(answer.address)

    def item(index: int, width: int) -> list[Line]:
        piece = data[index * per_line : (index + 1) * per_line]
        offset = index * per_line
        where = f"{start + offset:#x}" if start is not None else f"{answer.address}+{offset:#x}"
        readable = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        if answer.format in ("text", "string"):
            return [Line(f"{where}: {readable}")]
        digits = " ".join(spelled.format(byte) for byte in piece)
        return [row(f"{where}: {digits}", readable)]

    def more(shown: int) -> str | None:
        missing = len(data) - shown * per_line
        if missing <= 0:
            return None
        offset = shown * per_line
        where = f"{start + offset:#x}" if start is not None else f"{answer.address}+{offset}"
        return f"… {plural(missing, 'more byte')} (dbg memory read {where} --count {missing})"

    count = -(-len(data) // per_line)
    if count:
        sections.append(Listing(1, count, item, more))
    if answer.unreadable:
        words = f"{plural(answer.unreadable, 'byte')} beyond could not be read"
        sections.append(headline(words, Tone.BAD))
    elif not count:
        sections.append(headline(f"no bytes at {answer.address}"))
    return [*sections, *via(answer.via)]


def _address(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


@renders(Disassembly)
def _disassembly(answer: Disassembly, view: View) -> list[Section]:
    instructions = answer.instructions
    if not instructions:
        return [headline("no instructions there"), *via(answer.via)]

    def item(index: int, width: int) -> list[Line]:
        above = instructions[index - 1] if index else None
        return _instruction(instructions[index], above, view.cwd)

    def more(shown: int) -> str | None:
        missing = len(instructions) - shown
        if not missing:
            return None
        at = one_line(instructions[shown].address)
        return f"… {plural(missing, 'more instruction')} (dbg disassemble {at} --count {missing})"

    return [Listing(1, len(instructions), item, more), *via(answer.via)]


def _instruction(
    instruction: Instruction, above: Instruction | None, cwd: str | None
) -> list[Line]:
    """Return its line, below one for the place in the source where a new one begins."""
    lines: list[Line] = []
    here = (instruction.symbol, instruction.path, instruction.line)
    if here != (None, None, None) and (
        above is None or here != (above.symbol, above.path, above.line)
    ):
        parts = [clip(instruction.symbol, 80)] if instruction.symbol else []
        if instruction.path is not None:
            parts.append(place(instruction.path, instruction.line, cwd))
        if parts:
            lines.append(Line(f"{' at '.join(parts)}:", Tone.HEAD))
    arrow = "->" if instruction.current else "  "
    code = clip(instruction.bytes, 60) if instruction.bytes else ""
    tone = Tone.CURRENT if instruction.current else Tone.PLAIN
    lines.append(
        row(
            f"{arrow} {one_line(instruction.address)}", code, clip(instruction.text, 120), tone=tone
        )
    )
    return lines
