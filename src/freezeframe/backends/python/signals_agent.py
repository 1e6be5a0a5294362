"""Hold the program's signal handlers back while it is stopped; runs inside the debuggee.

Python runs signal handlers in the main thread, also while that thread waits for the debugger's next
command. A handler that raises there (a time limit by SIGALRM) would end the wait, and the session
with it. Here such a signal is recorded; its handler is called when the program resumes. It becomes
the module `_freezeframe_signals`.
"""

from __future__ import annotations

import _thread
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_getsignal, _setsignal = signal.getsignal, signal.signal
#: between two looks at whether the program runs its own code
_INTERVAL_S = 0.002
#: signal → the program's handler, which is not set
_handlers: dict[int, Any] = {}
#: signals to send again
_arrived: set[int] = set()
_state: dict[str, Any] = {
    #: how many stops the main thread is in: an expression evaluated at one may stop as well
    "stops": 0,
    "is_in_debugger": lambda _frame: False,
    "call": lambda handler, number, frame: handler(number, frame),
    "is_sending": False,
}


def watch(
    is_in_debugger: Callable[[Any], bool], call: Callable[[Any, int, Any], None] | None = None
) -> None:
    """*is_in_debugger* tells whether code of the debugger runs in the main thread, in a frame.

    *call* calls a handler that was held back, with its signal and a frame.
    """
    _state["is_in_debugger"] = is_in_debugger
    if call is not None:
        _state["call"] = call


def hold(excluded: Iterable[int] = ()) -> bool:
    """Hold signals back from now on; return False, and do nothing, in another than the main thread.

    Signals in *excluded* are the debugger's own. `release` must follow where this returns True.
    """
    if threading.get_ident() != threading.main_thread().ident:
        return False
    _state["stops"] += 1
    if _state["stops"] == 1:
        for number in range(1, signal.NSIG):
            handler = _handler(number)
            # Python's own for SIGINT is how the debugger interrupts a value that is blocked in C.
            is_internal = handler is _arrive or handler is signal.default_int_handler
            if callable(handler) and not is_internal and number not in excluded:
                _handlers[number] = handler
                _setsignal(number, _arrive)
    return True


def block(numbers: tuple[int, ...]) -> None:
    """Keep signals from this thread; Windows delivers none to it anyway."""
    if numbers:
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)


def handle(numbers: tuple[int, ...], handler: Any) -> None:
    """Set the handler of signals."""
    for number in numbers:
        signal.signal(number, handler)


def _handler(number: int) -> Any:
    try:
        return _getsignal(number)
    except ValueError:
        return None


def release(frame: Any = None) -> None:
    """Restore the program's handlers.

    Those whose signals have arrived are called at once, in *frame*, and what they raise is raised.
    Without a frame they are called soon, where the program runs its own code: a trace function that
    raises is removed.
    """
    _state["stops"] -= 1
    if _state["stops"]:
        return
    for number in [each for each in _handlers if each not in _arrived]:
        _restored(number)
    while _arrived and frame is not None:
        number = min(_arrived)
        _arrived.discard(number)
        _restored(number)(number, frame)
    if _arrived and not _state["is_sending"]:
        _state["is_sending"] = True
        thread: Any = threading.Thread(target=_send, daemon=True)
        thread.is_pydev_daemon_thread = thread.pydev_do_not_trace = True
        thread.start()


def _restored(number: int) -> Any:
    handler = _handlers.pop(number)
    if _handler(number) is _arrive:  # else the user has set another at the stop
        _setsignal(number, handler)
    return handler


def _arrive(number: int, frame: Any) -> None:
    """The handler of the signals that are held back."""
    if _state["stops"] or _state["is_in_debugger"](frame):
        _arrived.add(number)
    elif number in _handlers:
        _state["call"](_restored(number), number, frame)


def _send() -> None:
    """Send what has arrived to the main thread, until the program's handlers have been called."""
    main: Any = threading.main_thread().ident
    while _handlers and not _state["stops"]:
        time.sleep(_INTERVAL_S)
        for number in list(_arrived):
            if _state["stops"]:
                break
            _arrived.discard(number)
            if _handler(number) is _arrive:
                if hasattr(signal, "pthread_kill"):
                    signal.pthread_kill(main, number)
                else:
                    _thread.interrupt_main(signal.Signals(number))
            else:
                # The program has set another handler, for signals from then on.
                _handlers.pop(number, None)
    _state["is_sending"] = False
