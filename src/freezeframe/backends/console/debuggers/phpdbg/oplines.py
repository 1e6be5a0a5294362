"""Find out where in a line phpdbg stopped, from its opcodes.

phpdbg compares line numbers only, so it hits the breakpoints of a line again whenever code that the
line called (functions, `__get`, `__toString`, included files, generators) returns to that line.
"""

from __future__ import annotations

import re

#: print the current opcode, and all opcodes of the current function; both go to phpdbg's stderr
CURRENT, FUNCTION = "print opline", "print stack"
_OPLINE = re.compile(r"^L(\d+) (\d{4,}) (.*)$", re.MULTILINE)
_TARGET = re.compile(r"(?<!\()\b\d{4,}\b(?!\))")
#: opcodes that begin a statement, or are entered from elsewhere
_ENTERED = re.compile(r"EXT_STMT\b|NOP\b|(?:\S+ = )?CATCH\b|RECV")


def is_ambiguous(text: str) -> bool:
    """Whether the answer to `CURRENT` does not show if the line has just begun."""
    found = _OPLINE.findall(text)
    return len(found) == 1 and not _ENTERED.match(found[0][2])


def is_resumed(text: str) -> bool:
    """Whether the line continues after a call, by the answers to `CURRENT` and `FUNCTION`."""
    if len(found := _OPLINE.findall(text)) < 2:
        return False
    (line, number, _), *function = found
    before = next((each for each in function if int(each[1]) == int(number) - 1), None)
    if before is None or before[0] != line:
        return False
    if re.match(r"(?:\S+ = )?DO_\w*CALL\b", before[2]):
        return True
    # A loop returns to the target of a jump: that is the next iteration of the line.
    jumps = (text for _, _, text in function if re.match(r"(?:\S+ = )?(?:JMP|FE_|COALESCE)", text))
    return not any(int(target) == int(number) for jump in jumps for target in _TARGET.findall(jump))
