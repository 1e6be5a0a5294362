"""What a step must know of an async function: whether it awaits, its loops that do not, and where
an async generator is left.

V8 cannot step out of an async generator (V8 11 ends the program), and loses a step over its
end, which awaits unseen: steps in one are made by steps into, and out of what they entered.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from freezeframe.backends.javascript import js_scanner

from .scripts import Script, Scripts, offset_of

#: size limit of a script that is searched, in characters
_MAX_SIZE = 3_000_000


_ASYNC_GENERATOR = re.compile(r"\basync\s*(?:function\s*)?\*")
#: words that leave a generator
_YIELD, _RETURN = "yield", "return"


@dataclass(frozen=True, slots=True)
class AsyncFunction:
    """A function that awaits, or an async generator."""

    script: Script
    #: begin and end of each loop without an await, outermost first
    loops: tuple[tuple[int, int], ...]
    is_generator: bool = False
    #: how the statement at the location of the frame leaves a generator: by `yield`, by `return`
    left_by: str | None = None

    @property
    def returns(self) -> bool:
        """Whether the statement at the location returns from an async generator."""
        return self.left_by == _RETURN

    def loop_around(self, offset: int) -> tuple[int, int] | None:
        """Return the outermost loop without an await around an offset."""
        return next((each for each in self.loops if each[0] <= offset < each[1]), None)


async def read(scripts: Scripts, call: dict[str, Any]) -> AsyncFunction | None:
    """Return the async function of a frame; None for one that awaits nothing and is no
    generator."""
    location = call["location"]
    script = scripts.get(str(location["scriptId"]))
    if script is None or script.internal:
        return None
    text = await scripts.text_of(script)
    if len(text) > _MAX_SIZE:
        return None
    offset = offset_of(text, int(location["lineNumber"]), int(location.get("columnNumber") or 0))
    # The return of a function is where it ends.
    function = js_scanner.innermost(text, offset) or js_scanner.innermost(text, offset - 1)
    if function is None or not function.is_async:
        return None
    loops = _loops(text, function)
    if function.is_generator:
        return AsyncFunction(script, loops or (), True, _left_by(text, function, offset))
    return None if loops is None else AsyncFunction(script, loops)


async def read_generator(scripts: Scripts, call: dict[str, Any]) -> AsyncFunction | None:
    """Return the async generator of a frame; None for any other function.

    Quick in a script that has none, however big it is.
    """
    script = scripts.get(str(call["location"]["scriptId"]))
    if script is None or script.internal:
        return None
    if _ASYNC_GENERATOR.search(await scripts.text_of(script)) is None:
        return None
    function = await read(scripts, call)
    return function if function is not None and function.is_generator else None


def _left_by(text: str, function: js_scanner.Function, offset: int) -> str | None:
    if offset >= function.end - 1:
        return _RETURN
    read = js_scanner.read_text(text)
    first = index = read.at(offset)
    while index < len(read.tokens) and read.tokens[index].start < function.end:
        word = read.word(index)
        if word in (_YIELD, _RETURN) and read.tokens[index].kind == "name":
            return word
        closes = word == ")" and read.partner.get(index, first) < first  # the head of a loop
        if closes or word in (";", "}") or "\n" in text[offset : read.tokens[index].start]:
            return None
        index = read.past(index) if word == "{" else index + 1
    return None


def _loops(text: str, function: js_scanner.Function) -> tuple[tuple[int, int], ...] | None:
    """Return the loops of a function that await nothing; None if it awaits nothing at all."""
    read = js_scanner.read_text(text)
    inner = [
        each
        for each in js_scanner.functions(text)
        if function.start < each.start and each.end <= function.end
    ]
    tokens = range(read.at(function.body), read.at(function.end))
    keywords = [
        index
        for index in tokens
        if read.tokens[index].kind == "name"
        and read.word(index) in ("await", _YIELD, "for", "while", "do")
        and read.word(index - 1) not in (".", "?.")
        and not any(each.start <= read.tokens[index].start < each.end for each in inner)
    ]
    awaits = [read.tokens[each].start for each in keywords if read.word(each) in ("await", _YIELD)]
    if not awaits:
        return None
    found = []
    for index in keywords:
        start = read.tokens[index].start
        end = _loop_end(read, index) if start not in awaits else start
        if end > start and not any(start <= each < end for each in awaits):
            found.append((start, end))
    return tuple(found)


def _loop_end(read: js_scanner.JsText, index: int) -> int:
    """Return where the loop that begins with the word at *index* ends; 0 where that is unclear."""
    at = index + 1
    if read.word(index) != "do":
        if read.word(at) != "(":
            return 0
        at = read.past(at)
    if read.word(at) == "{":
        at = read.past(at)
        return read.tokens[at - 1].end
    while at < len(read.tokens) and read.word(at) not in (";", "}"):
        at = read.past(at)
    return read.tokens[min(at, len(read.tokens) - 1)].end
