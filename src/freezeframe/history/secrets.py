"""What must not be written down: values whose names match a pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate

#: `'api_key': 'x'`, `password=…`, `secret: "…"` inside the text of a bigger value
_PAIR = re.compile(
    r"""(?P<quote>['"]?)(?P<name>[A-Za-z_][\w-]*)(?P=quote)(?P<sign>\s*(?:=>|[:=])\s*)"""
    r"""(?P<value>(?:[bru&]?"(?:[^"\\]|\\.)*"?)|(?:[bru]?'(?:[^'\\]|\\.)*'?)|[^,;(){}\[\]\s]+)"""
)

_KNOWN = 10_000


class Secrets:
    """The patterns of names that are not kept, upper and lower case alike."""

    WORD = "<not recorded>"

    def __init__(self, patterns: Iterable[str]) -> None:
        joined = "|".join(f"(?:{translate(pattern.lower())})" for pattern in patterns)
        self._names = re.compile(joined) if joined else None
        #: names that were asked about: a program has few of them, at thousands of stops
        self._known: dict[str, bool] = {}

    def hides(self, name: str) -> bool:
        """Whether a variable, field or key of that name is not to be kept."""
        if self._names is None:
            return False
        known = self._known.get(name)
        if known is None:
            if len(self._known) > _KNOWN:
                self._known.clear()
            known = bool(self._names.match(name.strip("'\"[].").lower()))
            self._known[name] = known
        return known

    def cleared(self, text: str) -> str:
        """Return a value's text without what it shows under such names."""
        if self._names is None or ("=" not in text and ":" not in text):
            return text
        return _PAIR.sub(self._clear, text)

    def _clear(self, found: re.Match[str]) -> str:
        if not self.hides(found["name"]):
            return found[0]
        return f"{found['quote']}{found['name']}{found['quote']}{found['sign']}{self.WORD}"
