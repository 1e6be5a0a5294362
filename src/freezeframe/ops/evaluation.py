"""Evaluation: print, eval, set."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal

from freezeframe.backends.backend import Feature, RawValue
from freezeframe.backends.capabilities import Assignment, HexValues, SliceExpressions
from freezeframe.errors import DebuggerError, UsageError
from freezeframe.model.answers import Evaluated
from freezeframe.model.values import Value, is_cut
from freezeframe.session.handles import is_handle
from freezeframe.session.stop_state import StopState

from ._common_args import InFrame
from ._context import Context
from ._frames import frame_at
from ._registry import Arg, Effect, Needs, op
from ._stop_report import _OUTPUT_LIMIT
from ._suggestions import quoted
from .inspection import read_range

#: Children of a container that are shown by default.
_FIRST_CHILDREN = 20
_MAX_CHILDREN = 2000


@op(
    "print",
    aliases=("p", "inspect"),
    group="inspect",
    needs=Needs.STOPPED,
    example="print cart.total",
    examples=("print rows --range 100:200", "print n --format hex", "print node --depth 2"),
)
async def print_(
    ctx: Context,
    expression: Annotated[
        str, Arg("what to show, in the program's language", meta="EXPR", greedy=True, code=True)
    ],
    *,
    type: Annotated[bool, Arg("with its type")] = False,
    format: Annotated[
        Literal["hex", "binary", "octal", "decimal", "address", "char"] | None,
        Arg("how to show a number", short="-x"),
    ] = None,
    depth: Annotated[int | None, Arg("levels of children to show", short="-d", meta="N")] = None,
    range: Annotated[
        str | None,
        Arg("only this range of children: 100:200, counted from 0", short="-r", meta="FROM:TO"),
    ] = None,
    reveal: Annotated[bool, Arg("show the value even if it is hidden as a secret")] = False,
    frame: InFrame = None,
) -> Evaluated:
    """Show a value.

    Large values are truncated to the budget; --range pages through them, --depth expands children.
    """
    stop = await ctx.session.require_stopped()
    shown = await frame_at(stop, frame)
    bounds = read_range(range)
    stop.invalidate()  # a property or a call may change anything
    value = None
    if bounds is not None and not is_handle(expression):
        value = await _sliced(stop, expression, stop.frame_id(shown.index), bounds, depth or 1)
    if value is None:
        value = await _whole(stop, expression, stop.frame_id(shown.index), bounds, depth)
    if format is not None:
        value = await _in_format(stop, value, stop.frame_id(shown.index), format)
    return Evaluated(
        expression,
        value,
        show_type=type,
        brief=depth is None,
        depth=None if depth is None else max(depth, 1),
        range=bounds,
        frame=shown if shown.index else None,
        output=ctx.take_output(ctx.session.root, _OUTPUT_LIMIT),
        next=await _way_into(stop, expression, value) if (bounds, depth) == (None, None) else (),
    )


async def _way_into(stop: StopState, expression: str, value: Value) -> tuple[str, ...]:
    """Return the command that shows what the debugger's text of a value has left out.

    It prints the first field or element that is itself truncated; if each fits alone, all of them.
    """
    if value.children or not value.handle or not is_cut(value.text):
        return ()
    try:
        ref = stop.handles.resolve(value.handle)
        found = await stop.backend.children(ref, count=_FIRST_CHILDREN)
    except DebuggerError:
        return ()
    cut = (each.expression for each in found if is_cut(each.text) and each.expression)
    if inner := next(cut, None):
        return (f"print {quoted(inner)}",)
    # The renderer names the next page of a container.
    return (f"print {quoted(expression)} --depth 1",) if found and not value.count else ()


async def _whole(
    stop: StopState,
    expression: str,
    frame_id: int,
    bounds: tuple[int, int] | None,
    depth: int | None,
) -> Value:
    if is_handle(expression):
        raw = RawValue(expression, "", ref=stop.handles.resolve(expression), opaque=True)
    else:
        raw = await stop.backend.evaluate(expression, frame_id)
    stop.reset_expansion_budget()
    if bounds is not None:
        start, end = bounds
        found = await stop.backend.children(raw.ref, start=start, count=end - start)
        value = stop.value(raw)
        if not found and value.count is not None and start < value.count:
            # CodeLLDB lists what it can read in 5 s.
            tool = stop.backend.tool.name
            raise DebuggerError(
                f"{tool} lists fewer than {start + 1} of the {value.count} items.",
                next=f"dbg print {quoted(expression)} --range 0:100",
            )
        children = [await _opened(stop, each, max(depth or 1, 1) - 1) for each in found]
        return replace(value, children=tuple(children))
    return await _opened(stop, raw, max(depth or 1, 1)) if depth or raw.opaque else stop.value(raw)


async def _sliced(
    stop: StopState, expression: str, frame_id: int, bounds: tuple[int, int], depth: int
) -> Value | None:
    """Return a value with only those children; None if the debugger has no slice expression."""
    if not isinstance(stop.backend, SliceExpressions):
        return None
    start, end = bounds
    code = stop.backend.slice_expression(expression, start, min(end, start + _MAX_CHILDREN))
    if code is None:
        return None
    raw = await stop.backend.evaluate(code, frame_id)
    children = await _children(stop, raw, depth, _MAX_CHILDREN) if raw.ref else []
    # Keep the user's expression, not that of the slice.
    value = replace(
        stop.value(raw), name=expression, expression=expression, children=tuple(children)
    )
    # A slice of as many elements does not say how many the whole has.
    sliced = value.count is not None and value.count <= len(children)
    return replace(value, count=None) if sliced else value


async def _opened(stop: StopState, raw: RawValue, depth: int) -> Value:
    if not raw.ref or depth < 1:
        return await stop.expand(raw)
    value = stop.value(raw)
    return replace(value, children=tuple(await _children(stop, raw, depth, _FIRST_CHILDREN)))


async def _children(stop: StopState, raw: RawValue, depth: int, count: int) -> list[Value]:
    found = await stop.backend.children(raw.ref, count=count)
    return [await _opened(stop, child, 0 if child.whole else depth - 1) for child in found[:count]]


async def _in_format(stop: StopState, value: Value, frame_id: int, format: str) -> Value:
    """Return the value, or its children if it has any, with numbers in another format."""
    bits = None
    if value.expression is not None and isinstance(stop.backend, HexValues):
        bits = await stop.backend.evaluate_hex(value.expression, frame_id)
    if bits is None:
        return replace(value, text=_formatted(value.text, format))
    whole, parts = bits
    if not parts or _HEX.fullmatch(whole.text):
        return replace(value, text=_from_bits(value, whole.text, format), opaque=False, children=())
    by_name = {part.name: part.text for part in parts}
    children = value.children or tuple(stop.value(part) for part in parts)
    shown = [
        replace(child, text=_from_bits(child, by_name[child.name], format))
        if _HEX.fullmatch(by_name.get(child.name, ""))
        else child
        for child in children
    ]
    return replace(value, children=tuple(shown), opaque=True)


#: of an assignment in optimised code: compilers keep a variable in several places at once
_COPIES = "the code is optimised: the program may go on with another copy of the variable"
_ASSIGNMENT = re.compile(r"\s*([^=!<>()]+?)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"\b(float|double|f32|f64)\b")
_SIGNED_BYTE = re.compile(r"(const )?(signed )?(char|int8_t|i8)")


def _from_bits(value: Value, bits: str, format: str) -> str:
    """Return the text of an integer with these bits in a format; other values stay."""
    if _FLOAT.search(value.type or ""):
        return value.text
    match = _HEX.match(bits)
    if match is None:
        raise UsageError(f"--format {format} shows whole numbers, and this is {value.text[:60]}.")
    number = int(match[0], 0)
    if format == "decimal":
        if _INTEGER.fullmatch(value.text):
            return _formatted(value.text, format)
        if _SIGNED_BYTE.fullmatch(value.type or "") and number > 0x7F:
            number -= 0x100
    return _formatted(hex(number), format)


_DECIMAL = re.compile(r"[+-]?\d+")
_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|\d+)")


def _formatted(text: str, format: str) -> str:
    """Return an integer's text in another base; anything else as it is."""
    match = _INTEGER.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--format {format} shows whole numbers, and this is {text[:60]}.")
    digits = text.strip()
    # Through Decimal: Python's int refuses to parse or print more than 4,300 digits.
    number = int(Decimal(digits)) if _DECIMAL.fullmatch(digits) else int(digits, 0)
    sign = "-" if number < 0 else ""
    size = abs(number)
    match format:
        case "hex":
            return f"{sign}{size:#x}"
        case "address":
            return f"{sign}{size:#018x}"
        case "binary":
            return f"{sign}{size:#b}"
        case "octal":
            return f"{sign}{size:#o}"
        case "char":
            return repr(chr(number)) if 0 <= number < 0x110000 else text
    return str(Decimal(number))


@op(
    "eval",
    aliases=("evaluate", "exec", "call"),
    group="inspect",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    example="eval 'cart.add(item)'",
)
async def eval_(
    ctx: Context,
    code: Annotated[str, Arg("an expression or a statement", meta="CODE", greedy=True, code=True)],
    *,
    frame: InFrame = None,
) -> Evaluated:
    """Run code in the current frame; it may change the program."""
    stop = await ctx.session.require_stopped()
    index = (await frame_at(stop, frame)).index
    stop.invalidate(by_user=True)
    raw = await stop.backend.evaluate(code, stop.frame_id(index), statement=True)
    value = await _opened(stop, raw, 1) if raw.opaque else stop.value(raw)
    stop.backend.drain()
    # `n = 3` yields the value of n, not of a comparison.
    assigned = _ASSIGNMENT.match(code)
    if assigned is not None and value.text:
        code = assigned[1]
    return Evaluated(code, value, output=ctx.take_output(ctx.session.root, _OUTPUT_LIMIT))


@op(
    "set",
    aliases=("assign", "set var"),
    group="inspect",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    feature=Feature.SET,
    example="set n 3",
    examples=("set cart.total = 0",),
)
async def set_(
    ctx: Context,
    assignment: Annotated[
        tuple[str, ...], Arg("LHS RHS, or LHS = RHS", meta="LHS RHS", code=True, ends_options=True)
    ],
    *,
    frame: InFrame = None,
) -> Evaluated:
    """Assign to a variable, a field or an element; the answer is the value read back."""
    target, value = _sides(assignment)
    stop = await ctx.session.require_stopped()
    selected = await frame_at(stop, frame)
    stop.invalidate(by_user=True)
    assert isinstance(stop.backend, Assignment)
    raw = await stop.backend.assign(target, value, stop.frame_id(selected.index))
    notes = (_COPIES,) if selected.optimized and target.isidentifier() else ()
    return Evaluated(target, stop.value(raw), notes=notes)


def _sides(tokens: tuple[str, ...]) -> tuple[str, str]:
    """Split `x 5`, `x = 5`, `x=5`, `a[i] = b == c`, or one quoted argument with an equals sign."""
    if len(tokens) >= 3 and tokens[1] == "=":
        return tokens[0], " ".join(tokens[2:])
    if len(tokens) == 1 or (
        len(tokens) > 1 and tokens[0].endswith("=") and tokens[0][-2:-1] not in "=!<>"
    ):
        text = " ".join(tokens)
        match = re.match(r"\s*(.+?)\s*(?<![=!<>])=(?!=)\s*(.+)", text, re.DOTALL)
        if match:
            return match[1], match[2]
    if len(tokens) >= 2:
        return tokens[0], " ".join(tokens[1:])
    raise UsageError("`set` takes a target and a value.", next="dbg set NAME VALUE")
