"""The command line: send argv to the daemon, copy its answer out, leave with its status.

Every command starts here, and some installers leave this file to be compiled each time, so it
stays small and, while a daemon is there, imports built-in modules only. Everything rare (no daemon
yet, a directory that cannot be trusted, Windows) is in freezeframe.daemon; ipc.py there has the
format.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

PROTOCOL = 1
#: A daemon at work sends something every second; after this long without, its state is looked at.
SILENCE_S = 3.0
#: what needs no session: answered in this process where no daemon can be had
LOCAL = ("--version", "version", "--help", "-h", "help", "skill")
VERSION = b"0.1.0"  # of the package; a test compares

if sys.platform == "win32":
    import nt as system
else:
    import posix as system


def main(start: "Callable[[], Any] | None" = None) -> "NoReturn":
    """Run one command and end the process. *start* connects when no daemon answers."""
    if sys.argv[1:2] == ["mcp"]:
        become_server()
    try:
        status = run(start or start_daemon)
    except KeyboardInterrupt:  # the daemon only loses a waiter
        status = 130
    # No interpreter shutdown: nothing is buffered, and it costs milliseconds.
    system._exit(status)


def run(start: "Callable[[], Any]") -> int:
    """Return the exit status of this process's command, after its answer was written."""
    try:
        cwd = system.getcwd()
    except OSError:  # removed under our feet; the daemon is told that there is none
        cwd = ""
    message = request(cwd)
    link = connect()
    for _ in range(3):
        if link is None:
            try:
                if cwd:
                    system.chdir(cwd)  # FREEZEFRAME_HOME may be relative
                link = start()
            except Exception as error:
                if not hasattr(error, "error_code"):
                    raise
                if sys.argv[1:2] and sys.argv[1] in LOCAL:
                    answer_alone()
                return report(error)
        status = converse(link, message, cwd)
        if status is not None:
            return status
        link = None  # a daemon of another version made room for ours
    write(2, b"daemon: each daemon that was started left at once.\n  next: dbg logs\n")
    return 1


def report(error: Exception) -> int:
    """Write an error of ours, with its next step; return the exit status."""
    step = getattr(error, "next", None)
    text = f"{error}\n  next: {step}\n" if step else f"{error}\n"
    write(2, text.encode(errors="backslashreplace"))
    return 1


def answer_alone() -> "NoReturn":
    """Answer without a daemon: where none can be reached, it is told what dbg is and does."""
    become("local", *sys.argv[1:])


def become_server() -> "NoReturn":
    """`dbg mcp` is a program of its own, and this process is it from now on."""
    become(*sys.argv[1:])


def become(*arguments: str) -> "NoReturn":
    words = [sys.executable, "-P", __file__.replace("client.py", "__main__.py"), *arguments]
    if sys.platform == "win32":  # there the caller of an exec takes us for ended
        system._exit(system.spawnv(0, words[0], [f'"{word}"' for word in words]))
    system.execv(words[0], words)


def start_daemon() -> "Any":
    from freezeframe.daemon import lifecycle

    return lifecycle.connect()


def connect() -> "Any":
    """Return a connection to the daemon, None when there is none that can be trusted as it is."""
    if sys.platform == "win32":
        return None
    import _socket

    environ = system.environ
    user = system.geteuid()
    try:
        home = environ.get(b"FREEZEFRAME_HOME", b"").rstrip(b"/")
        if not home:
            home = b"/tmp/freezeframe-%d" % user
            runtime = environ.get(b"XDG_RUNTIME_DIR")
            try:
                if runtime and system.stat(runtime).st_uid == user:
                    home = runtime + b"/freezeframe"
            except OSError:
                pass
        flags = system.O_DIRECTORY | system.O_NOFOLLOW | system.O_CLOEXEC
        directory = system.open(home, flags)
        facts = system.fstat(directory)
        if facts.st_uid != user or facts.st_mode & 0o077:
            return None
        # Relative from here on: a socket's address has room for about a hundred bytes.
        system.fchdir(directory)
        if system.lstat("daemon.sock").st_uid != user:
            return None
        link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        link.settimeout(SILENCE_S)  # also: where its queue is full, fail and do not wait
        link.connect("daemon.sock")
        return link
    except OSError:
        return None


def request(cwd: str) -> bytes:
    """Return the one message that a command is."""
    encoding = sys.getfilesystemencoding()
    words = [word.encode(encoding, sys.getfilesystemencodeerrors()) for word in (cwd, *sys.argv)]
    if sys.platform == "win32":
        variables = [f"{k}={v}".encode("utf-8", "replace") for k, v in system.environ.items()]
    else:
        variables = [k + b"=" + v for k, v in system.environ.items()]
    terminals = [system.isatty(fd) for fd in (0, 1, 2)]
    columns = system.get_terminal_size(1).columns if terminals[1] else 0
    facts = b"%d%d%d %d" % (*terminals, columns)
    body = b"\0".join((VERSION, facts, words[0], b"%d" % (len(words) - 2), *words[2:], *variables))
    return b"F%c%b%b" % (PROTOCOL, len(body).to_bytes(4, "big"), body)


def converse(link: "Any", message: bytes, cwd: str) -> int | None:
    """Send *message* and copy the answer out; None when the daemon asks us to find another."""
    asked_for_input = False
    buffer = b""
    silent_s = 0.0
    if sys.platform != "win32":
        link.settimeout(SILENCE_S)
    while message:
        try:
            message = message[link.send(message) :]
            silent_s = 0.0
        except TimeoutError:
            silent_s += SILENCE_S
            if error := explain(silent_s, cwd):
                return report(error)
        except OSError:
            break  # it may have answered before it hung up
    while True:
        while len(buffer) >= 5 and len(buffer) >= 5 + (size := int.from_bytes(buffer[1:5], "big")):
            kind, body, buffer = buffer[:1], buffer[5 : 5 + size], buffer[5 + size :]
            if kind == b"o":
                write(1, body)
            elif kind == b"e":
                write(2, body)
            elif kind == b"x":
                return body[0]
            elif kind == b"r":
                return None
            elif kind == b"i":
                asked_for_input = True
        try:
            if asked_for_input and readable(link):
                asked_for_input = send_input(link)
                continue
            chunk = link.recv(65536)
            silent_s = 0.0
        except TimeoutError:
            silent_s += SILENCE_S
            if error := explain(silent_s, cwd):
                return report(error)
            continue
        except OSError:
            chunk = b""
        if not chunk:
            write(2, b"daemon: the daemon ended before it answered.\n  next: dbg logs\n")
            return 1
        buffer += chunk


def explain(silent_s: float, cwd: str) -> "Exception | None":
    """Return why the daemon is silent, None while that is worth waiting for."""
    if cwd:
        system.chdir(cwd)  # FREEZEFRAME_HOME may be relative
    from freezeframe.daemon import silence

    return silence.explain(silent_s)


def readable(link: "Any") -> bool:
    """Wait for our standard input or the daemon; is it our input? Raises TimeoutError."""
    if sys.platform == "win32":
        return True
    import select

    try:
        ready = select.select([0, link], [], [], SILENCE_S)[0]
    except OSError:  # standard input is closed, which is its end
        return True
    if not ready:
        raise TimeoutError
    return 0 in ready


def send_input(link: "Any") -> bool:
    """Pass a piece of standard input on; False at its end."""
    try:
        chunk = system.read(0, 65536)
    except OSError:
        chunk = b""
    link.sendall(len(chunk).to_bytes(4, "big") + chunk)
    return bool(chunk)


def write(fd: int, data: bytes) -> None:
    """Write all of *data*; end as `cat` does when nobody reads it."""
    while data:
        try:
            data = data[system.write(fd, data) :]
        except BlockingIOError:  # someone who shares the terminal made it so
            system.set_blocking(fd, True)
        except BrokenPipeError:
            if sys.platform != "win32":
                import signal

                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                system.kill(system.getpid(), signal.SIGPIPE)
            system._exit(1)
        except OSError:  # closed, or a full disk
            if fd == 1:
                system._exit(1)
            return
