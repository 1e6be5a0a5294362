# mypy: ignore-errors
"""Runs inside gdb: tells the frames whose code a compiler has optimised."""

import binascii
import json
import re

import gdb

#: variables of a function that are looked at for whether it is optimised
_FEW_NAMES = 8
#: in the compiler's words for how a file was made
_OPTIMIZED = re.compile(r" -O(?!0\b)\S*")


def freezeframe_is_optimized(symtab):
    """Whether code was optimised; None where its compiler does not tell: only gcc does."""
    made = getattr(symtab, "producer", None) or ""
    return bool(_OPTIMIZED.search(made)) if made.startswith("GNU ") else None


def freezeframe_optimized(first, last):
    """Tell the levels of frames whose code is optimised."""
    # MI writes what it must escape piece by piece, and each piece would wake up whoever reads it.
    told = json.dumps(_levels(first, last)).encode("ascii")
    gdb.write(binascii.b2a_base64(told).decode("ascii"))


def freezeframe_code(first, count):
    """Tell of each of some frames whether its code is optimised."""
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


#: units of compilers that do not tell (clang, rustc), by their address, that are optimised
_LISTED = set()


def _unit(frame):
    try:
        return frame.block().global_block.start
    except RuntimeError:
        return None  # code without debug information


def _has_lists(frame):
    """Whether variables of a function lie in several places, or nowhere: only optimised ones do.

    rustc inlines a little without optimisation: a function that is inlined does not count.
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


#: places of a variable that is not in memory, or not as a whole
_NOT_IN_MEMORY = re.compile(r"variable in \$|_stack_value|_piece|optimized out")
_STRUCTS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def _is_list(symbol):
    try:
        said = gdb.execute(f"info address {symbol.name}", to_string=True)
    except gdb.error:
        return False
    if symbol.is_argument and symbol.type.strip_typedefs().code not in _STRUCTS:
        return "multi-location" in said or "optimized out" in said
    # rustc hands a struct over by its address, as it does what a closure captures, and lists the
    # places of that, also where it optimises nothing. The variable itself is in memory then.
    return _NOT_IN_MEMORY.search(said) is not None
