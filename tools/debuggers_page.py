"""Write docs/DEBUGGERS.md, debugger × promise, from what the contract's last run saw.

    python tools/debuggers_page.py           write it
    python tools/debuggers_page.py --check   compare it; exits with 1 where it is stale

The tests leave their results in .cache/promises.json (tests/harness/contract_results.py). A
debugger that did not run keeps the column that it has.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "DEBUGGERS.md"
RESULTS = ROOT / ".cache" / "promises.json"

WORKS, REFUSED, BROKEN, UNKNOWN = "✓", "–", "✗", "?"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Promise:
    """Something a user counts on: the tests that prove it, and the text of its refusal."""

    title: str
    tests: tuple[str, ...]
    #: what a refused command begins with, where a debugger may lack it
    refusal: str | None = None


def _contract(*names: str) -> tuple[str, ...]:
    return tuple(f"test_contract.py::test_{name}" for name in names)


def _life(*names: str) -> tuple[str, ...]:
    return tuple(f"test_life.py::test_{name}" for name in names)


def _machine(*names: str) -> tuple[str, ...]:
    return tuple(f"test_machine.py::test_{name}" for name in names)


PROMISES = (
    Promise(
        "start, and the whole picture of the first stop",
        _contract("a_program_is_followed_from_its_first_stop_to_its_end"),
    ),
    Promise(
        "breakpoints, before the start and later",
        _contract(
            "breakpoints_of_before_the_start_are_bound_by_it_and_by_a_restart",
            "the_stack_is_shown_and_each_frame_looked_into",
        ),
    ),
    Promise("conditions", _contract("conditions_and_hit_counts_stop_at_the_passes_they_name")),
    Promise("hit counts", _contract("conditions_and_hit_counts_stop_at_the_passes_they_name")),
    Promise("logpoints", _contract("a_logpoint_prints_and_does_not_stop")),
    Promise(
        "breakpoints on functions",
        _contract("a_function_can_be_broken_at_and_a_temporary_breakpoint_stops_once"),
    ),
    Promise(
        "breakpoints on addresses",
        _machine("registers_instructions_addresses_and_memory_agree_with_the_source"),
        refusal="break *",
    ),
    Promise("step over", _contract("next_steps_over_a_call")),
    Promise("step in", _contract("step_goes_into_a_call_and_finish_comes_back_with_its_value")),
    Promise(
        "step out",
        _contract("step_goes_into_a_call_and_finish_comes_back_with_its_value"),
        refusal="finish",
    ),
    Promise(
        "what a function returned",
        _contract("step_goes_into_a_call_and_finish_comes_back_with_its_value"),
        refusal="returned",
    ),
    Promise("run to a location", _contract("until_runs_to_a_place_where_a_variable_can_be_set")),
    Promise(
        "a function made to return at once",
        _contract("a_function_is_run_again_and_made_to_return_at_once"),
        refusal="return",
    ),
    Promise(
        "a function run again from its beginning",
        _contract("a_function_is_run_again_and_made_to_return_at_once"),
        refusal="restart-frame",
    ),
    Promise("jump", _contract("jump_goes_on_elsewhere_or_is_refused"), refusal="jump"),
    Promise("stop at the first line", _contract("stop_on_entry_stops_before_anything_is_printed")),
    Promise(
        "the stack and its frames",
        _contract("the_stack_is_shown_and_each_frame_looked_into"),
        refusal="backtrace",
    ),
    Promise("locals and arguments", _contract("arguments_and_locals_are_told_apart")),
    Promise(
        "what changed since the last stop",
        _contract("a_program_is_followed_from_its_first_stop_to_its_end"),
    ),
    Promise("evaluate", _contract("the_stack_is_shown_and_each_frame_looked_into")),
    Promise(
        "assign", _contract("until_runs_to_a_place_where_a_variable_can_be_set"), refusal="set"
    ),
    Promise("stop where it fails", _contract("a_program_that_fails_stops_at_the_failure")),
    Promise(
        "threads",
        _contract("a_stop_in_a_thread_names_it_and_the_others_are_listed"),
        refusal="thread",
    ),
    Promise("input", _contract("input_reaches_the_program_and_its_end_too"), refusal="input"),
    Promise(
        "output and exit code",
        _contract(
            "a_program_without_a_stop_runs_to_its_end_in_one_call",
            "a_program_is_followed_from_its_first_stop_to_its_end",
        ),
    ),
    Promise(
        "pause",
        _life("an_interrupted_client_changes_nothing_and_pause_frees_a_waiting_one"),
        refusal="pause",
    ),
    Promise(
        "restart", _contract("breakpoints_of_before_the_start_are_bound_by_it_and_by_a_restart")
    ),
    Promise(
        "attach to a running program",
        _life("a_living_program_is_joined_and_left_running"),
        "attach",
    ),
    Promise(
        "end it, and nothing stays",
        _life("a_waiting_command_holds_nobody_up_and_stop_ends_the_program"),
    ),
    Promise(
        "watchpoints",
        _machine("a_variable_that_is_watched_stops_where_it_is_written"),
        refusal="watch",
    ),
    Promise(
        "memory",
        _machine("registers_instructions_addresses_and_memory_agree_with_the_source"),
        refusal="memory read",
    ),
    Promise(
        "registers",
        _machine("registers_instructions_addresses_and_memory_agree_with_the_source"),
        refusal="registers",
    ),
    Promise(
        "instructions",
        _machine("registers_instructions_addresses_and_memory_agree_with_the_source"),
        refusal="disassemble",
    ),
)


def mark(promise: Promise, row: Row) -> str | None:
    """Return how a debugger keeps a promise; None where not all of it was tried."""
    outcomes = [row["tests"].get(test) for test in promise.tests]
    if "failed" in outcomes:
        return BROKEN
    if any(outcome != "passed" for outcome in outcomes):
        return None
    # The test that passed was then one of a clear refusal.
    return REFUSED if _lacks(promise, row) else WORKS


def columns(rows: Mapping[str, Row]) -> dict[str, dict[str, str]]:
    """Return what each debugger did, promise by promise, where all of them were tried.

    Rows of one debugger, in several languages or versions of one, are one column: a mark that is
    not the same for all names those that differ.
    """
    grouped: dict[str, list[Row]] = {}
    for row in rows.values():
        grouped.setdefault(row["name"], []).append(row)
    found: dict[str, dict[str, str]] = {}
    for name, group in sorted(grouped.items()):
        marks = {promise.title: _together(promise, group) for promise in PROMISES}
        if set(marks.values()) != {UNKNOWN}:
            languages = sorted({row["language"] for row in group})
            found[f"{name} ({', '.join(languages)})"] = marks
    return found


def _together(promise: Promise, group: list[Row]) -> str:
    """Return the mark of all rows of a debugger.

    Its languages and versions take turns at the tests of a promise, so what they saw counts
    together. Where one is to refuse what another can, both are named.
    """
    marks: dict[str, list[str]] = {}
    for refusing in (True, False):
        rows = [row for row in group if _lacks(promise, row) is refusing]
        sign = mark(promise, _joined(rows)) if rows else None
        if sign is not None:
            marks.setdefault(sign, []).extend(sorted({row["language"] for row in rows}))
    if len(marks) < 2:
        return next(iter(marks), UNKNOWN)
    return ", ".join(f"{sign} {'/'.join(marks[sign])}" for sign in sorted(marks))


def _joined(rows: list[Row]) -> Row:
    tests: dict[str, str] = {}
    for row in rows:
        for test, outcome in row["tests"].items():
            if outcome == "failed" or tests.get(test) not in ("failed", "passed"):
                tests[test] = outcome
    return {"refuses": rows[0]["refuses"], "tests": tests}


def _lacks(promise: Promise, row: Row) -> bool:
    return promise.refusal is not None and any(
        command.startswith(promise.refusal) for command in row["refuses"]
    )


def page(found: Mapping[str, Mapping[str, str]]) -> str:
    """Return the whole page."""
    names = sorted(found)
    lines = [
        "# Debuggers and promises",
        "",
        "What each debugger was seen to do when the tests ran against it: "
        f"{WORKS} it works, {REFUSED} it cannot: refused with the nearest thing that works, or "
        f"not claimed; {BROKEN} it does not work; {UNKNOWN} not tried. One test "
        "or more proves every mark; debuggers that are not here are not held to all of it, "
        "and `dbg adapters` calls those untested that were never run. The languages of a debugger "
        "take turns at the tests of a promise; so do codelldb, gdb-dap and lldb-cli, whose marks "
        "stay until a run tries them again.",
        "",
        "This page is made of the last runs: `python tools/debuggers_page.py` after the tests.",
        "",
        f"| | {' | '.join(names)} |",
        f"| --- |{' :-: |' * len(names)}",
    ]
    for promise in PROMISES:
        cells = " | ".join(found[name].get(promise.title, UNKNOWN) for name in names)
        lines.append(f"| {promise.title} | {cells} |")
    return "\n".join(lines) + "\n"


def parse(text: str) -> dict[str, dict[str, str]]:
    """Return the columns of a page that was written earlier."""
    rows = [
        [cell.strip() for cell in line.strip("|\n").split("|")]
        for line in text.splitlines()
        if line.startswith("|") and not re.match(r"\|[\s:|-]+\|$", line)
    ]
    if not rows:
        return {}
    names = rows[0][1:]
    return {name: {row[0]: row[column] for row in rows[1:]} for column, name in enumerate(names, 1)}


def renewed(
    old: Mapping[str, Mapping[str, str]], new: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the columns after a run: those that ran are new, as far as they were tried.

    A debugger that was run in fewer languages than before keeps its column.
    """

    def split(title: str) -> tuple[str, set[str]]:
        name, _, languages = title.removesuffix(")").partition(" (")
        return name, set(languages.split(", "))

    kept = {title: dict(marks) for title, marks in old.items()}
    for title, marks in new.items():
        name, languages = split(title)
        for other in [each for each in kept if split(each)[0] == name and each != title]:
            if split(other)[1] > languages:
                break
            del kept[other]
        else:
            before = kept.get(title, {})
            kept[title] = {
                promise: before.get(promise, sign) if sign == UNKNOWN else sign
                for promise, sign in marks.items()
            }
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, do not write")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    try:
        rows = json.loads(options.results.read_text())
    except (OSError, ValueError):
        print(f"{options.results} holds no results.\n  next: sh check.sh", file=sys.stderr)
        return 1
    there = options.page.read_text() if options.page.exists() else ""
    made = page(renewed(parse(there), columns(rows)))
    if made == there:
        return 0
    if options.check:
        words = "docs/DEBUGGERS.md does not say what this run saw."
        print(f"{words}\n  next: python tools/debuggers_page.py", file=sys.stderr)
        return 1
    options.page.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
