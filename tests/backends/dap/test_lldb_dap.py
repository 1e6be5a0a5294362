"""How LLDB's words are read, without LLDB."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

import pytest

from freezeframe.backends import native as _native
from freezeframe.backends.backend import BreakpointRequest, Launch, RawFrame, RawValue
from freezeframe.backends.breakpoint_hits import HitCondition
from freezeframe.backends.dap.adapters import _lldb, _lldb_exceptions, lldb_dap
from freezeframe.backends.dap.adapters._descriptor import ExceptionDetails, ExceptionQuery
from freezeframe.backends.dap.adapters.lldb_dap import ADAPTER
from freezeframe.backends.dap.output_events import OutputClassifier
from freezeframe.backends.debugger import Found, Missing
from freezeframe.backends.transport import corefile
from freezeframe.config import AdapterConfig
from freezeframe.errors import LaunchFailed
from freezeframe.model.locations import Location
from freezeframe.model.stops import Exit, StopReason


def enriched(text: str, type: str | None = None, ref: int = 1) -> RawValue:
    return _lldb.enrich(RawValue("v", text, type, ref), {})


def frame(name: str, path: str | None = "/p/a.cpp") -> RawFrame:
    raw = RawFrame(1, name, path, 3, address="0x0000ABCD")
    return _lldb.read_frame(raw, {"name": name})


@pytest.mark.parametrize(
    ("name", "told", "path"),
    [
        ("next", "*(entry->next)", "entry->next"),
        ("next", "*(entry->next->next)", "entry->next->next"),
        ("*next", "*(entry->next)", "*(entry->next)"),
        ("[0]", "*(entry->names)", "*(entry->names)"),
        ("count", "entry->count", "entry->count"),
    ],
)
def test_a_pointer_s_path_is_its_own_and_not_that_of_what_it_points_to(name, told, path):
    assert _lldb.enrich(RawValue(name, "0x0", "Entry *", 0, expression=told), {}).expression == path


# --- stops --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "description", "expected"),
    [
        ("exception", "signal SIGSEGV: no (fault address=0x3)", "SIGSEGV: no at address 0x3"),
        ("exception", "signal SIGSEGV: sent by kernel (SI_KERNEL)", "SIGSEGV: no valid address"),
        ("exception", "signal SIGUSR1", "SIGUSR1"),
        ("entry", "SIGSEGV: in a core file", "SIGSEGV: in a core file"),
    ],
)
def test_a_signal_is_a_signal_and_no_exception(reason, description, expected):
    read = _lldb.read_stop({"reason": reason, "description": description})

    assert read == (StopReason.SIGNAL, expected)


def test_a_signal_is_one_where_an_old_adapter_has_its_words_elsewhere():
    body = {"reason": "exception", "text": "signal SIGSEGV: invalid address"}

    assert _lldb.read_stop(body) == (StopReason.SIGNAL, "SIGSEGV: invalid address")


def test_a_watchpoint_is_one_where_an_old_adapter_calls_it_a_breakpoint():
    read = _lldb.read_stop({"reason": "breakpoint", "description": "watchpoint 2"})

    assert read == (StopReason.WATCHPOINT, None)


def test_a_throw_stays_an_exception():
    assert _lldb.read_stop({"reason": "exception", "description": "C++ Throw"}) is None


@pytest.mark.parametrize(
    ("packets", "exit"),
    [
        ("send packet: $vCont;c#1\nread packet: $W0b;process:f4a#58\n", Exit(code=11)),
        ("read packet: $T05#00\nread packet: $X09;process:eba#5d\n", Exit(signal="SIGKILL")),
        ("read packet: $OK#9a\n", None),
    ],
)
def test_the_last_packet_tells_a_signal_from_an_exit_code(packets, exit):
    assert _lldb.read_exit(packets) == exit


def test_only_exit_codes_that_could_be_signals_are_asked_about():
    assert [code for code in (0, 1, 11, 64, 65, 101, 255) if _lldb.exit_question(code)] == [
        1,
        11,
        64,
    ]


# --- frames -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "function", "arguments"),
    [
        ("main\x1fmain(argc=1, argv=0x00007ffe)", "main", "argc=1, argv=0x7ffe"),
        ("::divide(int, int)\x1fdivide(a=1, b=0)", "divide", "a=1, b=0"),
        ("Point::shift(int) const\x1fPoint::shift(by=4)", "Point::shift", "by=4"),
        ('f\x1ff(text="a (b) c")', "f", 'text="a (b) c"'),
        ("add::operator()\x1fadd::operator()(x=1)", "add::operator()", "x=1"),
        ("rs::area::h0123456789abcdef\x1frs::area(s=0x1)", "rs::area", "s=0x1"),
        ("0x0000000000000000", "??", None),
        ("___lldb_unnamed_symbol_1149\x1f___lldb_unnamed_symbol_1149", "??", None),
    ],
)
def test_a_frame_is_named_by_its_function_and_its_arguments_stand_apart(name, function, arguments):
    read = frame(name)

    assert (read.function, read.arguments) == (function, arguments)
    assert read.address == "0xabcd"


def test_a_listing_of_instructions_is_no_source():
    read = frame("f", "/usr/lib/libc.so.6`printf")

    assert (read.path, read.line, read.module) == (None, None, "libc.so.6")


def test_rust_names_are_spelled_as_they_are_written():
    assert _native.plain_function(
        "_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..Drop$GT$::drop"
    ) == ("<alloc::vec::Vec<T,A> as core::ops::Drop>::drop")


# --- values -------------------------------------------------------------------------------------


def test_addresses_are_short_and_text_stays_as_it_is():
    assert enriched('0x0000560000001234 "0x0000ff"', "char *").text == '0x560000001234 "0x0000ff"'


def test_a_pointer_to_nothing_has_nothing_inside():
    value = enriched("0x0000000000000000", "node *")

    assert (value.text, value.ref, value.opaque) == ("0x0", 0, False)


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("0x00007ffe00000010", "node *"),
        ("node", "node"),
        ("size=3", "std::vector<int>"),
        (" Has Value=true ", "std::optional<int>"),
        ("0x560000000010", "std::unique_ptr<Shape>"),
        ("strong=1, weak=0", "alloc::rc::Rc<int>"),
    ],
)
def test_what_says_nothing_by_itself_is_opened(text, type):
    assert enriched(text, type).opaque


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<error: variable not available>", "<optimized out>"),
        (" Has Value=false ", "nullopt"),
        ("U+0x7a U+0x7a U'z'", "'z'"),
        ("(16, U+0x7a U'z', true)", "(16, 'z', true)"),
    ],
)
def test_values_are_said_in_the_words_of_their_language(text, shown):
    assert enriched(text, "T").text == shown


def test_memory_that_is_not_there_is_a_value_that_cannot_be_shown():
    value = enriched("<error: read memory from 0x00007ffe failed (0 of 4 bytes read)>", "int")

    assert value.failed
    assert value.text == "no memory at 0x7ffe"


def test_errors_are_brief():
    words = (
        "Expression evaluation in pure C not supported. Ran expression as 'ISO C++'.\n"
        "error: <user expression 0>:1:1: use of undeclared identifier 'nosuch'\n    1 | nosuch\n"
    )

    assert _lldb.brief_error(words) == "use of undeclared identifier 'nosuch'"


def test_arguments_are_read_from_a_listing():
    listing = (
        "(int) argc = 1\n(char **) argv = 0x7f {...}\n(void (*)(int)) call = 0x1\n  x = 3\n}\n"
    )

    assert list(_lldb.read_arguments(listing)) == ["argc", "argv", "call"]


def test_the_thread_to_resume_is_found_by_its_id():
    listing = "* thread #1: tid = 41, 0x1\n  thread #2: tid = 42, 0x2\n"

    assert _lldb.thread_to_resume(listing, 42) == "thread continue 2"
    assert _lldb.thread_to_resume(listing, 4) is None


# --- exceptions ---------------------------------------------------------------------------------


def answered(inquiry: ExceptionQuery, answers: Mapping[str, str]) -> ExceptionDetails | None:
    """Return what an inquiry finds out from these answers."""
    try:
        asked = next(inquiry)
        while True:
            asked = inquiry.send(answers.get(asked.text))
    except StopIteration as end:
        return end.value


def test_an_exception_is_read_with_all_it_inherits_from():
    memory = {
        "(unsigned long)($arg1)": "4096",
        "(unsigned long)($arg2)": "256",
        "freezeframe-thrown throw 4096 256": (
            '{"types": ["Broken", "std::runtime_error"], "message": "too \\"far\\""}\n'
        ),
    }
    inquiry = _lldb_exceptions.examine("C++ Throw")
    assert inquiry is not None

    thrown = answered(inquiry, memory)

    assert thrown is not None
    assert (thrown.info.type, thrown.info.message) == ("Broken", 'too "far"')
    assert thrown.types == ("Broken", "std::runtime_error")


@pytest.mark.parametrize(
    "words",
    [
        "terminate called after throwing an instance of 'app::Broken'\n  what():  broken thing",
        "libc++abi: terminating due to uncaught exception of type app::Broken: broken thing",
    ],
)
def test_an_exception_that_nobody_caught_is_read_from_the_last_words(words):
    info = _native.read_uncaught_exception("SIGABRT", f"before\n{words}\n")

    assert info is not None
    assert (info.type, info.message) == ("app::Broken", "broken thing")
    assert _native.read_uncaught_exception("SIGSEGV", words) is None


# --- output -------------------------------------------------------------------------------------


def heard(*texts: str) -> list[tuple[str, str]]:
    voices = OutputClassifier(ADAPTER)
    return [
        said for text in texts for said in voices.classify({"category": "console", "output": text})
    ]


def test_only_logpoints_speak_on_the_log():
    begin, end = _lldb.LOG_DELIMITERS

    assert heard(f"{begin}i is 3{end}\n", "something of LLDB's\n") == [
        ("log", "i is 3\n"),
        ("console", "something of LLDB's\n"),
    ]


def test_a_logpoint_s_message_may_come_in_pieces_and_says_briefly_what_it_could_not():
    begin, end = _lldb.LOG_DELIMITERS
    pieces = [f"{begin}n=<error: first\n", "error: <user expression 0>:1:1: no n\n", f">!{end}\n"]

    assert heard(*pieces) == [("log", "n=<no n>!\n")]


def test_what_lldb_says_of_watchpoints_is_not_told_twice():
    assert heard("\n", "Watchpoint 1 hit:\n", "old value: 0\n", "new value: 1\n") == []


# --- breakpoints --------------------------------------------------------------------------------


def test_a_function_of_a_module_is_set_by_a_command():
    want = BreakpointRequest(1, Location(module="lib.so", function="f"), condition='s == "x"')

    command = _lldb.BREAKPOINTS.in_module.make(want, Launch("app"))

    assert command == ('breakpoint set --shlib "lib.so" --name "f" --condition "s == \\"x\\""')
    assert _lldb.BREAKPOINTS.in_module.read("Breakpoint 4: no locations (pending).\n") == (4, False)
    assert _lldb.BREAKPOINTS.in_module.read("Breakpoint 5: where = x`f\n") == (5, True)


@pytest.mark.parametrize(
    ("hits", "wanted"),
    [("3", [3]), ("==3", [3]), (">=3", [3, 4, 5]), (">3", [4, 5]), ("%2", [2, 4]), ("<=2", [1, 2])],
)
def test_hit_counts_have_one_meaning(hits, wanted):
    assert [count for count in range(1, 6) if HitCondition.parse(hits).matches(count)] == wanted


# --- files --------------------------------------------------------------------------------------


def test_source_is_no_program_and_the_compiler_is_named(tmp_path):
    source = tmp_path / "app.c"
    source.write_text("int main(void) { return 0; }\n")

    with pytest.raises(LaunchFailed) as error:
        _native.check_program(Launch(str(source)))

    assert error.value.next == "gcc -g app.c -o app"


def core(path, *files: str):
    """Write the smallest core file that names the files of its process."""
    names = b"".join(file.encode() + b"\0" for file in files)
    note = struct.pack("<QQ", len(files), 1) + bytes(24 * len(files)) + names
    notes = struct.pack("<3I", 5, len(note), 0x46494C45) + b"CORE\0\0\0\0" + note
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHH", 4, 62, 1, 0, 64, 0, 0, 64, 56, 1)
    )
    table = struct.pack("<II6Q", 4, 0, 120, 0, 0, len(notes), 0, 4)
    path.write_bytes(head.ljust(64, b"\0") + table + notes)
    return str(path)


def test_a_core_file_tells_whose_it_is(tmp_path):
    told = corefile.read(core(tmp_path / "core", "/bin/app", "/lib/libc.so.6"))

    assert told is not None
    assert told.is_of("/elsewhere/app")
    assert not told.is_of("/bin/other")


def test_what_is_no_core_file_is_none(tmp_path):
    text = tmp_path / "text"
    text.write_text("core")

    assert corefile.read(str(text)) is None
    assert corefile.read("/bin/sh") is None


# --- where it is --------------------------------------------------------------------------------


def _stand_in(path: Path, says: str) -> Path:
    """An executable that prints one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def _found(folder: Path, **config: str) -> Found:
    found = ADAPTER.find({"PATH": str(folder)}, AdapterConfig(**config))
    assert isinstance(found, Found), found
    return found


def test_the_newest_of_several_versions_on_path_is_taken(tmp_path):
    for version in ("18", "21", "19"):
        _stand_in(tmp_path / f"lldb-dap-{version}", f"LLVM version {version}.1.2")

    found = _found(tmp_path)

    assert (found.path, found.version) == (str(tmp_path / "lldb-dap-21"), "21.1.2")


def test_its_plain_name_goes_before_any_version(tmp_path):
    _stand_in(tmp_path / "lldb-dap-30", "LLVM version 30.1.0")
    _stand_in(tmp_path / "lldb-dap", "LLVM version 20.1.0")

    assert _found(tmp_path).version == "20.1.0"


def test_the_name_that_it_had_before_is_known(tmp_path):
    _stand_in(tmp_path / "lldb-vscode-14", "")

    found = _found(tmp_path)

    assert (found.path, found.version) == (str(tmp_path / "lldb-vscode-14"), "14")


def test_one_that_does_not_tell_its_version_is_known_by_where_it_lies(tmp_path):
    real = _stand_in(tmp_path / "lib/llvm-19/bin/lldb-dap", "")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/lldb-dap").symlink_to(real)

    assert _found(tmp_path / "bin").version == "19"


def test_the_configured_one_is_taken_and_no_other(tmp_path):
    _stand_in(tmp_path / "lldb-dap", "LLVM version 22.1.0")
    mine = _stand_in(tmp_path / "mine/debugger", "LLVM version 23.0.0")

    assert _found(tmp_path, path=str(mine)).path == str(mine)
    gone = ADAPTER.find({"PATH": str(tmp_path)}, AdapterConfig(path=str(tmp_path / "gone")))
    assert isinstance(gone, Missing)
    assert "gone" in gone.reason


def test_xcode_s_own_is_asked_for_where_there_is_xcode(tmp_path, monkeypatch):
    theirs = _stand_in(tmp_path / "Xcode.app/usr/bin/lldb-dap", "LLVM version 17.0.0")
    _stand_in(tmp_path / "bin/xcrun", str(theirs))
    monkeypatch.setattr(lldb_dap.glob, "glob", lambda pattern: [])

    assert _found(tmp_path / "bin").path == str(theirs)
