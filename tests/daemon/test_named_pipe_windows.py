"""What can be tested of the named pipe without Windows; tests/windows has the rest."""

from __future__ import annotations

from freezeframe import windows
from freezeframe.daemon import named_pipe_windows

SID = "S-1-5-21-1004336348-1177238915-682003330-512"


def test_each_user_and_each_home_has_a_pipe_of_its_own() -> None:
    name = named_pipe_windows.pipe_name(SID, {})
    assert name == rf"\\.\pipe\freezeframe-{SID}"
    elsewhere = named_pipe_windows.pipe_name(SID, {"FREEZEFRAME_HOME": "/x/y"})
    assert elsewhere.startswith(name + "-")
    assert elsewhere == named_pipe_windows.pipe_name(SID, {"FREEZEFRAME_HOME": "/X/z/../Y"})
    assert len(named_pipe_windows.pipe_name(SID, {"FREEZEFRAME_HOME": "/x" * 500})) < 256


def test_the_access_list_names_the_owner_and_nobody_else() -> None:
    sddl = windows.owner_only(SID)
    assert sddl == f"O:{SID}D:P(A;;GA;;;{SID})"
    assert sddl.count("(") == 1
