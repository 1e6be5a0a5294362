"""Runs inside GDB, next to its DAP server: shows values and frames' arguments as GDB itself does.

The server shows a reference as an address with the value one level deeper, as for pointers; for a
pointer it shows the declared type, for a struct the compiler's members, and it omits those of an
unnamed union. One unreadable variable makes all others fail. Written against GDB 16.3; what another
version lacks is skipped.
"""

import itertools
import re
from importlib import import_module
from typing import Any

import gdb  # type: ignore[import-untyped]

printing: Any = import_module("gdb.printing")
backtrace: Any = import_module("gdb.dap.bt")
frames: Any = import_module("gdb.dap.frames")
varref: Any = import_module("gdb.dap.varref")

_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
#: names that GDB's printers use for the one value in an optional, a variant or a pointer
_CONTAINED = ("[contained value]", "get()")
#: the number of elements in a printer's text, and the most that a container can have
_CLAIMED = re.compile(r"(?:of length|with) (-?\d+)")
_MOST_CLAIMED = 1 << 31
#: children that are counted where the text has no number
_MOST_COUNTED = 100_000
_COMPOSED = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
#: types of Rust's standard library: their members say nothing to users
_OF_STD = re.compile(r"(core|alloc|std|hashbrown)::")


class _Struct(gdb.ValuePrinter):  # type: ignore[misc]
    """Members as the user wrote them."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts

    def to_string(self) -> str:
        return ""

    def children(self) -> Any:
        yield from self._parts


class _Textless(_Struct):
    """The children of a printer that has no text."""

    def __init__(self, usual: Any) -> None:
        super().__init__([])
        self._usual = usual

    def children(self) -> Any:
        return self._usual.children()


class _Plain(gdb.ValuePrinter):  # type: ignore[misc]
    """A text without children."""

    def __init__(self, text: str) -> None:
        self._text = text

    def to_string(self) -> str:
        return self._text


class _Entry:
    """Key and value of a map entry; looks like a gdb.Value to the server."""

    code = gdb.TYPE_CODE_STRUCT

    def __init__(self, key: Any, value: Any) -> None:
        self.parts = [("first", key), ("second", value)]
        self.type = self

    def strip_typedefs(self) -> Any:
        return self


class _Map(gdb.ValuePrinter):  # type: ignore[misc]
    """Map entries, where GDB's printer yields keys and values alternately."""

    def __init__(self, usual: Any) -> None:
        self._usual = usual

    def to_string(self) -> str:
        return str(self._usual.to_string())

    def display_hint(self) -> str:
        return "array"

    def children(self) -> Any:
        items = iter(self._usual.children())
        for index, (_, key) in enumerate(items):
            yield f"[{index}]", _Entry(key, next(items, ("", ""))[1])


class _Unset(_Plain):
    """A variable that is not initialized yet: its memory holds arbitrary data."""

    def __init__(self) -> None:
        super().__init__("<not initialised yet>")


class _Pointer(gdb.ValuePrinter):  # type: ignore[misc]
    """An address, and what it points to: the members of a struct, or the one value."""

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
            # The members of a tuple are numbered in Rust.
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
    """Return the printer of a pointer; None if the address is all there is to show."""
    target = value.type.strip_typedefs().target().strip_typedefs()
    if target.code in (gdb.TYPE_CODE_VOID, gdb.TYPE_CODE_FUNC) or int(value) == 0:
        return None
    try:
        gdb.selected_inferior().read_memory(int(value), 1)
    except gdb.MemoryError:
        return None
    real = value
    if target.code in _COMPOSED:
        # GDB does not look for the dynamic type behind a typedef.
        real = value.cast(target.pointer())
        real = real.cast(real.dynamic_type)
        real = value if str(real.type.target()) == str(target) else real
    return _Pointer(value, real)


def _is_flexible(value: Any) -> bool:
    """Return whether the value is a flexible array member: GDB shows a text for it."""
    kind = value.type.strip_typedefs()
    low, high = kind.range()
    return bool(high < low or kind.sizeof == 0)


def _concrete(value: Any) -> Any:
    """Return the object behind a `&dyn Trait` or a box of one; None for any other value."""
    names = [field.name for field in value.type.strip_typedefs().fields()]
    if names != ["pointer", "vtable"] or gdb.current_language() != "rust":
        return None
    return vars(import_module("__main__"))["freezeframe_rust_concrete"](value)


def _text_of(printer: Any) -> Any:
    return printer.to_string() if hasattr(printer, "to_string") else None


def _is_textless(printer: Any) -> bool:
    """Return whether the printer of a pair has no text: the server would write `None`."""
    is_rust = gdb.current_language() == "rust"  # there the text is another (`_rust_text`)
    return not is_rust and hasattr(printer, "children") and _text_of(printer) is None


def _choosing_printer(visualizer: Any) -> Any:
    def choose(value: Any) -> Any:
        if isinstance(value, _Entry):
            return _Struct(value.parts)
        try:
            kind = value.type.strip_typedefs().code
            if kind in _REFERENCES:
                return choose(value.cast(value.dynamic_type).referenced_value())
            if kind == gdb.TYPE_CODE_STRUCT and (held := _concrete(value)) is not None:
                return _Pointer(value["pointer"], held.address)
            usual = visualizer(value)
            if getattr(usual, "display_hint", str)() == "map" and hasattr(usual, "children"):
                return _Map(usual)
            if str(value.type.strip_typedefs()).startswith("std::bitset<"):
                return _Plain(value.format_string())  # its children are the bits that are set
            if _is_textless(usual):
                return _Textless(usual)
            if kind == gdb.TYPE_CODE_ARRAY and _is_flexible(value):
                return _Plain(value.format_string())
            if isinstance(usual, printing.NoOpStringPrinter) and kind == gdb.TYPE_CODE_ARRAY:
                return _Plain(value.format_string())
            if isinstance(usual, printing.NoOpStructPrinter):
                parts = list(_parts(value))
                # An array or an atomic of the standard library: show its only member instead.
                only = len(parts) == 1 and parts[0][0] in ("_M_elems", "_M_i")
                return choose(parts[0][1]) if only else _struct(value)
            if isinstance(usual, printing.NoOpPointerReferencePrinter):
                return _pointer(value) or printing.NoOpScalarPrinter(value)
        except gdb.error:
            return visualizer(value)
        return usual

    return choose


def _rust_text(value: Any) -> str | None:
    """Return the text that GDB prints for an enum, or for a value with a printer: the server sends
    neither the variant nor its contents."""
    kind = value.type.strip_typedefs()
    if gdb.current_language() != "rust" or kind.code not in _COMPOSED:
        return None
    text = str(vars(import_module("__main__"))["freezeframe_rust_text"](value))
    inside = _OF_STD.match(str(kind)) or hasattr(gdb.default_visualizer(value), "children")
    return text if inside or text.startswith(f"{kind.name}::") else None


def _completing(to_object: Any) -> Any:
    def named(self: Any) -> Any:
        try:
            result = to_object(self)
        except gdb.error as error:
            result = {"variablesReference": 0, self.result_name: f"<error: {error}>"}
            result |= {"name": str(self.name)} if self.name is not None else {}
            result["type"] = str(self.value.type)
        else:
            known = isinstance(self.printer, _Unset) or isinstance(self.value, _Entry)
            result["freezeframeText"] = None if known else _rust_text(self.value)
        if isinstance(self.value, _Entry):
            result.pop("type", None)
        real = getattr(self.printer, "freezeframe_type", None)
        if real is not None and "type" in result:
            result["type"] = real
        return result

    return named


def _renaming_children(fetch: Any) -> Any:
    def called(self: Any, index: int) -> Any:
        if isinstance(self.printer, _Map):
            return self.cache_children()[index]
        name, value = fetch(self, index)
        name = "[0]" if name in _CONTAINED else name
        return (f"*{self.name or ''}" if name == "*" else name), value

    return called


class _ReadChildren(dict[int, Any]):
    """Children that were read, by index."""

    def __missing__(self, index: int) -> None:
        return None


class _LazyChildren:
    """Children of a pretty-printer, read up to the one that is needed.

    The server reads all of them to count them: a container that is not constructed yet may claim
    billions.
    """

    def __init__(self, printer: Any) -> None:
        self._rest = iter(printer.children())
        self._read: list[Any] = []
        claimed = _CLAIMED.search(str(printer.to_string()))
        self._claimed = None if claimed is None else int(claimed[1])

    def __getitem__(self, index: int) -> Any:
        missing = index + 1 - len(self._read)
        self._read += itertools.islice(self._rest, max(0, missing))
        return self._read[index]

    def __len__(self) -> int:
        if self._claimed is None:
            self._read += itertools.islice(self._rest, _MOST_COUNTED - len(self._read))
            return len(self._read)
        return self._claimed if 0 <= self._claimed <= _MOST_CLAIMED else 0


def _lazy_children(self: Any) -> Any:
    if self.child_cache is None:
        self.child_cache = _LazyChildren(self.printer)
    return self.child_cache


def _keeping_read(fetch: Any) -> Any:
    def fetched(self: Any, start: int, count: int) -> Any:
        if self.children is None:
            self.children = _ReadChildren()
        yield from fetch(self, start, count)

    return fetched


if hasattr(varref.VariableReference, "cache_children"):
    varref.VariableReference.cache_children = _lazy_children
    varref.VariableReference.fetch_children = _keeping_read(varref.VariableReference.fetch_children)

if hasattr(printing, "NoOpPointerReferencePrinter"):
    varref.VariableReference.fetch_one_child = _renaming_children(
        varref.VariableReference.fetch_one_child
    )
    printing.make_visualizer = _choosing_printer(printing.make_visualizer)
    varref.VariableReference.to_object = _completing(varref.VariableReference.to_object)

# --- frames ---------------------------------------------------------------------------------------


def _arguments(frame: Any) -> str:
    """Return `n=3, name="x"` without composite values."""
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
    def with_arguments(*args: Any, **options: Any) -> Any:
        stack = trace(*args, **options)
        for each in stack["stackFrames"]:
            each["freezeframeArguments"] = _arguments(frames.frame_for_id(each["id"]))
        lock = vars(import_module("__main__"))["freezeframe_lock"]()
        if (
            lock is not None
            and not options.get("startFrame")
            and lock[0] < len(stack["stackFrames"])
        ):
            stack["stackFrames"][lock[0]]["freezeframeWaits"] = lock[1]
        return stack

    return with_arguments


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


# --- variables without a value yet ----------------------------------------------------------------


def _marking_unset(fetch: Any) -> Any:
    def fetched(self: Any, start: int, count: int) -> Any:
        is_locals = self.name == "Locals" and hasattr(frames, "frame_for_id")
        frame: Any = frames.frame_for_id(self.frameId).inferior_frame() if is_locals else None
        is_unset = vars(import_module("__main__"))["freezeframe_is_unset"]
        for index, child in enumerate(fetch(self, start, count), start):
            symbol = self.var_list[index].symbol() if frame is not None else None
            if isinstance(symbol, gdb.Symbol) and is_unset(symbol, frame, frame.find_sal()):
                child.printer, child.count = _Unset(), None
            yield child

    return fetched


if hasattr(scopes, "_ScopeReference"):
    scopes._ScopeReference.fetch_children = _marking_unset(scopes._ScopeReference.fetch_children)


# --- logpoints ------------------------------------------------------------------------------------

breakpoints: Any = import_module("gdb.dap.breakpoint")


def _log(self: Any) -> bool:
    """Write a logpoint's message: the server's own evaluates by the rules of gdb alone."""
    logged = vars(import_module("__main__"))["freezeframe_logged"]
    parts = (logged(each) if at % 2 else each for at, each in enumerate(self.message))
    breakpoints.send_event("output", {"category": "console", "output": "".join(parts)})
    return False


if hasattr(breakpoints, "_PrintBreakpoint") and hasattr(breakpoints, "send_event"):
    breakpoints._PrintBreakpoint.stop = _log

# --- expressions ----------------------------------------------------------------------------------

evaluation: Any = import_module("gdb.dap.evaluate")


def _reading(parse_and_eval: Any) -> Any:
    def evaluate(expression: str, global_context: bool = False) -> Any:
        if global_context:
            return parse_and_eval(expression, global_context=True)
        agents = vars(import_module("__main__"))
        try:
            return agents["freezeframe_evaluate"](expression)
        except Exception as error:
            if "stopped while in a function called from GDB" in str(error):
                agents["freezeframe_unwind"]()
            raise evaluation.DAPException(str(error)) from error

    return evaluate


if hasattr(evaluation, "parse_and_eval") and hasattr(evaluation, "DAPException"):
    evaluation.parse_and_eval = _reading(evaluation.parse_and_eval)
