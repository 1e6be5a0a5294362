"""Measures Freezeframe and says whether it keeps within its limits: `python bench/run.py`.

All probes run in one run, round after round, each time in another order; a figure is the median of
what the rounds give. Exit status 1 when a limit is not kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import signal
import statistics
import sys
from dataclasses import replace
from pathlib import Path

import environment as labs
import history
import hunting
import mcp_server
import native
import node
import tracing
import web_page
from measures import FLOOR, MEASURES, Figure, Measure, Probe

ROUNDS = 30
_ANYWHERE = (
    *MEASURES,
    *history.RECORDED,
    *mcp_server.SERVED,
    *node.INSPECTED,
    *tracing.TRACED,
    *hunting.HUNTED,
    *web_page.PAGES,
)


def main() -> int:
    options = _options()
    # Whoever ends it means all of it: the daemons and the environment go too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with labs.in_place() if options.in_place else labs.fresh() as lab:
        measures = [make(lab) for make in _here() if make.name in (options.only or _names())]
        samples = _sample(lab, measures, options.rounds)
    medians = {name: statistics.median(taken) for name, taken in samples.items()}
    figures = [figure for measure in measures for figure in _figures(measure, samples)]
    _show(options.rounds, samples, medians, figures)
    if options.json:
        _write(options.json, options.rounds, medians, figures)
    return 0 if all(figure.passed for figure in figures) else 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of every probe")
    parser.add_argument("--only", action="append", choices=_names(), help="repeatable")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--in-place",
        action="store_true",
        help="this interpreter and these sources, nothing installed: to try the bench itself",
    )
    return parser.parse_args()


def _here() -> tuple[type[Measure], ...]:
    """Return what can be measured on this machine."""
    why = native.missing()
    if why is None:
        return (*_ANYWHERE, *native.NATIVE)
    print(f"native code is not measured: {why}", file=sys.stderr)
    return _ANYWHERE


def _names() -> list[str]:
    return [measure.name for measure in (*_ANYWHERE, *native.NATIVE)]


def _sample(lab: labs.Lab, measures: list[Measure], rounds: int) -> dict[str, list[float]]:
    """Return what every probe took in every round."""
    opened: list[Measure] = []
    try:
        probes: dict[str, Probe] = {FLOOR: lab.floor_s}
        for measure in measures:
            probes.update(measure.open())
            opened.append(measure)
        # One round that does not count: bytecode is written, files are read for the first time.
        for probe in probes.values():
            probe()
        samples: dict[str, list[float]] = {name: [] for name in probes}
        order = random.Random(1)
        for number in range(rounds):
            print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
            # Each time another order: who runs after a probe that slept gets the processor first.
            for name in order.sample(list(probes), len(probes)):
                samples[name].append(probes[name]())
        print("\r\033[K", end="", file=sys.stderr)
        return samples
    finally:
        for measure in opened:
            measure.close()


def _figures(measure: Measure, samples: dict[str, list[float]]) -> list[Figure]:
    """Return the median of each figure over the rounds.

    Not the ratio of the medians: what a busy machine does to a round it does to both sides of it.
    """
    rounds = [
        measure.figures(dict(zip(samples, taken, strict=True)))
        for taken in zip(*samples.values(), strict=True)
    ]
    return [
        replace(same[0], value=statistics.median(figure.value for figure in same))
        for same in zip(*rounds, strict=True)
    ]


def _show(
    rounds: int,
    samples: dict[str, list[float]],
    medians: dict[str, float],
    figures: list[Figure],
) -> None:
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, {rounds} rounds, interleaved"
    )
    print(f"\n{'probe':<44}{'median':>14}{'quartiles':>20}")
    for name, taken in samples.items():
        low, _, high = statistics.quantiles(taken, n=4) if rounds > 1 else taken * 3
        # The flood's probes return a rate.
        unit, scale = ("MB/s", 1.0) if name.startswith("flood") else ("ms", 1e3)
        spread = f"{low * scale:.1f} – {high * scale:.1f}"
        print(f"{name:<44}{medians[name] * scale:>9.1f} {unit:<4}{spread:>20}")
    print(f"\n{'figure':<44}{'value':>14}{'limit':>20}")
    for figure in figures:
        value = f"{figure.value:.2f}" if figure.value < 10 else f"{figure.value:.0f}"
        sign = "≥" if figure.at_least else "≤"
        limit = "" if figure.limit is None else f"{sign} {figure.limit:g}"
        verdict = "" if figure.limit is None else "  pass" if figure.passed else "  FAIL"
        print(f"{figure.name:<44}{value:>9} {figure.unit:<4}{limit:>20}{verdict}")


def _write(path: Path, rounds: int, medians: dict[str, float], figures: list[Figure]) -> None:
    data = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "rounds": rounds,
        "medians": medians,
        "figures": [{**vars(figure), "passed": figure.passed} for figure in figures],
    }
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
