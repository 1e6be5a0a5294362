"""The wire format between client and daemon. No I/O.

A connection whose first byte is `{` carries JSON lines (see json_connection.py). Any other
connection is one command:

    request   F · protocol (1 byte) · length (4) · body
              body: fields joined by NUL: package version, terminal facts ("110 80": is 0, 1, 2 a
              terminal, columns of 1), directory, number of arguments, the arguments, the
              environment
    answer    frames of kind (1) · length (4) · body
              o, e  bytes for the client's stdout, stderr
              i     send your standard input, in pieces of length (4) · bytes; length 0 is its end
              k     keep-alive without a body, sent every second while the request runs
              x     exit with the status in the body's only byte
              r     this daemon has another version and is shutting down: start another one

Numbers are big-endian. The request's first six bytes and the frames `e`, `x` and `r` are the same
in every protocol version, so that a client of any version gets a readable error.
"""

from __future__ import annotations

from freezeframe.model.fast_dataclass import dataclass

PROTOCOL = 1
MAGIC = b"F"
HEAD_BYTES = 6
FRAME_HEAD_BYTES = 5
#: far above what an operating system passes to a program as arguments and environment
MAX_REQUEST_BYTES = 64 * 1024 * 1024
#: output is cut into frames of this size, so that the client copies little and often
MAX_FRAME_BYTES = 60 * 1024

OUT = b"o"
ERR = b"e"
REQUEST_INPUT = b"i"
KEEP_ALIVE = b"k"
EXIT = b"x"
REPLACE = b"r"


class Malformed(Exception):
    """The peer does not speak this protocol."""


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """One command, with the directory, environment and terminal of its client.

    Bytes that are not UTF-8 are kept as surrogates, as `os.fsdecode` does.
    """

    argv: tuple[str, ...]
    #: empty when the client's directory was removed
    cwd: str
    env: dict[str, str]
    #: whether the client's standard input, output and error output are terminals
    stdin_tty: bool = False
    stdout_tty: bool = False
    stderr_tty: bool = False
    #: of standard output; 0 when it is not a terminal
    columns: int = 0
    #: of the client's package
    version: str = ""


def decode_head(head: bytes) -> tuple[int, int]:
    """Return protocol version and body length from the first HEAD_BYTES of a request."""
    if len(head) != HEAD_BYTES or head[:1] != MAGIC:
        raise Malformed("not a request")
    length = int.from_bytes(head[2:6], "big")
    if length > MAX_REQUEST_BYTES:
        raise Malformed(f"a request of {length} bytes")
    return head[1], length


def decode_request(body: bytes) -> ClientRequest:
    """Return the request that *body* holds. Raises Malformed."""
    try:
        version, facts, cwd, count, *rest = body.split(b"\0")
        arg_count = int(count)
        terminals, columns = facts.split(b" ")
        stdin_tty, stdout_tty, stderr_tty = (flag == ord("1") for flag in terminals)
        if not 0 <= arg_count <= len(rest):
            raise Malformed(f"{arg_count} arguments announced, {len(rest)} fields received")
        return ClientRequest(
            argv=tuple(map(_text, rest[:arg_count])),
            cwd=_text(cwd),
            env=dict(_variable(field) for field in rest[arg_count:]),
            stdin_tty=stdin_tty,
            stdout_tty=stdout_tty,
            stderr_tty=stderr_tty,
            columns=int(columns),
            version=version.decode("ascii"),
        )
    except ValueError as error:
        raise Malformed(f"a request that cannot be decoded: {error}") from error


def encode_request(request: ClientRequest, protocol: int = PROTOCOL) -> bytes:
    """Return the bytes that client.py sends for *request*."""
    flags = (request.stdin_tty, request.stdout_tty, request.stderr_tty)
    fields = [
        request.version,
        "".join("01"[flag] for flag in flags) + f" {request.columns}",
        request.cwd,
        str(len(request.argv)),
        *request.argv,
        *(f"{name}={value}" for name, value in request.env.items()),
    ]
    body = b"\0".join(field.encode("utf-8", "surrogateescape") for field in fields)
    return MAGIC + bytes([protocol]) + len(body).to_bytes(4, "big") + body


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


def _variable(field: bytes) -> tuple[str, str]:
    name, _, value = field.partition(b"=")
    return _text(name), _text(value)


def frame(kind: bytes, body: bytes = b"") -> bytes:
    return kind + len(body).to_bytes(4, "big") + body


def output_frames(kind: bytes, data: bytes) -> list[bytes]:
    """Return *data* as frames of at most MAX_FRAME_BYTES."""
    return [
        frame(kind, data[at : at + MAX_FRAME_BYTES]) for at in range(0, len(data), MAX_FRAME_BYTES)
    ]


def text_bytes(text: str) -> bytes:
    """Return *text* as UTF-8; surrogates become the bytes that they were decoded from."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")
