# mypy: ignore-errors
"""Runs inside gdb: what UBSan found, at the function that it calls before it writes its report."""

import json

import gdb

#: how far below the stack pointer its answers are stored, beyond the frames of the call
_BELOW = 16384
#: kind, message, file, line, column, address: pointers to each
_ANSWERS = 6
_QUERY = "__ubsan_get_current_report_data"


def freezeframe_undefined() -> None:
    """Print kind and message of the report that UBSan is about to write, if it can be asked.

    It is asked by the function that it has for debuggers, while no other thread runs.
    """
    try:
        gdb.newest_frame().select()
        kind, message = _report()
    except (gdb.error, gdb.MemoryError):
        return
    gdb.write(json.dumps({"kind": kind, "message": message}) + "\n")


def _report() -> tuple[str, str]:
    memory = gdb.selected_inferior()
    word = int(gdb.parse_and_eval("sizeof(void*)"))
    at = (int(gdb.parse_and_eval("(unsigned long)$sp")) - _BELOW) & ~15
    addresses = [at + index * word for index in range(_ANSWERS)]
    before = memory.read_memory(at, _ANSWERS * word).tobytes()
    locking = gdb.parameter("scheduler-locking")
    gdb.execute("set scheduler-locking on", to_string=True)
    try:
        given = ", ".join(f"(unsigned long){each}" for each in addresses)
        gdb.parse_and_eval(f"((void (*)()){_QUERY})({given})")
        return _text(addresses[0]), _text(addresses[1])
    finally:
        gdb.execute(f"set scheduler-locking {locking}", to_string=True)
        memory.write_memory(at, before)


def _text(at: int) -> str:
    return gdb.parse_and_eval(f"*(char **){at}").string(errors="replace", length=-1)
