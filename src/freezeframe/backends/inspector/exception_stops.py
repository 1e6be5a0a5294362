"""Exceptions at which V8 or the runtime stops: which of them are reported, and their
description."""

from __future__ import annotations

from typing import Any

from freezeframe.backends import backend as events
from freezeframe.model.stops import ExceptionFilter, ExceptionInfo, StopReason

from . import assertions, error_stacks, uncaught_prediction
from .error_stacks import RAISED, UNCAUGHT
from .frames import StackLine, V8Stack
from .isolate import Isolate
from .protocol import ERROR
from .variables import primitive


class ExceptionStops:
    """The exceptions of one program."""

    def __init__(self) -> None:
        #: the active filters, with the types they are limited to
        self.filters: dict[str, ExceptionFilter] = {}
        #: the exception of each stopped isolate
        self.infos: dict[Isolate, ExceptionInfo] = {}
        #: of isolates that run tests: the description of the last failure
        self._failed: dict[Isolate, str] = {}

    async def classify(
        self, isolate: Isolate, params: dict[str, Any], reasons: set[str]
    ) -> events.Stopped | None:
        """Return the stop for an exception that is being thrown; None if it is not reported."""
        data = params.get("data") or {}
        if not isolate.prepared:
            return None  # a file that is not a program: the runtime reports that itself
        uncaught = bool(data.get("uncaught"))
        if not uncaught and isolate.scan_limit:
            uncaught = await self._is_predicted_uncaught(isolate)
        failing = isolate.testing and await self._fails_a_test(isolate, data)
        if isolate.testing and (uncaught or failing) and await self._is_known(isolate, data):
            return None  # the runner throws again what failed the test, or rejects with it
        uncaught = uncaught or failing
        mode = UNCAUGHT if uncaught and UNCAUGHT in self.filters else RAISED
        if mode not in self.filters or not await self._is_of_type(isolate, data, mode):
            return None
        if not uncaught and self._is_in_libraries(isolate):
            return None
        if not await isolate.note_reported(data) and self._is_in_runtime(isolate):
            return None
        # A rejection may still be handled by code that has not run yet.
        shown = "not yet handled" if "promiseRejection" in reasons else UNCAUGHT
        shown = "test-failing" if failing else shown
        self.infos[isolate], _ = await self._describe(
            isolate, data, shown if uncaught else "always"
        )
        return events.Stopped(StopReason.EXCEPTION, isolate.id)

    async def unwound(self, isolate: Isolate) -> events.Stopped | None:
        """Return the stop for an uncaught exception that V8 predicted to be caught (in a module).

        The stack has unwound: only the error's own stack is left.
        """
        assert isolate.stack is not None
        answer = await isolate.request(
            "Debugger.evaluateOnCallFrame",
            callFrameId=isolate.stack.calls[0]["callFrameId"],
            expression="error",
            silent=True,
        )
        thrown = answer.get("result") or {}
        if UNCAUGHT not in self.filters or not await self._is_of_type(isolate, thrown, UNCAUGHT):
            return None
        info, lines = await self._describe(isolate, thrown, UNCAUGHT)
        if info.type == "SyntaxError" and all(line.library for line in lines):
            return None  # modules that do not fit together: only the runtime reports where
        self.infos[isolate] = info
        isolate.stack = V8Stack([], ids=isolate.numbers(max(1, len(lines))), unwound=lines)
        return events.Stopped(StopReason.EXCEPTION, isolate.id)

    @staticmethod
    def _is_in_runtime(isolate: Isolate) -> bool:
        """Return whether no frame of the stack is the user's."""
        calls = isolate.stack.calls if isolate.stack is not None else []
        scripts = [isolate.scripts.get(str(call["location"]["scriptId"])) for call in calls]
        return all(script is None or script.internal for script in scripts)

    @staticmethod
    def _is_in_libraries(isolate: Isolate) -> bool:
        """Return whether libraries throw it and catch it themselves: a loader in its own thread."""
        calls = isolate.stack.calls if isolate.stack is not None else []
        scripts = [isolate.scripts.get(str(call["location"]["scriptId"])) for call in calls]
        return all(script is None or script.library for script in scripts)

    @staticmethod
    def _is_in_test_runner(isolate: Isolate) -> bool:
        """Return whether a test runner throws it, or rejects with it."""
        calls = isolate.stack.calls if isolate.stack is not None else []
        script = isolate.scripts.get(str(calls[0]["location"]["scriptId"])) if calls else None
        return script is not None and assertions.calls_tests(script.url)

    @staticmethod
    async def _is_predicted_uncaught(isolate: Isolate) -> bool:
        """Return whether an exception that V8 predicts to be caught will end the program."""
        assert isolate.stack is not None
        isolate.scan_limit -= 1
        if not isolate.scan_limit:
            await isolate.set_exception_scan(0)
        return await uncaught_prediction.escapes(
            isolate.stack, isolate.scripts, worker=bool(isolate.path)
        )

    @staticmethod
    async def _fails_a_test(isolate: Isolate, thrown: dict[str, Any]) -> bool:
        """Return whether only the test runner catches it."""
        if not isolate.testing or isolate.stack is None or "objectId" not in thrown:
            return False
        kinds = await isolate.values.call([str], "this.kinds(a)", thrown["objectId"]) or []
        if assertions.is_assertion(kinds):
            return await assertions.fails_a_test(isolate.stack, isolate.scripts)
        return await assertions.errs_in_a_test(isolate.stack, isolate.scripts)

    async def _is_known(self, isolate: Isolate, thrown: dict[str, Any]) -> bool:
        """Return whether the program has stopped before for what a test has thrown."""
        if "objectId" not in thrown:
            return False
        error = str(thrown.get("description"))
        # In another context it is another object to V8: its stack shows that it is the same.
        is_same = self._failed.get(isolate) == error and self._is_in_test_runner(isolate)
        self._failed[isolate] = error
        return is_same or await isolate.values.call(bool, "!this.isNew(a)", thrown["objectId"])

    async def _is_of_type(self, isolate: Isolate, thrown: dict[str, Any], mode: str) -> bool:
        types = self.filters[mode].condition
        if types is None:
            return True
        kinds = [str(thrown.get("type"))]
        if "objectId" in thrown:
            kinds = await isolate.values.call([str], "this.kinds(a)", thrown["objectId"]) or kinds
        return any(each.strip() in kinds for each in types.split(","))

    @staticmethod
    async def _describe(
        isolate: Isolate, thrown: dict[str, Any], mode: str
    ) -> tuple[ExceptionInfo, list[StackLine]]:
        """Return the description of an exception, and the lines of its stack."""
        error = None
        if "objectId" in thrown:
            error = await isolate.values.call(ERROR, "this.error(a)", thrown["objectId"])
        if error is None:
            message = str(thrown.get("description")) if "objectId" in thrown else primitive(thrown)
            return ExceptionInfo(str(thrown.get("type")), message, mode=mode), []
        calls = isolate.stack.calls if isolate.stack is not None else []
        lines = await error_stacks.read_stack(str(error[2]), isolate.scripts, calls)
        return error_stacks.info(error, lines, mode, error_stacks.LineText()), lines
