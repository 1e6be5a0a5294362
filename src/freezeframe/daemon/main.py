"""Entry point of the daemon process."""

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
    from freezeframe.daemon.handler import Handler
    from freezeframe.daemon.listener import DaemonListener
    from freezeframe.daemon.server import Server
    from freezeframe.daemon.state import DaemonState

    #: creates the request handler of the process
    MakeHandler = Callable[[DaemonState, Config], Handler]


def run(args: list[str], default_handler: str) -> NoReturn:
    """Run the daemon with the descriptors that *args* name; without them, in the foreground.

    A handler is named as `package.module:function` or `path/to/file.py:function`.
    """
    options = dict(zip(args[::2], args[1::2], strict=True))
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
        os.set_inheritable(fd, False)  # no debuggee may inherit them
    watch = supervisor.fork(
        claim.lock_fd, paths.socket_path(), also_close=(claim.socket_fd, ready_fd)
    )
    # From here on this process is the daemon: fork() does not return in the supervisor.

    def make_listener() -> DaemonListener:
        import socket as sockets

        from freezeframe.daemon.listener import UnixSocketListener

        return UnixSocketListener(sockets.socket(fileno=claim.socket_fd), paths.runtime_dir())

    def report(progress: bytes) -> None:
        with suppress(OSError):  # the client that started the daemon may have exited
            os.write(ready_fd, progress)
        if progress == lifecycle.READY:
            os.close(ready_fd)

    _serve_and_exit(make_listener, report, handler, watch)


def _run_on_windows(handler: str) -> NoReturn:
    from freezeframe import windows
    from freezeframe.daemon import named_pipe_windows

    paths.secure(paths.state_dir())
    sid = windows.current_sid()

    def make_listener() -> DaemonListener:
        return named_pipe_windows.NamedPipeListener(
            named_pipe_windows.pipe_name(sid, os.environ), sid
        )

    def report(progress: bytes) -> None:
        with suppress(OSError):  # the client that started the daemon may have exited
            os.write(1, progress)
        if progress == lifecycle.READY:
            os.dup2(2, 1)  # closes the client's pipe; later output goes to the log

    _serve_and_exit(make_listener, report, handler, None)


def _serve_and_exit(
    make_listener: Callable[[], DaemonListener],
    report: Callable[[bytes], None],
    handler: str,
    watch: supervisor.SupervisorLink | None,
) -> NoReturn:
    status = 1
    try:
        _serve(make_listener, report, handler, watch)
        status = 0
    except BaseException:
        import traceback

        traceback.print_exc()  # descriptor 2 is the log
    finally:
        # Not sys.exit, which joins threads: one that waits for a debugger would keep the lock.
        sys.stderr.flush()
        os._exit(status)


def _serve(
    make_listener: Callable[[], DaemonListener],
    report: Callable[[bytes], None],
    handler: str,
    watch: supervisor.SupervisorLink | None,
) -> None:
    """Serve until shutdown. Call *report* with each progress byte (see lifecycle)."""
    report(lifecycle.PROGRESS)
    import faulthandler
    import gc

    faulthandler.enable()
    # Imported modules stay alive, so collecting garbage during imports only slows the start.
    gc.disable()
    # asyncio imports ssl when it can, which costs 6 ms and 5 MB; the daemon uses no TLS.
    sys.modules["ssl"] = None  # type: ignore[assignment]
    import asyncio

    del sys.modules["ssl"]
    import logging
    from pathlib import Path

    from freezeframe import config as configs
    from freezeframe.daemon import log
    from freezeframe.daemon.server import Server
    from freezeframe.daemon.state import DaemonState
    from freezeframe.errors import FreezeframeError

    report(lifecycle.PROGRESS)
    log.configure(paths.log_path())
    logger = logging.getLogger(__name__)
    state = DaemonState(
        paths.runtime_dir(),
        log_path=paths.log_path(),
        config_path=paths.config_path(),
        watch=watch,
    )
    try:
        # The environment of the client that started the daemon does not apply to other clients.
        config = configs.read(Path(paths.config_path()), os.environ)
        settings = configs.override(config, os.environ).daemon
        for warning in config.warnings:
            state.add_note(warning)
    except FreezeframeError as error:
        # A daemon with the defaults can report what is wrong; one that does not start cannot.
        config = configs.Config()
        settings = config.daemon
        state.add_note(f"{error} The defaults are used.")
    paths.sweep()
    report(lifecycle.PROGRESS)
    make_handler = _load(handler)
    gc.freeze()
    gc.enable()
    report(lifecycle.PROGRESS)

    def serving() -> None:
        report(lifecycle.READY)
        logger.info("serving %s, pid %d, version %s", paths.runtime_dir(), state.pid, state.version)

    async def main() -> None:
        server = Server(make_handler(state, config), make_listener(), settings.idle_timeout_s)
        state.on_exit = server.shut_down
        loop = asyncio.get_running_loop()
        _handle_signals(loop, server, state)
        if watch:
            watching = watch.fileno()

            def on_orphaned() -> None:
                loop.remove_reader(watching)
                state.keep_record("its supervisor process was killed")
                server.shut_down()

            loop.add_reader(watching, on_orphaned)
        await server.run(serving)
        state.forget()
        paths.sweep()

    asyncio.run(main())
    logger.info("left")
    logging.shutdown()


def _handle_signals(loop: asyncio.AbstractEventLoop, server: Server, state: DaemonState) -> None:
    if sys.platform == "win32":
        for number in (signal.SIGINT, signal.SIGBREAK):
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(server.shut_down))
        return
    # The client that started the daemon may have ignored or blocked signals, as shells do for
    # background jobs; other clients' programs must not inherit that.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def act(number: int, sender: str) -> None:
        if number == signal.SIGHUP:  # a client did not find the socket; see lifecycle
            server.rebind()
        elif number in (signal.SIGTERM, signal.SIGINT):
            # Live sessions are lost although no command ended them: the next daemon reports it.
            state.keep_record(f"it received {sender}")
            server.shut_down()

    # Read now: when the supervisor exits, init becomes the parent.
    ancestors = {os.getpid(), os.getppid()} - {0, 1}

    def on_signal(number: int, sender: int) -> None:
        if signals.is_descendant(sender, ancestors):
            what = signals.describe(number, sender)
            loop.call_soon_threadsafe(state.on_debuggee_signal, sender, what)
        elif not loop.is_closed():
            loop.call_soon_threadsafe(act, number, signals.describe(number, sender))

    if signals.knows_senders():
        signals.hold_back()
        signals.receive(on_signal)
        return

    def on_signal_without_sender(number: int, _: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(act, number, signal.Signals(number).name)

    # Not loop.add_signal_handler: closing the loop restores the default, which kills the process.
    for each in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        signal.signal(each, on_signal_without_sender)


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
