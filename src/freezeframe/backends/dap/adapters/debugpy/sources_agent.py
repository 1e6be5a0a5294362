"""Sources of code that is not a plain file; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_sources`. pydevd shows the
bytecode of code whose file it cannot open. The text is in Python's zip archives, in the command
line of `python -c` (after the prefix that `bootstrap_agent.py` added), in the file that `python -`
reads, and in `linecache`, where doctest and IPython put theirs. Code that the program compiled has
the text of a variable or constant of its callers, if that compiles to the same code. The text of
other code is not known, and none is made up.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import Any


def install() -> None:
    """Send the text of archived code, in this process, from now on."""
    api: Any = sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI
    decompile = api.get_decompiled_source_from_frame_id
    if hasattr(decompile, "freezeframe"):
        return

    def get_decompiled_source_from_frame_id(self: Any, py_db: Any, frame_id: Any) -> Any:
        try:
            frame = py_db.suspended_frames_manager.get_variable(int(frame_id)).value
        except Exception:
            return decompile(self, py_db, frame_id)
        for find in (_given, _read, _cached, _archived, _compiled):
            try:
                text = find(frame)
            except Exception:
                continue
            if text is not None:
                return text
        is_made = frame.f_code.co_filename[:1] == "<"
        return None if is_made else decompile(self, py_db, frame_id)

    get_decompiled_source_from_frame_id.freezeframe = True  # type: ignore[attr-defined]
    api.get_decompiled_source_from_frame_id = get_decompiled_source_from_frame_id


def _archived(frame: Any) -> str | None:
    names = frame.f_globals
    spec, loader = names.get("__spec__"), names.get("__loader__")
    zipped: Any = sys.modules.get("zipimport")
    # The program's own loader would run code of the program.
    if zipped is None or type(loader) is not zipped.zipimporter:
        return None
    name = getattr(spec, "name", None) or names.get("__name__")
    text: str | None = loader.get_source(name)
    return text


def _given(frame: Any) -> str | None:
    """Return the code of `python -c` if *frame* runs it: other code has the same file name."""
    code = frame.f_code
    if code.co_filename != "<string>" or frame.f_globals is not sys.modules["__main__"].__dict__:
        return None
    args = getattr(sys, "orig_argv", None)
    if args is None:
        with open("/proc/self/cmdline", "rb") as file:
            args = file.read().decode("utf-8", "surrogateescape").split("\0")
    whole = next(arg for arg in args if _PREFIX_END in arg)
    before, _, rest = whole.partition(_PREFIX_END)
    # Imports from __future__ come first, and end with a semicolon there.
    future = before[: before.index("eval(compile(")]
    if rest.startswith("\n"):
        future = future.rstrip("; ")
    is_program = frame.f_back is None if code.co_name == "<module>" else _holds(whole, code)
    return future + rest if is_program else None


def _read(frame: Any) -> str | None:
    """Return the program of `python -` if it comes from a file, without moving the file's
    position."""
    is_program = frame.f_globals is sys.modules["__main__"].__dict__
    if frame.f_code.co_filename != "<stdin>" or not is_program:
        return None
    status = os.fstat(0)
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST:
        return None
    return os.pread(0, _LONGEST, 0).decode("utf-8", "replace")


def _cached(frame: Any) -> str | None:
    known: Any = sys.modules.get("linecache")
    entry = known.cache.get(frame.f_code.co_filename) if known is not None else None
    return "".join(entry[2]) if type(entry) is tuple and len(entry) == 4 else None


def _compiled(frame: Any) -> str | None:
    """Return the text in a caller of *frame* that its code was compiled from."""
    code = frame.f_code
    if code.co_filename[:1] != "<":
        return None
    tried: set[int] = set()
    step = frame
    while step is not None and len(tried) < _MOST_TEXTS:
        for each in (*step.f_code.co_consts, *_values(step.f_locals), *_values(step.f_globals)):
            text = _text_of(each)
            if text is not None and id(each) not in tried:
                tried.add(id(each))
                if _compiles_to(text, code):
                    return text
        step = step.f_back
    return None


def _values(names: Any) -> list[Any]:
    # A mapping of the program's own would run its code.
    if type(names) is dict or type(names).__name__ == "FrameLocalsProxy":
        return list(names.values())
    return []


def _text_of(value: Any) -> str | None:
    kind = type(value)
    if (kind is not str and kind is not bytes) or not 8 <= len(value) <= _LONGEST:
        return None
    return str(value) if kind is str else str(value, "utf-8", "replace")


def _compiles_to(text: str, code: Any) -> bool:
    if code.co_name != "<module>" and code.co_name not in text and code.co_name[:1] != "<":
        return False
    for mode in ("exec", "eval"):
        try:
            todo = [compile(text, code.co_filename, mode, dont_inherit=True)]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        while todo:
            each = todo.pop()
            if each == code:
                return True
            todo += [inner for inner in each.co_consts if type(inner) is type(each)]
    return False


#: maximum number of texts that are compiled for one stop
_MOST_TEXTS = 200
#: maximum size of a program on the standard input, in bytes
_LONGEST = 1 << 20
#: the end of the prefix before the code
_PREFIX_END = ", '<string>', 'exec'), {}); "


def _holds(text: str, code: Any) -> bool:
    known = (code.co_name, code.co_firstlineno, code.co_varnames)
    todo = [compile(text, "<string>", "exec", dont_inherit=True)]
    while todo:
        each = todo.pop()
        if (each.co_name, each.co_firstlineno, each.co_varnames) == known:
            return True
        todo += [inner for inner in each.co_consts if type(inner) is type(each)]
    return False
