"""DBGp on the wire: packets in, answers out. No I/O.

We write `name -i NUMBER options -- base64`, ended by a NUL; it writes a length, a NUL, a document
and a NUL. A command of several lines is several commands, whose answers come as one.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from freezeframe.backends.console.prompt.dialect import Said
from freezeframe.backends.console.queue import Reply
from freezeframe.errors import DebuggerLost

#: between the documents of one answer; no document holds it
SEPARATOR = "\0"
#: commands of one answer at most
_MANY = 1000
#: what no document may hold, and a program's message may
#: bytes of one document at most, and digits of such a number
_MAX_DOCUMENT, _DIGITS = 64 << 20, 10
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>\s*")
_NAMESPACE = re.compile(r"\{[^}]*\}")


def command(name: str, *options: object, data: str | None = None) -> str:
    """Return one command; a word of *options* with a blank or a quote in it is quoted."""
    words = [name, *(_word(str(option)) for option in options)]
    if data is not None:
        words += ["--", base64.b64encode(data.encode("utf-8", "surrogateescape")).decode("ascii")]
    return " ".join(words)


def _word(text: str) -> str:
    if not re.search(r'[\s"\\\0]', text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\0", "\\0")
    return f'"{escaped}"'


class DbgpDialect:
    """How commands are written and what comes back is told apart, by numbers.

    The first document, which nobody asked for, answers the empty command. A program that has come
    to its end is let go at once.
    """

    pipelined = False

    def __init__(self) -> None:
        self._rest = bytearray()
        self._token: int | None = None
        #: numbers of the commands under way
        self._open: list[int] = []
        self._documents: list[str] = []
        self._last = 0

    def spell(self, token: int, command: str) -> bytes:
        self._token = token
        self._documents = []
        self._open = []
        said = b""
        for line in command.splitlines():
            self._last += 1
            self._open.append(self._last)
            said += numbered(line, self._last)
        return said

    def feed(self, data: bytes) -> list[tuple[int | None, str] | Said | Reply]:
        self._rest += data
        found: list[tuple[int | None, str] | Said | Reply] = []
        while (document := self._take()) is not None:
            root = read(document)
            kind = tag(root)
            if kind == "init":
                found += self._answer(document)
            elif kind == "notify":
                self._documents.append(document)
                found.append(Said(document))
            elif root.get("status") == "stopping" or _is_stale(root):
                # It would wait for questions about a program that has nothing left to be asked.
                self._last += 1
                self._open = [self._last]
                found.append(Reply(numbered("run", self._last)))
            else:
                found += self._response(root, document)
        return found

    def _take(self) -> str | None:
        """Return the next whole document. Raises DebuggerLost for what is none."""
        nul = self._rest.find(b"\0", 0, _DIGITS + 1)
        if nul < 0:
            if len(self._rest) > _DIGITS:
                raise _not_dbgp("no length", self._rest)
            return None
        digits = bytes(self._rest[:nul])
        if not digits.isdigit() or int(digits) > _MAX_DOCUMENT:
            raise _not_dbgp("a length that is none", self._rest)
        end = nul + 1 + int(digits)
        if len(self._rest) <= end:
            return None
        document = self._rest[nul + 1 : end].decode("utf-8", "surrogateescape")
        del self._rest[: end + 1]
        return _FORBIDDEN.sub("\ufffd", document)

    def _response(self, root: Element, document: str) -> list[tuple[int | None, str]]:
        number = _number(root.get("transaction_id"))
        if number not in self._open:
            return []
        self._open.remove(number)
        self._documents.append(document)
        return [] if self._open else self._answer()

    def _answer(self, *documents: str) -> list[tuple[int | None, str]]:
        token, self._token = self._token, None
        told, self._documents = [*self._documents, *documents], []
        return [(token, SEPARATOR.join(told))]


def _not_dbgp(what: str, data: bytearray) -> DebuggerLost:
    return DebuggerLost(f"PHP's debugger sent {what}: {bytes(data[:40])!r}.", next="dbg logs")


def _number(text: str | None) -> int:
    """Return a number of the protocol; 0 for what is none."""
    return int(text) if text is not None and re.fullmatch(r"[0-9]{1,18}", text) else 0


def _is_stale(root: Element) -> bool:
    """A step out of a function that met a breakpoint is not given up when the program runs on."""
    return root.get("command") == "run" and child(root, "return_value") is not None


def numbered(line: str, number: int) -> bytes:
    """Return the bytes of a command under its number."""
    name, _, rest = line.partition(" ")
    words = f"{name} -i {number} {rest}".rstrip()
    return words.encode("utf-8", "surrogateescape") + b"\0"


def read(document: str) -> Element:
    """Return a document's root."""
    text = _DECLARATION.sub("", document, count=1)
    if "<!DOCTYPE" in text[:1000].upper() or "<!ENTITY" in text:
        return Element("response", {"transaction_id": "0"})  # entities grow without an end
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError:
        # A program's own bytes, in a message that is not encoded.
        found = re.search(r'transaction_id="(\d+)"', text)
        return Element("response", {"transaction_id": found[1] if found else "0"})


def documents(text: str) -> list[Element]:
    """Return the roots of an answer's documents, in their order."""
    return [read(each) for each in text.split(SEPARATOR) if each]


def responses(text: str) -> list[Element]:
    """Return those of an answer's documents that answer a command."""
    return [each for each in documents(text) if tag(each) == "response"]


def response(text: str) -> Element:
    """Return the last answer; an empty one where there is none."""
    found = responses(text)
    return found[-1] if found else Element("response")


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
    """Return what an element holds, decoded where it says so."""
    text = element.text or ""
    if element.get("encoding") == "base64":
        try:
            return base64.b64decode(text)
        except ValueError:
            return b""
    return text.encode("utf-8", "surrogateescape")


def error(element: Element) -> tuple[int, str] | None:
    """Return number and words of a refusal."""
    found = child(element, "error")
    if found is None:
        return None
    message = child(found, "message")
    words = (message.text or "").strip() if message is not None else ""
    return _number(found.get("code")), words


def joined(commands: Sequence[str]) -> str:
    """Return several commands as one."""
    return "\n".join(commands)
