"""Another user of the machine, who calls every port and socket of the owner's as it appears.

Runs by itself: `python intruder.py UID [PROTOCOL …]`. Until its standard input ends it connects to
whatever a process of UID begins to listen at, speaks the protocols of debuggers there (all, or
those named, whose answer it then waits for), and keeps the lines open. Then it prints what it has
tried and which answers it got, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import selectors
import socket
import sys

_INITIALIZE = b'{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}'
_EVALUATE = b'{"seq":2,"type":"request","command":"evaluate","arguments":{"expression":"1"}}'


def _framed(*messages: bytes) -> bytes:
    return b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(each), each) for each in messages)


def _document(text: bytes) -> bytes:
    return b"%d\0%s\0" % (len(text), text)


#: the first message in each protocol; any answer means that the process was reached
PROTOCOLS = {
    "silent": b"",
    "JDWP": b"JDWP-Handshake" + bytes([0, 0, 0, 11, 0, 0, 0, 1, 0, 1, 1]),
    "DAP": _framed(_INITIALIZE, _EVALUATE),
    "gdb": b"+$?#3f$qSupported#37",
    "DBGp": _document(b"<?xml version='1.0'?><init appid='1' language='PHP'/>"),
    "HTTP": b"GET /json/list HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "pydevd": b"501\t1\t1.1\tUNIX\n",
    "lines": b"help\nversion\n",
}
_MOST_CALLS = 40
_LOOK_S = 0.002


def listening(owner: int) -> set[tuple[str, int]]:
    """Return the addresses that processes of *owner* listen at now."""
    found = set()
    # A dual-stack socket that is bound to an IPv4 address is in the other table.
    for table, hosts in (("tcp", ["127.0.0.1"]), ("tcp6", ["127.0.0.1", "::1"])):
        with contextlib.suppress(OSError), open(f"/proc/net/{table}") as file:
            for fields in map(str.split, file):
                if fields[3] == "0A" and fields[7] == str(owner):
                    port = int(fields[1].rpartition(":")[2], 16)
                    found.update((host, port) for host in hosts)
    return found


def unix_sockets() -> set[str]:
    """Return the names of the unix sockets of this machine that a process listens at."""
    with open("/proc/net/unix") as file:
        rows = [line.rstrip("\n").split(" ", 7) for line in file][1:]
    return {row[7].rpartition(" ")[2] for row in rows if len(row) == 8 and row[3] == "00010000"}


class Intruder:
    def __init__(self, owner: int, protocols: list[str]) -> None:
        self._owner = owner
        self._protocols = {name: PROTOCOLS[name] for name in protocols or PROTOCOLS}
        self._before = unix_sockets()
        self._looks = 0
        self._calls: dict[object, int] = {}
        self._selector = selectors.DefaultSelector()
        self.got: list[list[str]] = []

    @property
    def tried(self) -> list[str]:
        return sorted({str(where) for where in self._calls})

    def look(self) -> None:
        for address in listening(self._owner):
            self._call(socket.AF_INET if "." in address[0] else socket.AF_INET6, address)
        # Sockets with a name stay longer than some ports, and their table is longer.
        self._looks += 1
        names = unix_sockets() - self._before if self._looks % 10 == 0 else ()
        for name in names:
            self._call(socket.AF_UNIX, "\0" + name[1:] if name.startswith("@") else name)
        for key, _ in self._selector.select(_LOOK_S):
            self._hear(key)

    def _call(self, family: int, where: object) -> None:
        keys = self._selector.get_map().values()
        open_now = {key.data[1] for key in keys if key.data[0] == where}
        for protocol, words in self._protocols.items():
            if protocol in open_now or self._calls.get(where, 0) > _MOST_CALLS * len(PROTOCOLS):
                continue
            self._calls[where] = self._calls.get(where, 0) + 1
            line = socket.socket(family)
            line.settimeout(0.1)
            try:
                line.connect(where)
                line.sendall(words)
            except PermissionError:
                self._calls[where] = 1 << 30
                line.close()
            except OSError:
                line.close()
            else:
                if family == socket.AF_UNIX:
                    self.got.append([repr(where), protocol, "connected"])
                self._selector.register(line, selectors.EVENT_READ, (where, protocol))

    def _hear(self, key: selectors.SelectorKey) -> None:
        line = key.fileobj
        assert isinstance(line, socket.socket)
        heard = b""
        with contextlib.suppress(OSError):
            heard = line.recv(4096)
        if heard:
            self.got.append([repr(key.data[0]), key.data[1], repr(heard[:200])])
        else:
            self._selector.unregister(line)
            line.close()

    def wait_for_answer(self) -> None:
        """Wait for the first answer, or until every line is closed."""
        while not self.got and self._selector.get_map():
            for key, _ in self._selector.select():
                self._hear(key)


def main() -> None:
    intruder = Intruder(int(sys.argv[1]), sys.argv[2:])
    with selectors.DefaultSelector() as selector:
        selector.register(sys.stdin, selectors.EVENT_READ)
        print("ready", flush=True)
        while not selector.select(_LOOK_S):
            intruder.look()
    if sys.argv[2:]:
        intruder.wait_for_answer()
    print(json.dumps({"tried": intruder.tried, "got": intruder.got}))


if __name__ == "__main__":
    main()
