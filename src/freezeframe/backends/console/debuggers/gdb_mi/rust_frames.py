"""Name functions of Rust's implementations as users write them.

Debug information calls the methods of an implementation `shop::{impl#0}::area`; the type and the
trait are in the function's symbol.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from freezeframe.backends import rust_symbols
from freezeframe.backends.backend import RawFrame
from freezeframe.errors import DebuggerError

from .mi_channel import MiChannel, at

_IMPLEMENTATION = "{impl#"


async def with_names(
    channel: MiChannel, thread: int, start: int, frames: Sequence[RawFrame]
) -> Sequence[RawFrame]:
    """Return the frames with the readable names of functions; *start* is the level of the first."""
    if not any(_IMPLEMENTATION in frame.function for frame in frames):
        return frames
    last = start + len(frames) - 1
    try:
        output = await channel.cli(
            f"python freezeframe_print_symbols({start}, {last})", where=at(thread, 0)
        )
        symbols = json.loads(output.strip().splitlines()[-1])
        names = {int(level): rust_symbols.readable(symbol) for level, symbol in symbols.items()}
    except (DebuggerError, ValueError, AttributeError, IndexError):
        return frames
    return [
        replace(frame, function=names.get(level) or frame.function)
        if _IMPLEMENTATION in frame.function
        else frame
        for level, frame in enumerate(frames, start)
    ]
