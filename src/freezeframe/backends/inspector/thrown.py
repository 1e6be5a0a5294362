"""Exceptions that V8 or the runtime stops for: which of them count, and what is told of them."""

from __future__ import annotations

from typing import Any

from freezeframe.backends import backend as events
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason

from . import assertions, exceptions, foresight
from .exceptions import RAISED, UNCAUGHT
from .frames import Line, Stack
from .isolate import Isolate
from .protocol import ERROR
from .values import primitive


class Thrown:
    """The exceptions of one program."""

    def __init__(self) -> None:
        #: what is stopped at, with the types that it is narrowed to
        self.filters: dict[str, ExceptionFilter] = {}
        #: of isolates that stand: what they stand for
        self.infos: dict[Isolate, ExceptionInfo] = {}
        #: of isolates that run tests: the words of what failed the last one
        self._failed: dict[Isolate, str] = {}

    async def met(
        self, isolate: Isolate, params: dict[str, Any], reasons: set[str]
    ) -> events.Stopped | None:
        """Return the stop for an exception that is being thrown; None when nobody wants it."""
        data = params.get("data") or {}
        if not isolate.prepared:
            return None  # a file that is no program: the runtime says so itself
        uncaught = bool(data.get("uncaught"))
        if not uncaught and isolate.patience:
            uncaught = await self._foreseen(isolate)
        failing = isolate.testing and await self._fails_a_test(isolate, data)
        if isolate.testing and (uncaught or failing) and await self._is_known(isolate, data):
            return None  # the runner throws again what failed the test, or rejects with it
        uncaught = uncaught or failing
        mode = UNCAUGHT if uncaught and UNCAUGHT in self.filters else RAISED
        if mode not in self.filters or not await self._is_of_type(isolate, data, mode):
            return None
        if not uncaught and self._is_library_s(isolate):
            return None
        if not await isolate.tell(data) and self._is_runtime_s(isolate):
            return None
        # A rejection may still be handled, by somebody who has not had his turn.
        shown = "not yet handled" if "promiseRejection" in reasons else UNCAUGHT
        shown = "test-failing" if failing else shown
        self.infos[isolate], _ = await self._account(isolate, data, shown if uncaught else "always")
        return events.Stopped(StopReason.EXCEPTION, isolate.id)

    async def unforeseen(self, isolate: Isolate) -> events.Stopped | None:
        """Return the stop for what nobody caught although V8 took it for caught (in a module).

        The stack has unwound: what it was is told by the error alone.
        """
        assert isolate.stack is not None
        answer = await isolate.ask(
            "Debugger.evaluateOnCallFrame",
            callFrameId=isolate.stack.calls[0]["callFrameId"],
            expression="error",
            silent=True,
        )
        thrown = answer.get("result") or {}
        if UNCAUGHT not in self.filters or not await self._is_of_type(isolate, thrown, UNCAUGHT):
            return None
        info, lines = await self._account(isolate, thrown, UNCAUGHT)
        if info.type == "SyntaxError" and all(line.library for line in lines):
            return None  # modules that do not fit together: only the runtime says where
        self.infos[isolate] = info
        isolate.stack = Stack([], ids=isolate.numbers(max(1, len(lines))), told=lines)
        return events.Stopped(StopReason.EXCEPTION, isolate.id)

    @staticmethod
    def _is_runtime_s(isolate: Isolate) -> bool:
        """Nothing of the user's is on the stack."""
        calls = isolate.stack.calls if isolate.stack is not None else []
        scripts = [isolate.scripts.get(str(call["location"]["scriptId"])) for call in calls]
        return all(script is None or script.internal for script in scripts)

    @staticmethod
    def _is_library_s(isolate: Isolate) -> bool:
        """Libraries throw it and catch it by themselves: a loader in its own thread."""
        calls = isolate.stack.calls if isolate.stack is not None else []
        scripts = [isolate.scripts.get(str(call["location"]["scriptId"])) for call in calls]
        return all(script is None or script.library for script in scripts)

    @staticmethod
    def _is_runner_s(isolate: Isolate) -> bool:
        """A test runner throws it, or rejects with it."""
        calls = isolate.stack.calls if isolate.stack is not None else []
        script = isolate.scripts.get(str(calls[0]["location"]["scriptId"])) if calls else None
        return script is not None and assertions.calls_tests(script.url)

    @staticmethod
    async def _foreseen(isolate: Isolate) -> bool:
        """Whether an exception that V8 takes for caught will end the program."""
        assert isolate.stack is not None
        isolate.patience -= 1
        if not isolate.patience:
            await isolate.foresee(0)
        return await foresight.escapes(isolate.stack, isolate.scripts, worker=bool(isolate.path))

    @staticmethod
    async def _fails_a_test(isolate: Isolate, thrown: dict[str, Any]) -> bool:
        """Whether the test runner catches it, and nobody else."""
        if not isolate.testing or isolate.stack is None or "objectId" not in thrown:
            return False
        kinds = await isolate.values.call([str], "this.kinds(a)", thrown["objectId"]) or []
        if assertions.is_assertion(kinds):
            return await assertions.fails_a_test(isolate.stack, isolate.scripts)
        return await assertions.errs_in_a_test(isolate.stack, isolate.scripts)

    async def _is_known(self, isolate: Isolate, thrown: dict[str, Any]) -> bool:
        """Whether the program has stopped before for what a test has thrown."""
        if "objectId" not in thrown:
            return False
        told = str(thrown.get("description"))
        # In another context it is another object to V8: its stack tells that it is the same.
        is_same = self._failed.get(isolate) == told and self._is_runner_s(isolate)
        self._failed[isolate] = told
        return is_same or await isolate.values.call(bool, "!this.isNew(a)", thrown["objectId"])

    async def _is_of_type(self, isolate: Isolate, thrown: dict[str, Any], mode: str) -> bool:
        wanted = self.filters[mode].condition
        if wanted is None:
            return True
        kinds = [str(thrown.get("type"))]
        if "objectId" in thrown:
            kinds = await isolate.values.call([str], "this.kinds(a)", thrown["objectId"]) or kinds
        return any(each.strip() in kinds for each in wanted.split(","))

    @staticmethod
    async def _account(
        isolate: Isolate, thrown: dict[str, Any], mode: str
    ) -> tuple[ExceptionInfo, list[Line]]:
        """Return what is told of an exception, and the lines of its stack."""
        told = None
        if "objectId" in thrown:
            told = await isolate.values.call(ERROR, "this.error(a)", thrown["objectId"])
        if told is None:
            words = str(thrown.get("description")) if "objectId" in thrown else primitive(thrown)
            return ExceptionInfo(str(thrown.get("type")), words, mode=mode), []
        calls = isolate.stack.calls if isolate.stack is not None else []
        lines = await exceptions.read_stack(str(told[2]), isolate.scripts, calls)
        return exceptions.info(told, lines, mode, exceptions.LineText()), lines
