"""Machine level: memory and instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from freezeframe.model.answers import Disassembly, Instruction, Memory
from freezeframe.render.budget import Listing, Section
from freezeframe.render.formatting import clip, file_line, one_line, plural
from freezeframe.render.styled_lines import Line, Tone, View, row

from ._registry import headline, renders, via

#: format → (bytes per line, format of a byte)
_FORMATS = {
    "hex": (16, "{:02x}"),
    "binary": (8, "{:08b}"),
    "decimal": (16, "{:d}"),
}


@renders(Memory)
def _memory(answer: Memory, view: View) -> list[Section]:
    data = answer.data
    sections: list[Section] = []
    per_line, byte_format = _FORMATS.get(answer.format, _FORMATS["hex"])
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
        digits = " ".join(byte_format.format(byte) for byte in piece)
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
        end = f"{start + len(data):#x}" if start is not None else f"{answer.address}+{len(data)}"
        location = f"{plural(answer.unreadable, 'byte')} at {end} cannot be read"
        sections.append(headline(location, Tone.BAD))
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
    texts = {(line.path, line.number): line.text for line in answer.lines}

    def item(index: int, width: int) -> list[Line]:
        above = instructions[index - 1] if index else None
        head = _location_line(instructions[index], above, texts, view) if answer.source else []
        return [*_symbol_line(instructions[index], above), *head, _instruction(instructions[index])]

    def more(shown: int) -> str | None:
        missing = len(instructions) - shown
        if not missing:
            return None
        at = one_line(instructions[shown].address)
        return f"… {plural(missing, 'more instruction')} (dbg disassemble {at} --count {missing})"

    return [Listing(1, len(instructions), item, more), *via(answer.via)]


def instruction_sections(
    instructions: Sequence[Instruction], rank: int, view: View
) -> list[Section]:
    """Return instructions to show instead of source."""

    def item(index: int, width: int) -> list[Line]:
        above = instructions[index - 1] if index else None
        return [*_symbol_line(instructions[index], above), _instruction(instructions[index])]

    return [Listing(rank, len(instructions), item, lambda shown: None)] if instructions else []


def _symbol_line(instruction: Instruction, above: Instruction | None) -> list[Line]:
    """Return the name of the function, at its first shown instruction."""
    if instruction.symbol is None or (above is not None and above.symbol == instruction.symbol):
        return []
    return [Line(f"{clip(instruction.symbol, 80)}:", Tone.HEAD)]


def _location_line(
    instruction: Instruction,
    above: Instruction | None,
    texts: Mapping[tuple[str, int], str],
    view: View,
) -> list[Line]:
    """Return the source line, if it differs from that of the instruction above."""
    path, line = instruction.path, instruction.line
    if path is None or line is None:
        return []
    if above is not None and (above.path, above.line) == (path, line):
        return []
    text = texts.get((path, line), "").strip()
    location = f"{file_line(path, line, view.cwd)}  {text}".rstrip()
    return [Line(clip(location, 140), Tone.HEAD)]


def _instruction(instruction: Instruction) -> Line:
    arrow = "->" if instruction.current else "  "
    code = clip(instruction.bytes, 60) if instruction.bytes else ""
    tone = Tone.CURRENT if instruction.current else Tone.PLAIN
    return row(
        f"{arrow} {one_line(instruction.address)}", code, clip(instruction.text, 120), tone=tone
    )
