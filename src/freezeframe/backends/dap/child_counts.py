"""Number of variables of each reference, as the adapter sent it with the reference."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

#: Number of references kept; older ones belong to past stops.
_KEPT = 20_000


class Sizes:
    """The sizes of the references received last."""

    def __init__(self) -> None:
        self._sizes: OrderedDict[int, tuple[int, int]] = OrderedDict()

    def note(self, body: Mapping[str, Any]) -> None:
        """Record the references of an answer: a value, or a list of scopes or variables."""
        self._note(body)
        for key in ("variables", "scopes"):
            for each in body.get(key) or ():
                self._note(each)

    def get(self, ref: int) -> tuple[int, int]:
        """Return the numbers of named and indexed variables; 0 where unknown."""
        return self._sizes.get(ref, (0, 0))

    def _note(self, body: Mapping[str, Any]) -> None:
        ref = body.get("variablesReference")
        if not ref:
            return
        named, indexed = body.get("namedVariables"), body.get("indexedVariables")
        self._sizes.pop(ref, None)  # adapters reuse references after a resume
        if named or indexed:
            self._sizes[ref] = (max(0, named or 0), max(0, indexed or 0))
            if len(self._sizes) > _KEPT:
                self._sizes.popitem(last=False)
