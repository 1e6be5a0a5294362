"""Sources of code that lies in an archive; runs inside the debuggee.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_sources`. pydevd shows the
bytecode of what it cannot open as a file. An archive of Python's own keeps the text.
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
            text = _archived(py_db.suspended_frames_manager.get_variable(int(frame_id)).value)
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
