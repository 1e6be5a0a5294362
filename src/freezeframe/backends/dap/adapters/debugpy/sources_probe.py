"""Sources of code in an archive or on the command line; runs inside the debuggee.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_sources`. pydevd shows the
bytecode of what it cannot open as a file. An archive of Python's own keeps the text, and so does
the command line of `python -c`, behind the words of ours that `boot_probe.py` put before it.
"""

from __future__ import annotations

import sys
from typing import Any


def install() -> None:
    """Tell the text of archived code, in this process, from now on."""
    api: Any = sys.modules["_pydevd_bundle.pydevd_api"].PyDevdAPI
    decompile = api.get_decompiled_source_from_frame_id
    if hasattr(decompile, "freezeframe"):
        return

    def get_decompiled_source_from_frame_id(self: Any, py_db: Any, frame_id: Any) -> Any:
        try:
            frame = py_db.suspended_frames_manager.get_variable(int(frame_id)).value
            text = _given(frame) or _archived(frame)
        except Exception:
            text = None
        return text or decompile(self, py_db, frame_id)

    get_decompiled_source_from_frame_id.freezeframe = True  # type: ignore[attr-defined]
    api.get_decompiled_source_from_frame_id = get_decompiled_source_from_frame_id


def _archived(frame: Any) -> str | None:
    names = frame.f_globals
    spec, loader = names.get("__spec__"), names.get("__loader__")
    zipped: Any = sys.modules.get("zipimport")
    # A loader of the program's own would run code of the program's.
    if zipped is None or type(loader) is not zipped.zipimporter:
        return None
    name = getattr(spec, "name", None) or names.get("__name__")
    text: str | None = loader.get_source(name)
    return text


def _given(frame: Any) -> str | None:
    """Return the code of `python -c` where *frame* runs it: other code has this name as well."""
    code = frame.f_code
    if code.co_filename != "<string>" or frame.f_globals is not sys.modules["__main__"].__dict__:
        return None
    words = getattr(sys, "orig_argv", None)
    if words is None:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().decode("utf-8", "surrogateescape").split("\0")
    whole = next(word for word in words if _OURS in word)
    before, _, rest = whole.partition(_OURS)
    # Imports from __future__ come first, and are ended by a semicolon there.
    future = before[: before.index("eval(compile(")]
    if rest.startswith("\n"):
        future = future.rstrip("; ")
    own = frame.f_back is None if code.co_name == "<module>" else _holds(whole, code)
    return future + rest if own else None


#: the end of what stands before the code
_OURS = ", '<string>', 'exec'), {}); "


def _holds(text: str, code: Any) -> bool:
    known = (code.co_name, code.co_firstlineno, code.co_varnames)
    todo = [compile(text, "<string>", "exec", dont_inherit=True)]
    while todo:
        each = todo.pop()
        if (each.co_name, each.co_firstlineno, each.co_varnames) == known:
            return True
        todo += [inner for inner in each.co_consts if type(inner) is type(each)]
    return False
