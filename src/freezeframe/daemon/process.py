"""The daemon process, from its first line to its last."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from freezeframe import paths
from freezeframe.daemon import lifecycle, signals, supervisor

if TYPE_CHECKING:
    import asyncio

    from freezeframe.config import Config
    from freezeframe.daemon.door import Door
    from freezeframe.daemon.handler import Handler
    from freezeframe.daemon.house import DaemonHouse
    from freezeframe.daemon.server import Server

    #: makes the one handler of the process
    MakeHandler = Callable[[DaemonHouse, Config], Handler]


def run(words: list[str], default_handler: str) -> NoReturn:
    """Be the daemon, with the descriptors that *words* name, or in the foreground without them.

    A handler is named as `package.module:function` or `path/to/file.py:function`.
    """
    options = dict(zip(words[::2], words[1::2], strict=True))
    handler = options.get("--handler", default_handler)
    if sys.platform == "win32":
        _run_on_windows(handler)
    if "--socket-fd" in options:
        claim = lifecycle.Claim(int(options["--socket-fd"]), int(options["--lock-fd"]))
        ready_fd = int(options["--ready-fd"])
    else:
        paths.secure(os.path.dirname(paths.log_path()))
        claim = lifecycle.claim()
        ready_fd = os.open(os.devnull, os.O_WRONLY)
    for fd in (claim.socket_fd, claim.lock_fd, ready_fd):
        os.set_inheritable(fd, False)  # no debuggee may hold them
    watch = supervisor.fork(
        claim.lock_fd, paths.socket_path(), also_close=(claim.socket_fd, ready_fd)
    )
    # From here on this is the daemon; the supervisor never returns.

    def make_door() -> Door:
        import socket as sockets

        from freezeframe.daemon.door import UnixDoor

        return UnixDoor(sockets.socket(fileno=claim.socket_fd), paths.runtime_dir())

    def report(mark: bytes) -> None:
        with suppress(OSError):  # the client that started us may be gone; others are waiting
            os.write(ready_fd, mark)
        if mark == lifecycle.READY:
            os.close(ready_fd)

    _serve_and_exit(make_door, report, handler, watch)


def _run_on_windows(handler: str) -> NoReturn:
    from freezeframe.daemon import pipe_windows

    paths.secure(paths.state_dir())
    pipe_windows.end_children_with_us()
    sid = pipe_windows.current_sid()

    def make_door() -> Door:
        return pipe_windows.PipeDoor(pipe_windows.pipe_name(sid, os.environ), sid)

    def report(mark: bytes) -> None:
        if mark == lifecycle.READY:
            with suppress(OSError):  # the client that started us may be gone
                os.write(1, mark)
            os.dup2(2, 1)  # the client's pipe is released; what is printed goes to the log

    _serve_and_exit(make_door, report, handler, None)


def _serve_and_exit(
    make_door: Callable[[], Door],
    report: Callable[[bytes], None],
    handler: str,
    watch: supervisor.Watch | None,
) -> NoReturn:
    status = 1
    try:
        _serve(make_door, report, handler, watch)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()  # to the log: descriptor 2 is its file
    finally:
        # Not sys.exit: a thread that waits for a debugger must not keep the lock.
        sys.stderr.flush()
        os._exit(status)


def _serve(
    make_door: Callable[[], Door],
    report: Callable[[bytes], None],
    handler: str,
    watch: supervisor.Watch | None,
) -> None:
    """Serve until it is time to leave; *report* what the start has reached (see lifecycle)."""
    report(lifecycle.PROGRESS)
    import faulthandler
    import gc

    faulthandler.enable()
    # What is imported stays: looking through it for garbage again and again costs the start.
    gc.disable()
    # asyncio takes TLS along if it can be had; the daemon has no use for 6 ms and 5 MB of it.
    sys.modules["ssl"] = None  # type: ignore[assignment]
    import asyncio

    del sys.modules["ssl"]
    import logging
    from pathlib import Path

    from freezeframe import config as configs
    from freezeframe.daemon import log
    from freezeframe.daemon.house import DaemonHouse
    from freezeframe.daemon.server import Server
    from freezeframe.errors import FreezeframeError

    report(lifecycle.PROGRESS)
    log.configure(paths.log_path())
    logger = logging.getLogger(__name__)
    house = DaemonHouse(
        paths.runtime_dir(),
        log_path=paths.log_path(),
        config_path=paths.config_path(),
        watch=watch,
    )
    try:
        # Who happened to start the daemon does not choose for all who call it.
        config = configs.read(Path(paths.config_path()), os.environ)
        own = configs.override(config, os.environ).daemon
    except FreezeframeError as error:
        # A daemon with the defaults can say what is wrong; one that does not start cannot.
        config = configs.Config()
        own = config.daemon
        house.add_note(f"{error} The defaults are used.")
    paths.sweep()
    report(lifecycle.PROGRESS)
    make_handler = _load(handler)
    gc.freeze()
    gc.enable()
    report(lifecycle.PROGRESS)

    def serving() -> None:
        report(lifecycle.READY)
        logger.info("serving %s, pid %d, version %s", paths.runtime_dir(), house.pid, house.version)

    async def main() -> None:
        server = Server(make_handler(house, config), make_door(), own.idle_timeout_s)
        house.on_exit = server.leave
        loop = asyncio.get_running_loop()
        _handle_signals(loop, server, house)
        if watch:
            watching = watch.fileno()

            def on_orphaned() -> None:
                loop.remove_reader(watching)
                house.expect_loss("its supervisor process was killed")
                server.leave()

            loop.add_reader(watching, on_orphaned)
        await server.run(serving)
        house.forget()
        paths.sweep()

    asyncio.run(main())
    logger.info("left")
    logging.shutdown()


def _handle_signals(loop: asyncio.AbstractEventLoop, server: Server, house: DaemonHouse) -> None:
    if sys.platform == "win32":
        for number in (signal.SIGINT, signal.SIGBREAK):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(server.leave))
        return
    # What the first caller ignored or blocked (a shell does, for jobs in the background) is not
    # for the programs of all others.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def act(number: int, sender: str) -> None:
        if number == signal.SIGHUP:  # a client misses the socket; see lifecycle
            server.open_again()
        elif number in (signal.SIGTERM, signal.SIGINT):
            # Sessions that live now are lost without a command of the user's: the next one says so.
            house.expect_loss(f"it received {sender}")
            server.leave()

    # The supervisor as it is now: when it is gone, the parent is the one of all processes.
    ancestors = {os.getpid(), os.getppid()} - {0, 1}

    def on_signal(number: int, sender: int) -> None:
        if signals.is_descendant(sender, ancestors):
            what = signals.describe(number, sender)
            loop.call_soon_threadsafe(house.on_debuggee_signal, sender, what)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(act, number, signals.describe(number, sender))

    if signals.knows_senders():
        signals.hold_back()
        signals.receive(on_signal)
        return

    def on_plain(number: int, _: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(act, number, signal.Signals(number).name)

    # Not through the loop, which restores the deadly default before the process is gone.
    for each in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(each, on_plain)


def _load(spec: str) -> MakeHandler:
    module, _, function = spec.rpartition(":")
    names: dict[str, MakeHandler]
    if module.endswith(".py"):
        import runpy

        names = runpy.run_path(module)
    else:
        import importlib

        names = vars(importlib.import_module(module))
    return names[function]
