"""Run a command many times, several at once, without a debugger."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from freezeframe import paths
from freezeframe.backends.python.tracing.shaken_run import shaken_environment
from freezeframe.backends.python.tracing.traced_run import run_to_end
from freezeframe.backends.transport.program import spawn_program
from freezeframe.errors import UsageError
from freezeframe.model.fast_dataclass import dataclass

from ._failure_texts import failure_of
from ._hunt_state import HuntState

#: seconds between two reports of progress
_REPORT_S = 1.0
#: variables that frameworks and programs read their seeds from
_SEEDS = ("SEED", "RANDOM_SEED", "TEST_SEED", "PYTEST_SEED", "GLOBAL_SEED", "RSPEC_SEED")


@dataclass(frozen=True, slots=True)
class HuntRequest:
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    #: runs altogether; None: as many as the time allows
    runs: int | None
    until_failure: bool
    jobs: int
    #: seconds for all runs, and for one
    total_s: float | None
    run_s: float
    shake: bool


@dataclass(frozen=True, slots=True)
class Variation:
    """What is different in one of the runs."""

    env: dict[str, str]
    seed: int
    #: processors to run on, and how much it yields to others; None: as it is
    cpus: frozenset[int] | None = None
    nice: int = 0

    @property
    def switch_s(self) -> float:
        """How long a thread of Python runs at a time."""
        return random.Random(self.seed).choice((0.005, 0.001, 0.00005, 0.000005))


def variation_of(request: HuntRequest, base: int, number: int) -> Variation:
    """Return how run *number* differs from the others: the same each time it is asked for."""
    chance = random.Random(base * 1_000_003 + number)
    seed = chance.randrange(1, 1 << 31)
    # Python chooses the order of its sets by chance: a chosen one can be had again.
    made = {"PYTHONHASHSEED": str(chance.randrange(1, 1 << 32 - 1))}
    if os.path.basename(request.argv[0]) == "go" and "-count" not in " ".join(request.argv):
        # Results of tests that passed would be taken from go's cache.
        made["GOFLAGS"] = f"{request.env.get('GOFLAGS', '')} -count=1".strip()
    if not request.shake:
        return Variation(_without_set(made, request.env, ("GOFLAGS",)), seed)
    for name in _SEEDS:
        made[name] = str(seed)
    made["MALLOC_PERTURB_"] = str(chance.randrange(1, 255))
    made["UV_THREADPOOL_SIZE"] = str(chance.randrange(1, 5))
    available = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    made["GOMAXPROCS"] = str(chance.randrange(1, max(2, 2 * len(available)) + 1))
    some = chance.sample(available, chance.randrange(1, len(available) + 1)) if available else []
    cpus = frozenset(some) if 0 < len(some) < len(available) else None
    return Variation(
        _without_set(made, request.env, ("GOFLAGS",)), seed, cpus, chance.choice((0, 0, 5, 10))
    )


def _without_set(
    made: Mapping[str, str], env: Mapping[str, str], kept: Sequence[str]
) -> dict[str, str]:
    """Return what the caller has not chosen."""
    return {name: value for name, value in made.items() if name in kept or name not in env}


@contextlib.asynccontextmanager
async def environments(
    request: HuntRequest,
) -> AsyncIterator[Callable[[Variation], dict[str, str]]]:
    """Yield what makes the environment of a run; files that it needs are kept meanwhile."""
    directory = paths.scratch()

    def of(variation: Variation) -> dict[str, str]:
        env = {**request.env, **variation.env}
        if not request.shake:
            return env
        return shaken_environment(
            env, directory, (request.cwd,), variation.seed, variation.switch_s
        )

    try:
        yield of
    finally:
        await asyncio.to_thread(shutil.rmtree, directory, True)


class HuntRuns:
    """Runs that go on until enough is known."""

    def __init__(
        self,
        request: HuntRequest,
        state: HuntState,
        save: Callable[[], None],
        report: Callable[[], Awaitable[None]],
    ) -> None:
        self._request, self._state = request, state
        self._save, self._report = save, report
        self._next = state.runs
        self._ends_at = None if request.total_s is None else time.monotonic() + request.total_s
        self._reported = time.monotonic()

    async def run(self) -> None:
        """Run the command until it was run often enough, failed, or the time is up."""
        argv = (_program(self._request), *self._request.argv[1:])
        try:
            async with environments(self._request) as environment, asyncio.TaskGroup() as group:
                for _ in range(self._request.jobs):
                    group.create_task(self._runs(argv, environment))
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        finally:
            self._save()

    @property
    def is_enough(self) -> bool:
        request, state = self._request, self._state
        if request.until_failure and state.failed:
            return True
        if request.runs is not None and self._next >= request.runs:
            return True
        return self._ends_at is not None and time.monotonic() >= self._ends_at

    async def _runs(
        self, argv: tuple[str, ...], environment: Callable[[Variation], dict[str, str]]
    ) -> None:
        request, state = self._request, self._state
        while not self.is_enough:
            self._next += 1
            number = self._next
            variation = variation_of(request, state.seed, number)
            began = time.monotonic()
            limit_s = request.run_s
            if self._ends_at is not None:
                limit_s = min(limit_s, max(1.0, self._ends_at - began))
            status, output = await _run_once(argv, request, variation, environment, limit_s)
            took_s = time.monotonic() - began
            if status is None and limit_s < request.run_s:
                return  # the time for all runs ended: this one says nothing
            failure = None if status == 0 else failure_of(output, status, request.cwd, limit_s)
            state.add(number, took_s, failure)
            if time.monotonic() - self._reported > _REPORT_S or failure is not None:
                self._reported = time.monotonic()
                self._save()
                await self._report()


async def _run_once(
    argv: tuple[str, ...],
    request: HuntRequest,
    variation: Variation,
    environment: Callable[[Variation], dict[str, str]],
    limit_s: float,
) -> tuple[int | None, str]:
    program = spawn_program(argv, cwd=request.cwd, env=environment(variation), stdin=os.devnull)
    with contextlib.suppress(OSError):
        if variation.cpus is not None:
            os.sched_setaffinity(program.process.pid, variation.cpus)
        if variation.nice:
            os.setpriority(os.PRIO_PROCESS, program.process.pid, variation.nice)
    return await run_to_end(program, limit_s)


def _program(request: HuntRequest) -> str:
    """Return the path of the command, as the caller's shell would find it."""
    word = request.argv[0]
    if os.sep in word:
        return os.path.join(request.cwd, word)
    found = shutil.which(word, path=request.env.get("PATH"))
    if found is None:
        raise UsageError(f"there is no command {word!r}.", next="dbg hunt -- COMMAND")
    return found
