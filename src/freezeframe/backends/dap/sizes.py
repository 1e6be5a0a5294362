"""How many variables are behind each reference, as the adapter told when it gave the reference."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

#: references that are remembered; older ones are of stops long gone
_KEPT = 20_000


class Sizes:
    """Remembers the sizes of what was told last."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[int, tuple[int, int]] = OrderedDict()

    def note(self, body: Mapping[str, Any]) -> None:
        """Take in an answer: a value, or the list of scopes or variables that it holds."""
        self._note(body)
        for key in ("variables", "scopes"):
            for each in body.get(key) or ():
                self._note(each)

    def get(self, ref: int) -> tuple[int, int]:
        """Return how many named and how many indexed variables there are; 0 where it is unknown."""
        return self._sizes.get(ref, (0, 0))

    def _note(self, body: Mapping[str, Any]) -> None:
        ref = body.get("variablesReference")
        if not ref:
            return
        named, indexed = body.get("namedVariables"), body.get("indexedVariables")
        self._sizes.pop(ref, None)  # after a resume it may be another value's
        if named or indexed:
            self._sizes[ref] = (max(0, named or 0), max(0, indexed or 0))
            if len(self._sizes) > _KEPT:
                self._sizes.popitem(last=False)
