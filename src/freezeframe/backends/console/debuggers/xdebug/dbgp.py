"""The codec of DBGp: packets in, answers out. No I/O.

We write `name -i NUMBER options -- base64` and a NUL; Xdebug writes a length, a NUL, a document and
a NUL. A command of several lines is several commands, whose answers are combined into one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from freezeframe.backends.console.command_channel import ImmediateReply
from freezeframe.backends.console.prompt.codec import UnsolicitedText
from freezeframe.errors import DebuggerLost

#: between the documents of one answer; no document holds it
SEPARATOR = "\0"
#: bytes of one document at most, and digits of such a number
_MAX_DOCUMENT, _DIGITS = 64 << 20, 10
#: characters that XML forbids and a program's message may contain
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>\s*")
_NAMESPACE = re.compile(r"\{[^}]*\}")


def command(name: str, *options: object, data: str | None = None) -> str:
    """Return one command; an option that contains a blank or a quote is quoted."""
    parts = [name, *(_quoted(str(option)) for option in options)]
    if data is not None:
        parts += ["--", base64.b64encode(data.encode("utf-8", "surrogateescape")).decode("ascii")]
    return " ".join(parts)


def _quoted(text: str) -> str:
    if not re.search(r'[\s"\\\0]', text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\\0")
    return f'"{escaped}"'


class DbgpCodec:
    """Encode commands with transaction numbers, and match the answers by them.

    The first document, which is unsolicited, answers the empty command. A program that has ended is
    released at once.
    """

    pipelined = False

    def __init__(self) -> None:
        self._rest = bytearray()
        self._token: int | None = None
        #: transaction numbers of the pending commands
        self._open: list[int] = []
        self._documents: list[str] = []
        self._last = 0

    def encode(self, token: int, command: str) -> bytes:
        self._token = token
        self._documents = []
        self._open = []
        encoded = b""
        for line in command.splitlines():
            self._last += 1
            self._open.append(self._last)
            encoded += numbered(line, self._last)
        return encoded

    def feed(self, data: bytes) -> list[tuple[int | None, str] | UnsolicitedText | ImmediateReply]:
        self._rest += data
        found: list[tuple[int | None, str] | UnsolicitedText | ImmediateReply] = []
        while (document := take(self._rest)) is not None:
            root = read(document)
            kind = tag(root)
            if kind == "init":
                found += self._answer(document)
            elif kind == "notify":
                self._documents.append(document)
                found.append(UnsolicitedText(document))
            elif root.get("status") == "stopping" or _is_stale(root):
                # Xdebug would wait for further commands although the program has ended.
                self._last += 1
                self._open = [self._last]
                found.append(ImmediateReply(numbered("run", self._last)))
            else:
                found += self._response(root, document)
        return found

    def _response(self, root: Element, document: str) -> list[tuple[int | None, str]]:
        transaction = number(root.get("transaction_id"))
        if transaction not in self._open:
            return []
        self._open.remove(transaction)
        self._documents.append(document)
        return [] if self._open else self._answer()

    def _answer(self, *documents: str) -> list[tuple[int | None, str]]:
        token, self._token = self._token, None
        all_documents, self._documents = [*self._documents, *documents], []
        # Each ends with a separator, so that answers can be concatenated.
        return [(token, "".join(each + SEPARATOR for each in all_documents))]


def take(received: bytearray) -> str | None:
    """Remove and return the next complete document. Raises DebuggerLost if it is not DBGp."""
    nul = received.find(b"\0", 0, _DIGITS + 1)
    if nul < 0:
        if len(received) > _DIGITS:
            raise _not_dbgp("no length", received)
        return None
    digits = bytes(received[:nul])
    if not digits.isdigit() or int(digits) > _MAX_DOCUMENT:
        raise _not_dbgp("an invalid length", received)
    end = nul + 1 + int(digits)
    if len(received) <= end:
        return None
    document = received[nul + 1 : end].decode("utf-8", "surrogateescape")
    del received[: end + 1]
    return _FORBIDDEN.sub("\ufffd", document)


def _not_dbgp(what: str, data: bytearray) -> DebuggerLost:
    return DebuggerLost(f"PHP's debugger sent {what}: {bytes(data[:40])!r}.", next="dbg logs")


def number(text: str | None) -> int:
    """Parse a number of the protocol; 0 if it is not a number."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,18}", text) else 0


def _is_stale(root: Element) -> bool:
    """Whether this ends an old step: Xdebug keeps a step out that a breakpoint interrupted."""
    return root.get("command") == "run" and child(root, "return_value") is not None


def numbered(line: str, number: int) -> bytes:
    """Return the bytes of a command with its transaction number."""
    name, _, rest = line.partition(" ")
    text = f"{name} -i {number} {rest}".rstrip()
    return text.encode("utf-8", "surrogateescape") + b"\0"


def read(document: str) -> Element:
    """Parse a document and return its root."""
    text = _DECLARATION.sub("", document, count=1)
    if "<!DOCTYPE" in text[:1000].upper() or "<!ENTITY" in text:
        return Element("response", {"transaction_id": "0"})  # entities can expand without limit
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError:
        # Raw bytes of the program, in a message that is not encoded.
        found = re.search(r'transaction_id="(\d+)"', text)
        return Element("response", {"transaction_id": found[1] if found else "0"})


def documents(text: str) -> list[Element]:
    """Return the roots of an answer's documents, in their order."""
    return [read(each) for each in text.split(SEPARATOR) if each]


def responses(text: str) -> list[Element]:
    """Return the documents of an answer that are responses to a command."""
    return [each for each in documents(text) if tag(each) == "response"]


def response(text: str) -> Element:
    """Return the last response; an empty one if there is none."""
    found = responses(text)
    return found[-1] if found else Element("response")


def without_outer(text: str) -> str:
    """Return an answer without its first and its last response."""
    found = text.split(SEPARATOR)
    at = [index for index, each in enumerate(found) if each and tag(read(each)) == "response"]
    return SEPARATOR.join(each for index, each in enumerate(found) if index not in (at[0], at[-1]))


def tag(element: Element) -> str:
    return _NAMESPACE.sub("", element.tag)


def attribute(element: Element, name: str) -> str | None:
    """Return an attribute, whatever its namespace."""
    for key, value in element.attrib.items():
        if _NAMESPACE.sub("", key) == name:
            return value
    return None


def children(element: Element, name: str) -> list[Element]:
    return [each for each in element if tag(each) == name]


def child(element: Element, name: str) -> Element | None:
    found = children(element, name)
    return found[0] if found else None


def text_of(element: Element) -> bytes:
    """Return the content of an element, decoded if it is base64."""
    text = element.text or ""
    if element.get("encoding") == "base64":
        try:
            return base64.b64decode(text)
        except ValueError:
            return b""
    return text.encode("utf-8", "surrogateescape")


def error(element: Element) -> tuple[int, str] | None:
    """Return code and message of an error response, or None."""
    found = child(element, "error")
    if found is None:
        return None
    message = child(found, "message")
    reason = (message.text or "").strip() if message is not None else ""
    return number(found.get("code")), reason


def joined(commands: Sequence[str]) -> str:
    """Return several commands as one."""
    return "\n".join(commands)
