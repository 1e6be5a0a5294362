"""The command line: send argv to the daemon, copy its answer out, exit with its status.

Every command starts here, and with some installers Python compiles this file each time, so the
file stays small and imports built-in modules only while a daemon runs. Everything rare (no daemon
yet, a directory that cannot be trusted, Windows) is in freezeframe.daemon; ipc.py there describes
the format.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

PROTOCOL = 1
#: A working daemon sends a frame every second; after this silence the client checks its state.
SILENCE_S = 3.0
#: commands that need no session: answered in this process where no daemon runs
LOCAL = ("--version", "version", "--help", "-h", "help", "skill", "completion")
#: commands that are processes of their own
SERVERS = ("mcp", "dap", "show")
VERSION = b"0.1.0"  # of the package; a test compares them

if sys.platform == "win32":
    import nt as system
else:
    import posix as system


def main(start: "Callable[[], Any] | None" = None) -> "NoReturn":
    """Run one command and exit. *start* connects when no daemon answers."""
    if sys.argv[1:2] and sys.argv[1] in SERVERS:
        become(*sys.argv[1:])
    try:
        status = run(start or start_daemon)
    except KeyboardInterrupt:  # only the wait ends; the session goes on
        status = 130
    # No interpreter shutdown: nothing is buffered, and it costs milliseconds.
    system._exit(status)


def run(start: "Callable[[], Any]") -> int:
    """Send this process's command, write its answer, and return the exit status."""
    try:
        cwd = system.getcwd()
    except OSError:  # the directory was removed; empty in the request
        cwd = ""
    message = request(cwd)
    link = connect()
    if link is None and is_local():
        become("local", *sys.argv[1:])
    for _ in range(3):
        if link is None:
            try:
                if cwd:
                    system.chdir(cwd)  # FREEZEFRAME_HOME may be relative
                link = start()
            except Exception as error:
                if not hasattr(error, "error_code"):
                    raise
                return report(error)
        status = converse(link, message, cwd)
        if status is not None:
            return status
        link = None  # a daemon of another version shut down
    write(2, b"daemon: each daemon that was started ended at once.\n  next: dbg logs\n")
    return 1


def report(error: Exception) -> int:
    """Write a FreezeframeError with its next step; return the exit status."""
    step = getattr(error, "next", None)
    text = f"{error}\n  next: {step}\n" if step else f"{error}\n"
    write(2, text.encode(errors="backslashreplace"))
    return 1


def is_local() -> bool:
    """Return whether the command needs no daemon: a LOCAL one, or the end of one that is not
    there. On Windows nothing is known about the daemon here."""
    argv = sys.argv[1:]
    if argv[:2] == ["daemon", "stop"] and sys.platform != "win32":
        return True
    return argv[:1] != [] and argv[0] in LOCAL and argv[:2] != ["skill", "install"]


def become(*arguments: str) -> "NoReturn":
    """Replace this process with another one of ours: a server (`dbg mcp`), or `local`."""
    argv = [sys.executable, "-P", __file__.replace("client.py", "__main__.py"), *arguments]
    if sys.platform == "win32":  # exec there is a new process: the caller would see an exit
        system._exit(system.spawnv(0, argv[0], [f'"{argument}"' for argument in argv]))
    system.execv(argv[0], argv)


def start_daemon() -> "Any":
    from freezeframe.daemon import lifecycle

    return lifecycle.connect()


def connect() -> "Any":
    """Return a connection to the daemon; None if no daemon runs or its directory is not private."""
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
        # Relative from here on: a socket's address holds only about a hundred bytes.
        system.fchdir(directory)
        if system.lstat("daemon.sock").st_uid != user:
            return None
        link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        link.settimeout(SILENCE_S)  # also makes connect fail instead of wait when the queue is full
        link.connect("daemon.sock")
        return link
    except OSError:
        return None


def request(cwd: str) -> bytes:
    """Return the encoded request for this process's command line."""
    encoding = sys.getfilesystemencoding()
    errors = sys.getfilesystemencodeerrors()
    fields = [text.encode(encoding, errors) for text in (cwd, *sys.argv)]
    if sys.platform == "win32":
        variables = [f"{k}={v}".encode("utf-8", "replace") for k, v in system.environ.items()]
    else:
        variables = [k + b"=" + v for k, v in system.environ.items()]
    terminals = [system.isatty(fd) for fd in (0, 1, 2)]
    columns = system.get_terminal_size(1).columns if terminals[1] else 0
    facts = b"%d%d%d %d" % (*terminals, columns)
    argc = b"%d" % (len(fields) - 2)
    body = b"\0".join((VERSION, facts, fields[0], argc, *fields[2:], *variables))
    return b"F%c%b%b" % (PROTOCOL, len(body).to_bytes(4, "big"), body)


def converse(link: "Any", message: bytes, cwd: str) -> int | None:
    """Send *message* and copy the answer out; None when another daemon must be started."""
    link.settimeout(SILENCE_S)
    if error := send(link, message, cwd):
        return report(error)
    input_requested = False
    buffer = b""
    silent_s = 0.0
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
                input_requested = True
        try:
            if input_requested and readable(link):
                input_requested = send_input(link)
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


def send(link: "Any", message: bytes, cwd: str) -> "Exception | None":
    """Send *message*; return why the daemon does not read it."""
    silent_s = 0.0
    while message:
        try:
            message = message[link.send(message) :]
            silent_s = 0.0
        except TimeoutError:
            silent_s += SILENCE_S
            if error := explain(silent_s, cwd):
                return error
        except OSError:
            break  # the daemon may have answered before it disconnected
    return None


def explain(silent_s: float, cwd: str) -> "Exception | None":
    """Return why the daemon is silent; None to keep waiting."""
    if cwd:
        system.chdir(cwd)  # FREEZEFRAME_HOME may be relative
    from freezeframe.daemon import unresponsive

    return unresponsive.explain(silent_s)


def readable(link: "Any") -> bool:
    """Wait for standard input or the daemon; True if input can be read. Raises TimeoutError."""
    if sys.platform == "win32":
        return True
    import select

    try:
        ready = select.select([0, link], [], [], SILENCE_S)[0]
    except OSError:  # standard input is closed, which counts as its end
        return True
    if not ready:
        raise TimeoutError
    return 0 in ready


def send_input(link: "Any") -> bool:
    """Send a piece of standard input; return False at its end."""
    try:
        chunk = system.read(0, 65536)
    except OSError:
        chunk = b""
    link.sendall(len(chunk).to_bytes(4, "big") + chunk)
    return bool(chunk)


def write(fd: int, data: bytes) -> None:
    """Write all of *data*; exit as `cat` does when the reader has closed the pipe."""
    while data:
        try:
            data = data[system.write(fd, data) :]
        except BlockingIOError:  # another process that shares the terminal made it non-blocking
            system.set_blocking(fd, True)
        except BrokenPipeError:
            if sys.platform != "win32":
                import signal

                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                system.kill(system.getpid(), signal.SIGPIPE)
            system._exit(1)
        except OSError:  # a closed descriptor or a full disk
            if fd == 1:
                system._exit(1)
            return
