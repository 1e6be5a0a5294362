# mypy: ignore-errors
"""Runs inside gdb: lists the frames whose code is optimised."""

import binascii
import json
import re

import gdb

#: variables of a function to inspect
_FEW_NAMES = 8
#: in the compiler's record of how it built a file
_OPTIMIZED = re.compile(r" -O(?!0\b)\S*")


def freezeframe_is_optimized(symtab):
    """Whether code was optimised; None if the compiler does not record it: gcc and Go's do."""
    made = getattr(symtab, "producer", None) or ""
    if made.startswith("Go "):
        return " -N" not in made
    return bool(_OPTIMIZED.search(made)) if made.startswith("GNU ") else None


def freezeframe_is_plain(frame):
    """Whether a frame's code is certainly not optimised."""
    known = freezeframe_is_optimized(frame.find_sal().symtab)
    if known is not None:
        return not known
    unit = _unit(frame)
    if unit is None or unit in _LISTED or frame.type() == gdb.INLINE_FRAME:
        return False
    selected = gdb.selected_frame()
    try:
        return not _has_lists(frame)
    finally:
        selected.select()


def freezeframe_optimized(first, last):
    """Print the levels of frames whose code is optimised."""
    # MI splits text that needs escapes into pieces, and each piece would wake the reader.
    packed = json.dumps(_levels(first, last)).encode("ascii")
    gdb.write(binascii.b2a_base64(packed).decode("ascii"))


def freezeframe_code(first, count):
    """Print for each frame of a range whether its code is optimised."""
    found = set(_levels(first, first + count - 1))
    gdb.write(json.dumps([level in found for level in range(first, first + count)]))


def _levels(first, last):
    frame, found = gdb.newest_frame(), []
    selected, unsure = gdb.selected_frame(), []
    try:
        for level in range(last + 1):
            if frame is None:
                break
            if level >= first:
                known = freezeframe_is_optimized(frame.find_sal().symtab)
                if known:
                    found.append(level)
                elif known is None and (unit := _unit(frame)) is not None:
                    unsure.append((level, unit))
                    if unit not in _LISTED and _has_lists(frame):
                        _LISTED.add(unit)
            frame = frame.older()
    finally:
        selected.select()
    return found + [level for level, unit in unsure if unit in _LISTED]


#: start addresses of optimised units by compilers that do not record it (clang, rustc)
_LISTED = set()


def _unit(frame):
    try:
        return frame.block().global_block.start
    except RuntimeError:
        return None  # no debug information


def _has_lists(frame):
    """Whether variables of a function have several locations, or none: only optimised code has.

    rustc inlines a little without optimisation, so inlined functions do not count.
    """
    if frame.type() == gdb.INLINE_FRAME:
        return False
    frame.select()
    block, symbols = frame.block(), []
    while block is not None:
        symbols += [symbol for symbol in block if symbol.is_argument or symbol.is_variable]
        if block.function is not None:
            break
        block = block.superblock
    return any(map(_is_list, symbols[:_FEW_NAMES]))


#: locations of a variable that is not in memory, or only partly
_NOT_IN_MEMORY = re.compile(r"variable in \$|_stack_value|_piece|optimized out")
_STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def _is_list(symbol):
    try:
        output = gdb.execute(f"info address {symbol.name}", to_string=True)
    except gdb.error:
        return False
    if symbol.is_argument and symbol.type.strip_typedefs().code not in _STRUCTS:
        return "multi-location" in output or "optimized out" in output
    # rustc passes structs, and the captures of closures, by address and writes location lists for
    # them without optimisation too. The variable itself is in memory then.
    return _NOT_IN_MEMORY.search(output) is not None
