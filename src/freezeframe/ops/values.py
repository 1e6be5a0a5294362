"""Values: print, eval, set."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal

from freezeframe.backends.backend import Feature, RawValue
from freezeframe.errors import DebuggerError, UsageError
from freezeframe.model.answers import Evaluated
from freezeframe.model.values import Value, is_cut
from freezeframe.session.handles import is_handle
from freezeframe.session.moment import Moment

from ._context import Context
from ._guesses import quoted
from ._registry import Arg, Effect, Needs, op
from ._reports import _OUTPUT_LIMIT
from .seeing import read_range

#: Children shown of a container when nothing else is asked.
_FIRST_CHILDREN = 20
_MAX_CHILDREN = 2000


@op(
    "print",
    aliases=("p", "inspect"),
    group="seeing",
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
        str | None, Arg("only those children: 100:200, counted from 0", short="-r", meta="FROM:TO")
    ] = None,
    reveal: Annotated[bool, Arg("show it even if it is hidden as a secret")] = False,
) -> Evaluated:
    """Show a value.

    Big values are cut to the budget; --range pages through them, --depth opens what they hold.
    """
    moment = await ctx.session.require_stopped()
    frame = await moment.current_frame()
    wanted = read_range(range)
    moment.touch()  # a property or a call may change anything
    value = None
    if wanted is not None and not is_handle(expression):
        value = await _sliced(moment, expression, moment.frame_id(frame.index), wanted, depth or 1)
    if value is None:
        value = await _whole(moment, expression, moment.frame_id(frame.index), wanted, depth)
    if format is not None:
        value = await _in_format(moment, value, moment.frame_id(frame.index), format)
    return Evaluated(
        expression,
        value,
        show_type=type,
        brief=depth is None,
        depth=None if depth is None else max(depth, 1),
        range=wanted,
        frame=frame if frame.index else None,
        output=ctx.session.root.output.take_new(_OUTPUT_LIMIT),
        next=await _way_into(moment, expression, value) if (wanted, depth) == (None, None) else (),
    )


async def _way_into(moment: Moment, expression: str, value: Value) -> tuple[str, ...]:
    """Return the command that shows what the debugger's own text of a value has left out.

    The first field or element that is cut itself; where each fits alone, all of them.
    """
    if value.children or not value.handle or not is_cut(value.text):
        return ()
    try:
        ref = moment.handles.resolve(value.handle)
        found = await moment.backend.children(ref, count=_FIRST_CHILDREN)
    except DebuggerError:
        return ()
    cut = (each.expression for each in found if is_cut(each.text) and each.expression)
    if inner := next(cut, None):
        return (f"print {quoted(inner)}",)
    # A page of a container is named where it is shown.
    return (f"print {quoted(expression)} --depth 1",) if found and not value.count else ()


async def _whole(
    moment: Moment,
    expression: str,
    frame_id: int,
    wanted: tuple[int, int] | None,
    depth: int | None,
) -> Value:
    if is_handle(expression):
        raw = RawValue(expression, "", ref=moment.handles.resolve(expression), opaque=True)
    else:
        raw = await moment.backend.evaluate(expression, frame_id)
    moment.open_anew()
    if wanted is not None:
        start, end = wanted
        found = await moment.backend.children(raw.ref, start=start, count=end - start)
        children = [await _opened(moment, each, max(depth or 1, 1) - 1) for each in found]
        return replace(moment.value(raw), children=tuple(children))
    return (
        await _opened(moment, raw, max(depth or 1, 1)) if depth or raw.opaque else moment.value(raw)
    )


async def _sliced(
    moment: Moment, expression: str, frame_id: int, wanted: tuple[int, int], depth: int
) -> Value | None:
    """Return a value with only those children; None where the debugger has no way to say it."""
    start, end = wanted
    code = moment.backend.slice_expression(expression, start, min(end, start + _MAX_CHILDREN))
    if code is None:
        return None
    raw = await moment.backend.evaluate(code, frame_id)
    children = await _children(moment, raw, depth, _MAX_CHILDREN) if raw.ref else []
    # The slice has an expression that the user did not write.
    return replace(
        moment.value(raw), name=expression, expression=expression, children=tuple(children)
    )


async def _opened(moment: Moment, raw: RawValue, depth: int) -> Value:
    if not raw.ref or depth < 1:
        return await moment.open(raw)
    value = moment.value(raw)
    return replace(value, children=tuple(await _children(moment, raw, depth, _FIRST_CHILDREN)))


async def _children(moment: Moment, raw: RawValue, depth: int, count: int) -> list[Value]:
    found = await moment.backend.children(raw.ref, count=count)
    return [
        await _opened(moment, child, 0 if child.whole else depth - 1) for child in found[:count]
    ]


async def _in_format(moment: Moment, value: Value, frame_id: int, format: str) -> Value:
    """Return the value with its numbers in another form; those of its children where it has any."""
    bits = None
    if value.expression is not None:
        bits = await moment.backend.in_hex(value.expression, frame_id)
    if bits is None:
        return replace(value, text=_formatted(value.text, format))
    whole, parts = bits
    if not parts or _HEX.fullmatch(whole.text):
        return replace(value, text=_from_bits(value, whole.text, format), opaque=False, children=())
    by_name = {part.name: part.text for part in parts}
    children = value.children or tuple(moment.value(part) for part in parts)
    shown = [
        replace(child, text=_from_bits(child, by_name[child.name], format))
        if _HEX.fullmatch(by_name.get(child.name, ""))
        else child
        for child in children
    ]
    return replace(value, children=tuple(shown), opaque=True)


_ASSIGNMENT = re.compile(r"\s*([^=!<>()]+?)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_HEX = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"\b(float|double|f32|f64)\b")
_SIGNED_BYTE = re.compile(r"(const )?(signed )?(char|int8_t|i8)")


def _from_bits(value: Value, bits: str, format: str) -> str:
    """Return a number's text in a form, given its bits; what is no whole number stays."""
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
    # Through Decimal: Python itself refuses to read or write more than 4,300 digits.
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
    group="seeing",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    example="eval 'cart.add(item)'",
)
async def eval_(
    ctx: Context,
    code: Annotated[str, Arg("an expression or a statement", meta="CODE", greedy=True, code=True)],
) -> Evaluated:
    """Run code in the current frame; it may change the program."""
    moment = await ctx.session.require_stopped()
    frame = await moment.current_frame()
    moment.touch()
    raw = await moment.backend.evaluate(code, moment.frame_id(frame.index), statement=True)
    value = await _opened(moment, raw, 1) if raw.opaque else moment.value(raw)
    moment.backend.drain()
    # What `n = 3` yields is n's value, not that of an equation.
    assigned = _ASSIGNMENT.match(code)
    if assigned is not None and value.text:
        code = assigned[1]
    return Evaluated(code, value, output=ctx.session.root.output.take_new(_OUTPUT_LIMIT))


@op(
    "set",
    aliases=("assign", "set var"),
    group="seeing",
    effect=Effect.WRITES,
    needs=Needs.STOPPED,
    feature=Feature.SET,
    example="set n 3",
    examples=("set cart.total = 0",),
)
async def set_(
    ctx: Context,
    words: Annotated[
        tuple[str, ...], Arg("LHS RHS, or LHS = RHS", meta="LHS RHS", code=True, ends_options=True)
    ],
) -> Evaluated:
    """Assign to a variable, a field or an element; the answer is the value read back."""
    target, value = _sides(words)
    moment = await ctx.session.require_stopped()
    frame = await moment.current_frame()
    moment.touch()
    raw = await moment.backend.assign(target, value, moment.frame_id(frame.index))
    return Evaluated(target, moment.value(raw))


def _sides(words: tuple[str, ...]) -> tuple[str, str]:
    """Split `x 5`, `x = 5`, `x=5`, `a[i] = b == c`, or one quoted word with an equals sign."""
    if len(words) >= 3 and words[1] == "=":
        return words[0], " ".join(words[2:])
    if len(words) == 1 or (
        len(words) > 1 and words[0].endswith("=") and words[0][-2:-1] not in "=!<>"
    ):
        text = " ".join(words)
        match = re.match(r"\s*(.+?)\s*(?<![=!<>])=(?!=)\s*(.+)", text, re.DOTALL)
        if match:
            return match[1], match[2]
    if len(words) >= 2:
        return words[0], " ".join(words[1:])
    raise UsageError("`set` takes a target and a value.", next="dbg set NAME VALUE")
