"""Calls that a wrong value may be decided by, where no write of it tells.

A value is often wrong because something did *not* happen: a function gave up and returned nothing,
an exception was handled, or what is missing went into a function and did not come out of it. The
calls of a trace, with their arguments and results, show that without following any write. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from freezeframe.model.fast_dataclass import dataclass
from freezeframe.model.questions import Link, LinkKind, ReadValue
from freezeframe.model.trace import FrameKind, TracedFrame, TracedValue
from freezeframe.model.values import is_cut

from .calls_of_test import CallsOfTest, is_test_file
from .chain_links import ChainLinks
from .differing_tokens import DifferingTokens
from .expressions import Expression, Form, StatementKind
from .queries import EvaluatedAt, Query
from .text_spans import known_text
from .traced_values import RECEIVERS, Execution, TracedValues, own_name, shortened

#: results that say that nothing was found or made
_NOTHING = frozenset(("None", "nil", "null", "undefined", "NULL", "-1", "(None, None)"))
_EMPTY = frozenset(("[]", "{}", "()", "''", '""', "set()", "0x0", "[]", "(None, False)"))
_NO = frozenset(("False", "false"))
_MOST_FRAMES = 20_000
_MOST_ARGUMENTS = 3
_MOST_ARGUMENT = 60
#: calls that gave up one inside of the other: more say no more
_MOST_CALLS = 5
#: of an argument, how much of it a missing word must be: a document has every word
_LEAST_SHARE = 0.08
#: a single function that returned nothing says too little
_LEAST_SCORE = 1.3


@dataclass(slots=True)
class _Candidate:
    frame: TracedFrame
    score: float
    note: str


def deciding_calls(
    values: TracedValues, begin: Execution, tokens: DifferingTokens, most: int
) -> tuple[Link, ...]:
    """Return the calls that tell most about why a value is wrong, the best first.

    *begin* is the statement that failed; the calls of the test before it are looked at. *tokens*
    are those in which the actual and the expected value differ.
    """
    calls = _Calls(values, begin)
    found = [*calls.lost(tokens.missing), *calls.made(tokens.extra), *calls.gave_up(tokens)]
    found += calls.handled()
    best: dict[tuple[str, int], _Candidate] = {}
    for each in found:
        key = each.frame.path, each.frame.first_line
        known = best.get(key)
        if known is None:
            best[key] = each
            continue
        first, second = (known, each) if known.score >= each.score else (each, known)
        notes = [first.note, second.note] if first.frame is second.frame else [first.note]
        note = "; ".join(note for note in notes if note)
        best[key] = _Candidate(first.frame, first.score + second.score / 2, note)
    ranked = sorted(best.values(), key=lambda each: -each.score)
    ranked = [each for each in ranked if each.score >= _LEAST_SCORE][:most]
    links = ChainLinks(values)
    return tuple(made for each in ranked if (made := _link(values, links, each)) is not None)


class _Calls:
    """What the calls of a test say about its failure."""

    def __init__(self, values: TracedValues, begin: Execution) -> None:
        self._values = values
        self._index = values.index
        calls = CallsOfTest(values, begin)
        self._stack = calls.stack
        self._frames = calls.frames[-_MOST_FRAMES:]
        self._inside: dict[int, list[TracedFrame]] = {}
        for frame in self._frames:
            caller = self._index.step(frame.caller)
            if caller is not None:
                self._inside.setdefault(caller.frame, []).append(frame)

    # --- what is missing, and what should not be there

    def lost(self, tokens: Iterable[str]) -> list[_Candidate]:
        """Return, for each missing word, the call that got most of nothing else."""
        found = []
        for rank, word in enumerate(tokens):
            best: tuple[float, TracedFrame, str] | None = None
            for frame in self._frames:
                if _has(frame.returned, word):
                    continue
                share, name = max(
                    ((_share(value, word), name) for name, value in frame.arguments),
                    default=(0.0, ""),
                )
                if share >= _LEAST_SHARE and self._fell_off_its_end(frame):
                    continue  # it stored what it got
                if share >= _LEAST_SHARE and (best is None or share >= best[0] * 0.99):
                    best = share, frame, name
            if best is not None:
                share, frame, name = best
                note = f"got {shortened(word, 30)}, which is missing"
                found.append(_Candidate(frame, 1.0 + 3.0 * share - 0.2 * rank, note))
        return found

    def made(self, tokens: Iterable[str]) -> list[_Candidate]:
        """Return, for each word too many, the first call that returned it without getting it."""
        found = []
        for rank, word in enumerate(tokens):
            for frame in self._frames:
                if not _has(frame.returned, word) or any(
                    _has(value, word) for _, value in frame.arguments
                ):
                    continue
                frame = self._innermost(frame, word)
                note = f"returned {shortened(word, 30)}, which is too much"
                share = _share(frame.returned, word)
                found.append(_Candidate(frame, 1.0 + 2.0 * share - 0.2 * rank, note))
                break
        return found

    def _innermost(self, frame: TracedFrame, word: str) -> TracedFrame:
        for inner in self._inside.get(frame.number, ()):
            if _has(inner.returned, word) and not any(_has(v, word) for _, v in inner.arguments):
                return self._innermost(inner, word)
        return frame

    # --- what was not done

    def gave_up(self, tokens: DifferingTokens) -> list[_Candidate]:
        """Return the innermost calls that returned nothing, and made their callers do the same."""
        found: dict[tuple[str, int], _Candidate] = {}
        for frame in self._frames:
            caller = self._index.step(frame.caller)
            above = self._index.frames[caller.frame] if caller is not None else None
            if not self._is_nothing(frame):
                continue
            if above is not None and self._is_nothing(above) and _is_alike(frame, above):
                continue
            chain = [frame]
            while inner := self._last_nothing(chain[-1]):
                chain.append(inner)
            leaf = chain[-1]
            text = leaf.returned.text if leaf.returned is not None else ""
            score = 0.4 * min(len(chain), _MOST_CALLS) + (0.6 if text in _NOTHING else 0.0)
            if text in _NO:
                score /= 2
            if any(_share(v, w) >= _LEAST_SHARE for _, v in leaf.arguments for w in tokens.missing):
                score += 0.6
            elif tokens.known and not any(
                _has(v, w) for _, v in leaf.arguments for w in tokens.known
            ):
                score /= 2  # it never saw anything of either value
            outer = [own_name(each) for each in reversed(chain[:-1])]
            what = "nothing" if text in _NOTHING else text
            note = f"so {', '.join(dict.fromkeys(outer))} returned {what}" if outer else ""
            key = leaf.path, leaf.first_line
            if key not in found or found[key].score <= score:
                found[key] = _Candidate(leaf, score, note)
        return list(found.values())

    def _last_nothing(self, frame: TracedFrame) -> TracedFrame | None:
        inner = [
            each
            for each in self._inside.get(frame.number, ())
            if self._is_nothing(each) and _is_alike(each, frame)
        ]
        return inner[-1] if inner else None

    def _is_nothing(self, frame: TracedFrame) -> bool:
        """Whether a function that returns something elsewhere has returned nothing here."""
        if frame.returned is None or frame.kind is FrameKind.GENERATOR:
            return False
        text = frame.returned.text
        if text not in _NOTHING and text not in _EMPTY and text not in _NO:
            return False
        return self._returns_values(frame)

    def _fell_off_its_end(self, frame: TracedFrame) -> bool:
        """Whether a function that never returns a value ran to its end, without an early return."""
        last = self._values.return_of(frame)
        returned = (
            last is not None
            and last.statement is not None
            and last.statement.kind is StatementKind.RETURN
        )
        return not returned and not self._returns_values(frame)

    def _returns_values(self, frame: TracedFrame) -> bool:
        source = self._values.files.file(frame.path)
        returns = source.returns(frame.first_line) if source is not None else ()
        return any(each.value is not None and each.value.text not in _NOTHING for each in returns)

    def handled(self) -> list[_Candidate]:
        """Return the calls that raised an exception which a caller handled."""
        found: dict[tuple[str, int], _Candidate] = {}
        for frame in self._frames:
            if frame.raised is None or any(
                each.raised is not None for each in self._inside.get(frame.number, ())
            ):
                continue
            handler = self._handler(frame)
            if handler is None:
                continue
            name = shortened(frame.raised, 60)
            note = f"raised {name}, handled in {own_name(handler)}"
            found[frame.path, frame.first_line] = _Candidate(frame, 1.0, note)
        return list(found.values())

    def _handler(self, frame: TracedFrame) -> TracedFrame | None:
        """Return the project's function that handled what left *frame*."""
        while frame.raised is not None:
            caller = self._index.step(frame.caller)
            if caller is None:
                return None
            frame = self._index.frames[caller.frame]
            if frame.number in self._stack or is_test_file(frame.path):
                return None
        return frame


def _is_alike(one: TracedFrame, other: TracedFrame) -> bool:
    """Whether two calls returned nothing in the same way: False is no missing result."""
    texts = [each.returned.text if each.returned is not None else "" for each in (one, other)]
    return (texts[0] in _NO) == (texts[1] in _NO)


def _has(value: TracedValue | None, word: str) -> bool:
    return value is not None and word in value.text


def _share(value: TracedValue | None, word: str) -> float:
    """Return how much of the text of a value a word is."""
    if value is None or word not in value.text:
        return 0.0
    known = known_text(value.text)
    whole = known[0] if known is not None else value.text
    return min(1.0, len(word) / max(len(whole), 1)) if not is_cut(value.text) else 0.01


def _link(values: TracedValues, links: ChainLinks, found: _Candidate) -> Link | None:
    frame = found.frame
    execution = values.return_of(frame)
    if execution is None:
        return None
    kind = LinkKind.RAISED if frame.raised is not None else LinkKind.RETURN
    statement = execution.statement
    node = statement.value if statement is not None else None
    node = node if node is not None else Expression("", Form.OTHER)
    new = frame.returned if frame.raised is None else None
    at = EvaluatedAt(execution, f"{own_name(frame)}()", kind, new=new)
    made = links.link(Query(node, at), found.note or None)
    return replace(made, kind=kind, reads=_united(_arguments(frame), made.reads))


def _arguments(frame: TracedFrame) -> tuple[ReadValue, ...]:
    shown = [(name, v) for name, v in frame.arguments if name not in RECEIVERS]
    short = sorted(shown, key=lambda each: len(each[1].text) > _MOST_ARGUMENT)
    return tuple(
        ReadValue(name, shortened(v.text, _MOST_ARGUMENT)) for name, v in short[:_MOST_ARGUMENTS]
    )


def _united(first: Sequence[ReadValue], then: Sequence[ReadValue]) -> tuple[ReadValue, ...]:
    known = {each.expression for each in first}
    return (*first, *(each for each in then if each.expression not in known))
