"""The environment in which Python programs wait at lines that their threads share."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from .traced_run import injected_environment


def shaken_environment(
    env: Mapping[str, str], directory: str, roots: Sequence[str], seed: int, switch_s: float
) -> dict[str, str]:
    """Return an environment that puts delays into every Python program started with it.

    *directory* is kept until they have ended; *switch_s* is how long a thread runs at a time.
    """
    given: dict[str, object] = {
        "delays": delays_of(seed, switch_s),
        "roots": sorted({os.path.realpath(each) for each in roots}),
    }
    return injected_environment(env, given, os.path.join(directory, f"delays-{seed}"))


def delays_of(seed: int, switch_s: float) -> dict[str, object]:
    """Return the settings of the delays; *switch_s* is how long a thread runs at a time."""
    return {"seed": seed, "switch_s": switch_s}
