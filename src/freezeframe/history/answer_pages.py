"""Export the answer of a question as a page: two runs side by side, a chain, many runs.

The page is that of a recorded run (`html_export`), the one that the answer is about, with a view
of the answer before it. Each view is a script of its own in `page/`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from freezeframe.model.divergence import ComparedSide, ComparedStep
from freezeframe.model.history import Difference, Recording
from freezeframe.model.questions import Link, ReadValue
from freezeframe.model.runs import Run

from . import html_export, page_files
from .redaction import Secrets

#: the question → the files of its view
_VIEWS = {
    "diff": ("answer.css", "answer.js", "compare.js"),
    "why": ("answer.css", "answer.js", "chain.js"),
    "hunt": ("answer.css", "answer.js", "compare.js", "hunt.js"),
}


def page(question: str, answer: Mapping[str, Any], recording: Recording | None) -> str:
    """Return the page of an answer; *recording* is the run that it is about, if there is one."""
    if recording is None:
        run = Run(0, question, "", started=answer["at"])
        recording = Recording(run, "", ())
    data = {**answer, "kind": question, "run": html_export.run_data(recording)}
    return page_files.inlined(dumped(data), _VIEWS[question])


def plain(value: Any, secrets: Secrets) -> Any:
    """Return *value* as JSON holds it, without the values of secret names."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return secrets.redact(value)
    if isinstance(value, Mapping):
        return {key: plain(each, secrets) for key, each in value.items()}
    if isinstance(value, Sequence):
        return [plain(each, secrets) for each in value]
    if not is_dataclass(value):
        return value
    made = {each.name: plain(getattr(value, each.name), secrets) for each in fields(value)}
    if isinstance(value, ComparedStep):
        made["writes"] = _pairs(value.writes, secrets)
    elif isinstance(value, ComparedSide):
        made["arguments"] = _pairs(value.arguments, secrets)
    for kind, name, values in _NAMED:
        if isinstance(value, kind) and secrets.hides(getattr(value, name)):
            made |= {each: secrets.placeholder for each in values if made[each] is not None}
    return made


#: what has a name, and values of it
_NAMED: tuple[tuple[type, str, tuple[str, ...]], ...] = (
    (Difference, "path", ("a", "b")),
    (ReadValue, "expression", ("value",)),
    (Link, "target", ("old", "new")),
)


def _pairs(pairs: Sequence[tuple[str, str]], secrets: Secrets) -> list[list[str]]:
    return [
        [name, secrets.placeholder if secrets.hides(name, text) else secrets.redact(text)]
        for name, text in pairs
    ]


def dumped(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
