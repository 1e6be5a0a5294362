"""Breakpoints in templates of Jinja and Django; runs inside the debuggee.

Under the rules of `main_probe.py`; it becomes the module `_freezeframe_templates`. pydevd has a
plugin for each. It wants to be told which of the two a program uses, takes every file without
`.py` for a template then, tests values for their truth, and shows the lines of the Python that a
template was compiled to.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def kinds(path: str) -> tuple[str, ...]:
    """Return what pydevd calls breakpoints in a file that is no Python; none for one that is."""
    if not _is_template(path):
        return ()
    _prepare()
    # Nobody knows yet which of them will read it.
    return ("django-line", "jinja2-line")


def _is_template(path: Any) -> bool:
    if os.path.splitext(path)[1].lower() in (".py", ".pyw", ".pyz", ".pyzw", ".ipynb"):
        return False
    try:
        with open(path, "rb") as file:
            compile(file.read(), path, "exec", 0, True)
    except (SyntaxError, ValueError):
        return True
    except OSError:
        return False
    return False


def _prepare() -> None:
    """Have the plugins look at values without running code of theirs."""
    django: Any = sys.modules.get("pydevd_plugins.django_debug")
    jinja: Any = sys.modules.get("pydevd_plugins.jinja2_debug")
    if django is not None:
        # It was not imported to be asked; no earlier one runs on a Python that we debug.
        django.IS_DJANGO19_OR_HIGHER = True
        django._is_django_render_call = _is_django_render_call
        django.is_tracked_frame = _is_django_render_call
        django._is_django_context_get_call = lambda frame: _inherits(frame, "BaseContext")
        django._is_django_resolve_call = lambda frame: (
            frame.f_code.co_name == "_resolve_lookup" and _inherits(frame, "Variable")
        )
    if jinja is not None:
        jinja.Jinja2TemplateFrame.collect_context = lambda self, frame: _jinja_variables(frame)


def _inherits(frame: Any, name: str) -> bool:
    owner = frame.f_locals.get("self")
    return owner is not None and any(
        type.__dict__["__name__"].__get__(each) == name for each in type(owner).__mro__
    )


def _is_django_render_call(frame: Any) -> bool:
    if frame.f_code.co_name != "render" or "self" not in frame.f_locals:
        return False
    name = type.__dict__["__name__"].__get__(type(frame.f_locals["self"]))
    return _inherits(frame, "Node") and name not in ("TextNode", "NodeList")


def _jinja_variables(frame: Any) -> dict[str, Any]:
    """Return what a template names: what it was given, and what it has set."""
    names = dict(frame.f_locals)
    missing, context = names.get("missing"), names.get("context")
    found: dict[str, Any] = {}
    if context is not None:
        common = frame.f_globals.get("environment") or names.get("environment")
        known = getattr(common, "globals", {})
        for name, value in {**context.parent, **context.vars}.items():
            if name not in known or known[name] is not value:
                found[name] = value
    for name, value in names.items():
        # `l_1_item` is `item` of the first block.
        if name.startswith("l_") and name.count("_") >= 2 and value is not missing:
            found[name.split("_", 2)[2]] = value
    return found


# --- stacks -------------------------------------------------------------------------------------


def install() -> None:
    """Show the lines of templates in stacks, in this process, from now on."""
    utils: Any = sys.modules["_pydevd_bundle.pydevd_frame_utils"]
    if hasattr(utils, "freezeframe_templates") or "jinja2" not in sys.modules:
        return
    utils.freezeframe_templates = True
    their_list, their_trace = (
        utils.create_frames_list_from_frame,
        utils.create_frames_list_from_traceback,
    )

    def create_frames_list_from_frame(frame: Any) -> Any:
        return _in_template_lines(their_list(frame))

    def create_frames_list_from_traceback(*arguments: Any, **named: Any) -> Any:
        return _in_template_lines(their_trace(*arguments, **named))

    utils.create_frames_list_from_frame = create_frames_list_from_frame
    utils.create_frames_list_from_traceback = create_frames_list_from_traceback


def _in_template_lines(frames: Any) -> Any:
    """Give the frames of compiled templates the lines of their templates; once each."""
    try:
        shown = frames._frames
        for frame in list(shown):
            template = frame.f_globals.get("__jinja_template__")
            if template is None or type(frame).__name__ != "frame":
                continue
            above = shown.index(frame) - 1
            if (
                above >= 0
                and getattr(shown[above], "f_back", None) is frame
                and hasattr(shown[above], "IS_PLUGIN_FRAME")
            ):
                del shown[above + 1]
                continue
            line = frames.frame_id_to_lineno.get(id(frame), frame.f_lineno)
            told = [there for there, here in template.debug_info if here <= line]
            if told:
                frames.frame_id_to_lineno[id(frame)] = told[-1]
    except Exception:
        # Lines of the compiled code are still a stack.
        pass
    return frames
