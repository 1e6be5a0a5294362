"""What a trace leaves out so that it ends in time; the module `_freezeframe_omissions`.

Runs inside the traced program and imports nothing of this package. Everything that is left out is
noted in the trace.
"""

from __future__ import annotations

import sys
from typing import Any

_log: Any = sys.modules["_freezeframe_log"]
#: looks at the clock after which an iteration is long: that many thousands of steps
LONG = 20
#: calls after which a function may be left out
_OFTEN = 100
#: what was left out; written in each segment
_remarks: list[str] = []
#: remarks of one trace
_MOST = 20


def note(text: str) -> None:
    """Write what was left out, once."""
    if text not in _remarks and len(_remarks) < _MOST:
        _remarks.append(text)
        write()


def write() -> None:
    """Write all remarks, at the beginning of a segment."""
    for text in _remarks:
        _log.records.extend((_log.REMARK, _log.string(text)))


def cut(state: Any) -> None:
    """Record nothing more of a frame but its end: it is a long iteration, as of a table that is
    made when a module is imported.
    """
    code = state.plan.code
    until = state.plan.until
    if until is not None and any(line == until for _, _, line in code.co_lines()):
        return  # recording ends in it
    state.is_cut, state.flow = True, None
    where = f"{state.plan.path}:{code.co_firstlineno}"
    note(f"not all iterations of {code.co_name} at {where} were recorded, to end in time")


def drop_hottest(plans: Any) -> None:
    """Record no more calls of the function that most steps belong to: without it the run may come
    to its end in time. Of a function that is called a few times the calls themselves are long.
    """
    _log.file.late += _log.file.limit_seconds / 10
    known = [plan for plan in list(plans.values()) if plan is not None and not plan.is_dropped]
    total = sum(plan.samples for plan in known)
    often = [plan for plan in known if plan.calls >= _OFTEN and plan.until is None]
    hottest = max(often, key=lambda plan: plan.samples, default=None)
    if hottest is not None and hottest.samples * 10 >= total:
        hottest.is_dropped = True
        name = getattr(hottest.code, "co_qualname", hottest.code.co_name)
        note(f"only the first {hottest.calls:,} calls of {name} were recorded, to end in time")
    for plan in known:
        plan.samples = 0
