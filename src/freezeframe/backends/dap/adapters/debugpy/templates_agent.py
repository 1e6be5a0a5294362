"""Breakpoints in templates of Jinja and Django; runs inside the debuggee.

Follows the rules of `agent.py`; becomes the module `_freezeframe_templates`. pydevd has a plugin
for each. It must know which of the two a program uses, takes every file without `.py` for a
template then, tests values for their truth, and shows the lines of the Python that a template was
compiled to.
"""

from __future__ import annotations

import os
import sys
from typing import Any


def kinds(path: str) -> tuple[str, ...]:
    """Return pydevd's kinds of breakpoints in a file that is not Python; none for one that is."""
    if not _is_template(path):
        return ()
    _prepare()
    # It is not known yet which of them will read the file.
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
    """Make the plugins inspect values without running the program's code."""
    django: Any = sys.modules.get("pydevd_plugins.django_debug")
    jinja: Any = sys.modules.get("pydevd_plugins.jinja2_debug")
    if django is not None:
        # Django was not imported to read its version; no earlier one runs on a supported Python.
        django.IS_DJANGO19_OR_HIGHER = True
        django._is_django_render_call = _is_django_render_call
        django.is_tracked_frame = _is_django_render_call
        django._is_django_context_get_call = lambda frame: _inherits(frame, "BaseContext")
        django._is_django_resolve_call = lambda frame: (
            frame.f_code.co_name == "_resolve_lookup" and _inherits(frame, "Variable")
        )
        django.DjangoTemplateFrame._collect_context = lambda self, context: _django_variables(
            context
        )
        for name in ("get_breakpoint", "cmd_step_into", "cmd_step_over"):
            _once_a_line(django, name)
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
    name = _name_of(frame.f_locals["self"])
    return _inherits(frame, "Node") and name not in ("TextNode", "NodeList")


def _once_a_line(django: Any, name: str) -> None:
    """Make a function of the plugin ignore a node that continues the line of another one.

    Django renders each tag and each variable by a call of its own; a line may have several.
    """
    decide = getattr(django, name)
    if hasattr(decide, "freezeframe"):
        return

    def decided(py_db: Any, frame: Any, event: Any, *more: Any) -> Any:
        if event == "call" and _is_django_render_call(frame) and _continues_a_line(frame):
            return None if name == "get_breakpoint" else (False, False)
        return decide(py_db, frame, event, *more)

    decided.freezeframe = True  # type: ignore[attr-defined]
    setattr(django, name, decided)


def _continues_a_line(frame: Any) -> bool:
    """Whether the node that *frame* renders follows another one on its line.

    The first node in the body of a loop does not: each pass begins there.
    """
    node = frame.f_locals["self"]
    line, outer = _line_of(node), frame.f_back
    siblings: Any = None
    while outer is not None:
        owner = outer.f_locals.get("self")
        if issubclass(type(owner), list):
            siblings = siblings or owner
        elif owner is not None and owner is not node:
            break
        outer = outer.f_back
    else:
        return False
    fields = _fields(owner)
    if siblings is None:
        # A loop renders the nodes of its body itself.
        lists = [each for each in fields.values() if issubclass(type(each), list)]
        siblings = next((each for each in lists if any(one is node for one in each)), ())
    before = None
    for each in list.__iter__(siblings) if siblings else ():
        if each is node:
            break
        if _name_of(each) != "TextNode":
            before = each
    if before is not None:
        return bool(_line_of(before) == line)
    if siblings is fields.get("nodelist_loop") or not _is_django_render_call(outer):
        return False
    return bool(_line_of(owner) == line)


def _line_of(node: Any) -> Any:
    return _fields(_fields(node).get("token")).get("lineno")


def _fields(value: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found


def _name_of(value: Any) -> str:
    return str(type.__dict__["__name__"].__get__(type(value)))


def _django_variables(context: Any) -> dict[str, Any]:
    """Return a template's variables without Django's constants, the innermost scope first."""
    found: dict[str, Any] = {}
    for scope in reversed(_fields(context).get("dicts", ())):
        for name, value in dict.items(scope):
            if name not in ("True", "False", "None"):
                found.setdefault(name, value)
    return found


def _jinja_variables(frame: Any) -> dict[str, Any]:
    """Return a template's variables: those it was given, and those it has set."""
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


def without_defaults(frame: Any, named: dict[str, Any]) -> dict[str, Any]:
    """Leave out what Jinja gives to every template: it lists it in the frames of errors."""
    if "__jinja_exception__" not in frame.f_globals:
        return named
    common = getattr(sys.modules.get("jinja2.defaults"), "DEFAULT_NAMESPACE", {})
    return {name: each for name, each in named.items() if common.get(name, common) is not each}


def assign(frame: Any, name: str, value: Any) -> None:
    """Set a variable of the template that *frame* was made up for: where the template reads it."""
    frame.f_locals[name] = value
    real = frame.f_back
    context = _fields(frame).get("_back_context")
    if context is not None:
        scopes = reversed(_fields(context).get("dicts", ()))
        scope = next((each for each in scopes if name in each), None)
        if scope is not None:
            dict.__setitem__(scope, name, value)
        return
    context = real.f_locals.get("context")
    for scope in (getattr(context, "vars", {}), getattr(context, "parent", {})):
        if name in scope:
            scope[name] = value
            break
    blocks = [each for each in real.f_locals if each.startswith("l_") and each.endswith(name)]
    inner = [each for each in blocks if each.split("_", 2)[2:] == [name]]
    if inner:
        real.f_locals[max(inner, key=lambda each: int(each.split("_")[1]))] = value
        saving: Any = sys.modules["_pydevd_bundle.pydevd_save_locals"]
        saving.save_locals(real)


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
            lines = [there for there, here in template.debug_info if here <= line]
            if lines:
                frames.frame_id_to_lineno[id(frame)] = lines[-1]
    except Exception:
        # Lines of the compiled code are still a stack.
        pass
    return frames
