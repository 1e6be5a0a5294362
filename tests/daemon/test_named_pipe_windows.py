"""What can be tested of the named pipe without Windows."""

from __future__ import annotations

import os
import socket

from daemon.echo_home import EchoHome
from freezeframe import __version__
from freezeframe.daemon import ipc, named_pipe_windows

SID = "S-1-5-21-1004336348-1177238915-682003330-512"


def test_each_user_and_each_home_has_a_pipe_of_its_own() -> None:
    name = named_pipe_windows.pipe_name(SID, {})
    assert name == rf"\\.\pipe\freezeframe-{SID}"
    elsewhere = named_pipe_windows.pipe_name(SID, {"FREEZEFRAME_HOME": "/x/y"})
    assert elsewhere.startswith(name + "-")
    assert elsewhere == named_pipe_windows.pipe_name(SID, {"FREEZEFRAME_HOME": "/X/z/../Y"})
    assert len(named_pipe_windows.pipe_name(SID, {"FREEZEFRAME_HOME": "/x" * 500})) < 256


def test_the_access_list_names_the_owner_and_nobody_else() -> None:
    sddl = named_pipe_windows.owner_only(SID)
    assert sddl == f"O:{SID}D:P(A;;GA;;;{SID})"
    assert sddl.count("(") == 1


def test_the_pipe_carries_a_command_as_the_socket_does(home: EchoHome) -> None:
    home.run("echo")
    with home.connect() as connection:
        connection.settimeout(None)  # the pipe blocks, and so must its imitation
        link = named_pipe_windows.PipeLink(os.dup(connection.fileno()))
    request = ipc.ClientRequest(("echo", "hi"), "/", {}, version=__version__)
    link.sendall(ipc.encode_request(request))
    answer = b""
    while chunk := link.recv(65536):
        answer += chunk
    link.close()
    assert answer == ipc.frame(ipc.OUT, b"hi\n") + ipc.frame(ipc.EXIT, b"\0")


def test_the_end_of_the_pipe_is_an_end_and_no_error() -> None:
    ours, theirs = socket.socketpair()
    link = named_pipe_windows.PipeLink(ours.detach())
    theirs.close()
    assert link.recv(10) == b""
    link.close()
