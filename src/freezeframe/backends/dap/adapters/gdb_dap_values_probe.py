"""Runs inside GDB, beside its DAP server: values, and frames' arguments, as GDB itself shows them.

The server shows a reference as an address and hides what is behind it one level deeper, as it does
with pointers; of a pointer it shows the declared type, of a struct the compiler's own members, and
not those of a union without a name. One variable that cannot be read takes all others with it.
Written against GDB 16.3; what another has not is left alone.
"""

import re
from importlib import import_module
from typing import Any

import gdb  # type: ignore[import-untyped]

printing: Any = import_module("gdb.printing")
backtrace: Any = import_module("gdb.dap.bt")
frames: Any = import_module("gdb.dap.frames")
varref: Any = import_module("gdb.dap.varref")

_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
_COMPOSED = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


class _Struct(gdb.ValuePrinter):  # type: ignore[misc]
    """Members as the user wrote them."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def to_string(self) -> str:
        return ""

    def children(self) -> Any:
        yield from self._parts


class _Plain(gdb.ValuePrinter):  # type: ignore[misc]
    """A text, and nothing in it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_string(self) -> str:
        return self._text


class _Pointer(gdb.ValuePrinter):  # type: ignore[misc]
    """An address, and what is there: the members of a struct, or the one value."""

    def __init__(self, value: Any, real: Any) -> None:
        self._value = value
        self._real = real
        self.freezeframe_type = str(real.type)

    def to_string(self) -> str:
        return str(self._value.format_string(raw=True, symbols=False))

    def children(self) -> Any:
        target = self._real.dereference()
        printer = printing.make_visualizer(target)
        if isinstance(printer, _Struct) and _rust_text(target) is None:
            yield from printer.children()
        else:
            yield "*", target


def _parts(value: Any) -> Any:
    for field in value.type.strip_typedefs().fields():
        if not hasattr(field, "bitpos") or field.artificial or _is_table(field):
            continue
        if field.name:
            # A tuple's members have numbers in Rust.
            yield re.sub(r"^__(?=\d+$)", "", field.name), value[field]
        elif field.type.strip_typedefs().code in _COMPOSED:
            yield from _parts(value[field])


def _is_table(field: Any) -> bool:
    return str(field.name or "").startswith("_vptr")


def _struct(value: Any) -> Any:
    parts = list(_parts(value))
    if parts:
        return _Struct(parts)
    whole = value.type.sizeof or "incomplete" not in value.format_string()
    return _Plain("{}" if whole else "<incomplete type>")


def _pointer(value: Any) -> Any:
    """Return what shows a pointer; None where that is all there is to see."""
    target = value.type.strip_typedefs().target().strip_typedefs()
    if target.code in (gdb.TYPE_CODE_VOID, gdb.TYPE_CODE_FUNC) or int(value) == 0:
        return None
    try:
        gdb.selected_inferior().read_memory(int(value), 1)
    except gdb.MemoryError:
        return None
    real = value
    if target.code in _COMPOSED:
        real = value.cast(value.dynamic_type)
    return _Pointer(value, real)


def _seeing(visualizer: Any) -> Any:
    def see(value: Any) -> Any:
        try:
            kind = value.type.strip_typedefs().code
            if kind in _REFERENCES:
                return see(value.cast(value.dynamic_type).referenced_value())
            usual = visualizer(value)
            if isinstance(usual, printing.NoOpStringPrinter) and kind == gdb.TYPE_CODE_ARRAY:
                return _Plain(value.format_string())
            if isinstance(usual, printing.NoOpStructPrinter):
                return _struct(value)
            if isinstance(usual, printing.NoOpPointerReferencePrinter):
                return _pointer(value) or printing.NoOpScalarPrinter(value)
        except gdb.error:
            return visualizer(value)
        return usual

    return see


def _rust_text(value: Any) -> str | None:
    """Return what GDB itself prints of an enum, or of what has a printer: the server does not tell
    the variant, nor what is inside."""
    kind = value.type.strip_typedefs()
    if gdb.current_language() != "rust" or kind.code not in _COMPOSED:
        return None
    text = str(value.format_string())
    inside = hasattr(gdb.default_visualizer(value), "children")
    return text if inside or text.startswith(f"{kind.name}::") else None


def _naming(to_object: Any) -> Any:
    def named(self: Any) -> Any:
        try:
            told = to_object(self)
        except gdb.error as error:
            told = {"variablesReference": 0, self.result_name: f"<error: {error}>"}
            told |= {"name": str(self.name)} if self.name is not None else {}
            told["type"] = str(self.value.type)
        else:
            told["freezeframeText"] = _rust_text(self.value)
        real = getattr(self.printer, "freezeframe_type", None)
        if real is not None and "type" in told:
            told["type"] = real
        return told

    return named


def _calling(fetch: Any) -> Any:
    def called(self: Any, index: int) -> Any:
        name, value = fetch(self, index)
        return (f"*{self.name or ''}" if name == "*" else name), value

    return called


if hasattr(printing, "NoOpPointerReferencePrinter"):
    varref.VariableReference.fetch_one_child = _calling(varref.VariableReference.fetch_one_child)
    printing.make_visualizer = _seeing(printing.make_visualizer)
    varref.VariableReference.to_object = _naming(varref.VariableReference.to_object)

# --- frames ---------------------------------------------------------------------------------------


def _arguments(frame: Any) -> str:
    """Return `n=3, name="x"`; what is composed is left out."""
    shown = []
    for each in frame.frame_args() or ():
        name, value = backtrace.symbol_value(each, frame)
        try:
            if value.type.strip_typedefs().code in _REFERENCES:
                value = value.referenced_value()
            if value.type.strip_typedefs().code not in (*_COMPOSED, gdb.TYPE_CODE_ARRAY):
                shown.append(f"{name}={value.format_string(summary=True, symbols=False)}")
        except gdb.error:
            continue
    return ", ".join(shown)


def _with_arguments(trace: Any) -> Any:
    def told(*args: Any, **options: Any) -> Any:
        stack = trace(*args, **options)
        for each in stack["stackFrames"]:
            each["freezeframeArguments"] = _arguments(frames.frame_for_id(each["id"]))
        return stack

    return told


if hasattr(backtrace, "_backtrace") and hasattr(backtrace, "symbol_value"):
    backtrace._backtrace = _with_arguments(backtrace._backtrace)


scopes: Any = import_module("gdb.dap.scopes")


def _forget_scopes(event: Any) -> None:
    # The server reads the variables of a frame once, and shows them unchanged after an assignment.
    scopes.frame_to_scope = {}


for _name in ("memory_changed", "register_changed", "inferior_call"):
    _registry: Any = getattr(gdb.events, _name, None)
    if _registry is not None and hasattr(scopes, "frame_to_scope"):
        _registry.connect(_forget_scopes)
