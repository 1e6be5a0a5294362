"""Changes code after it is loaded and before it runs; the module `_freezeframe_loading`.

Runs inside the program and imports nothing of this package. Modules come from loaders of the import
system, scripts from `runpy`, and tests from pytest, which compiles, keeps and runs them by itself.
"""

from __future__ import annotations

import sys
from typing import Any


def watch_loaders(change: Any, undo: list[Any]) -> None:
    """Change the code that loaders return; *undo* gets functions that end that."""
    external: Any = sys.modules["_frozen_importlib_external"]
    wrap(external.SourceLoader, "get_code", change, undo)
    wrap(external.SourcelessFileLoader, "get_code", change, undo)
    zipped: Any = sys.modules.get("zipimport")
    if zipped is not None:
        wrap(zipped.zipimporter, "get_code", change, undo)


def watch_runners(change: Any, undo: list[Any], names: Any = ("runpy",)) -> None:
    """Do the same for the loaded modules that run a script, once each."""
    for name in names:
        module: Any = sys.modules.get(name)
        load = getattr(module, "_get_code_from_file", None)
        if load is not None and not hasattr(load, "freezeframe"):
            wrap(module, "_get_code_from_file", change, undo)


def watch_pytest(change: Any, original: Any, undo: list[Any]) -> None:
    """Do the same for test modules, if pytest is loaded; *original* returns unchanged code."""
    rewrite: Any = sys.modules.get("_pytest.assertion.rewrite")
    if rewrite is None or not hasattr(rewrite, "AssertionRewritingHook"):
        return
    if not hasattr(getattr(rewrite, "_read_pyc", None), "freezeframe"):
        wrap(rewrite, "_read_pyc", change, undo)
        wrap(rewrite, "_rewrite_test", change, undo)
        wrap(rewrite, "_write_pyc", original, undo, is_given=True)


def wrap(owner: Any, name: str, change: Any, undo: list[Any], is_given: bool = False) -> None:
    """Let a function of *owner* return what *change* makes of its code objects; *is_given*: let
    it get that.
    """
    load = owner.__dict__[name]

    def loaded(*arguments: Any, **named: Any) -> Any:
        result = load(*arguments, **named)
        if isinstance(result, tuple):
            return tuple(change(each) if hasattr(each, "co_code") else each for each in result)
        return change(result) if hasattr(result, "co_code") else result

    def kept(*arguments: Any, **named: Any) -> Any:
        changed = [change(each) if hasattr(each, "co_code") else each for each in arguments]
        return load(*changed, **named)

    wrapped: Any = kept if is_given else loaded
    # The import system removes frames of its own files from a traceback.
    wrapped.__code__ = wrapped.__code__.replace(
        co_filename="<frozen importlib._bootstrap_external>"
    )
    wrapped.__name__, wrapped.__qualname__ = load.__name__, load.__qualname__
    wrapped.freezeframe = True
    setattr(owner, name, wrapped)
    undo.append(lambda: setattr(owner, name, load))
