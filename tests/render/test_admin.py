"""The tool, the doctor, settings, plain words, memory, batches: word for word."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace

from freezeframe.errors import FreezeframeError, NotStopped
from freezeframe.model import (
    answers,
    calls,
    crashes,
    divergence,
    history,
    hunting,
    probes,
    questions,
    setup_answers,
    trials,
    waits,
)
from freezeframe.model.answers import (
    Batch,
    BatchItem,
    Disassembly,
    Evaluated,
    Instruction,
    Memory,
    Text,
    Tool,
)
from freezeframe.model.locations import CodeLine
from freezeframe.model.setup_answers import (
    AdapterInfo,
    AdapterList,
    Check,
    Checkup,
    FileChange,
    FileChanges,
    Setting,
    Settings,
    Setup,
    Setups,
    SetupStep,
)
from freezeframe.model.stops import StopReason
from freezeframe.model.values import Value
from freezeframe.render import envelope, error_envelope, render_error
from freezeframe.render.text import RENDERERS, load_all

from .samples import local_scope, report, shown, source, stop, text

#: parts of answers, never answers themselves
PARTS = {
    "DivergenceKind",
    "DivergencePoint",
    "NextLine",
    "RunEnd",
    "AdapterInfo",
    "BatchItem",
    "CallArgument",
    "CallRow",
    "CallSite",
    "Check",
    "Chunk",
    "Condition",
    "Difference",
    "Display",
    "Divergence",
    "FileChange",
    "Hit",
    "Hold",
    "Holder",
    "HitGroup",
    "Instruction",
    "FailureGroup",
    "HuntWorker",
    "Iteration",
    "LaunchConfiguration",
    "LineChange",
    "LineOfCall",
    "Link",
    "LinkKind",
    "LoopReport",
    "LoopValue",
    "ComparedCall",
    "ComparedSide",
    "ComparedStep",
    "Output",
    "OutputDifference",
    "ProbeColumn",
    "ProbeRow",
    "ReadValue",
    "SanitizerReport",
    "SanitizerStack",
    "RecordedStop",
    "Recording",
    "Relay",
    "SessionEvent",
    "SessionInfo",
    "Setting",
    "Setup",
    "SetupStep",
    "SourceText",
    "Stack",
    "StepTrail",
    "Trial",
    "Wait",
    "WaitFacts",
    "Waiter",
    "Watched",
}

#: modules that hold answers
_MODULES = (
    answers,
    calls,
    crashes,
    divergence,
    setup_answers,
    history,
    hunting,
    probes,
    questions,
    trials,
    waits,
)


def test_every_kind_of_answer_has_a_renderer():
    kinds = {
        kind
        for module in _MODULES
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and name not in PARTS
    }

    load_all()
    assert kinds == set(RENDERERS)


def test_a_tool_says_why_it_was_taken_and_what_it_can():
    answer = Tool(
        "debugpy",
        "1.8.22",
        "dap",
        "the one for Python",
        ("python", "-m", "x"),
        ("conditions", "jump"),
        ("memory read",),
        "/usr/bin/python3",
    )

    assert shown(answer) == text("""
        debugpy 1.8.22 (dap)
        why: the one for Python
        interpreter: /usr/bin/python3
        command: python -m x
        can: conditions, jump
        cannot: memory read
    """)


def test_the_doctor_begins_with_what_is_wrong():
    answer = Checkup(
        (
            Check("python", "ok", "3.11 starts"),
            Check("delve", "fail", "no dlv on PATH", fix="go install x"),
            Check("ptrace", "warn", "scope is 1"),
        )
    )

    assert shown(answer) == text("""
        1 fail, 1 warn, 1 ok
        fail  delve  no dlv on PATH
          fix: go install x
        warn  ptrace  scope is 1
        ok  python  3.11 starts
    """)


def test_debuggers_that_are_not_installed_are_only_named_by_the_doctor():
    answer = Checkup(
        (
            Check("python", "ok", "3.11 starts"),
            Check("delve", "skip", "no dlv on PATH", fix="dbg setup delve", debugger=True),
            Check("rdbg", "skip", "there is no ruby", fix="dbg setup rdbg", debugger=True),
        )
    )

    assert shown(answer) == text("""
        1 ok, 2 skip
        ok  python  3.11 starts
        not installed: delve, rdbg (dbg setup NAME)
    """)
    assert shown(Checkup(answer.checks[1:2])) == text("""
        1 skip
        skip  delve  no dlv on PATH
          fix: dbg setup delve
    """)


def test_what_the_doctor_fixed_is_shown_first():
    answer = Checkup(
        (
            Check("disk", "ok", "9 GB free"),
            Check("leftovers", "ok", "nothing is left", mended="removed session-abc"),
        )
    )

    assert shown(answer) == text("""
        2 ok
        ok  leftovers  nothing is left
          fixed: removed session-abc
        ok  disk  9 GB free
    """)


FOUND = AdapterInfo(
    "debugpy",
    "dap",
    ("python",),
    True,
    "1.8.22",
    "/x/debugpy",
    tested=True,
    claims=("*.py", "#! python", "modules"),
    can=("conditions", "jump", "pause"),
    cannot=("memory read",),
)
MISSING = AdapterInfo(
    "delve", "dap", ("go",), False, install=("go install x",), note="no dlv on PATH"
)


def test_installed_adapters_come_first_with_their_capabilities():
    answer = AdapterList((MISSING, FOUND), next=("doctor", "setup NAME"))

    assert shown(answer) == text("""
        debugpy  1.8.22  python  dap  /x/debugpy
          can: all but memory read
        delve  not found  go  dap  untested  no dlv on PATH
        next: dbg doctor or dbg setup NAME
    """)
    little = replace(FOUND, can=("pause",), cannot=("conditions", "jump"))
    assert "  can: pause\n" in shown(AdapterList((little,)))
    assert "  can: everything\n" in shown(AdapterList((replace(FOUND, cannot=()),)))


def test_an_adapter_is_shown_in_full_with_its_smoke_test():
    tried = Check("debugpy", "ok", "1.8.22: stopped, exit code 3, 0.4 s", debugger=True)

    assert shown(AdapterList((FOUND,), tried)) == text("""
        debugpy 1.8.22 (dap)
        languages: python
        path: /x/debugpy
        takes: *.py, #! python, modules
        can: conditions, jump, pause
        cannot: memory read
        tried: ok, 1.8.22: stopped, exit code 3, 0.4 s
    """)
    absent = Check("delve", "skip", "no dlv on PATH", debugger=True)
    assert shown(AdapterList((MISSING,), absent, next=("setup delve",))) == text("""
        delve (dap, untested)
        languages: go
        missing: no dlv on PATH
        install: go install x
        next: dbg setup delve
    """)


def test_a_setup_shows_its_commands_and_why_some_cannot_be_run():
    steps = (
        SetupStep("go install x", "ready"),
        SetupStep("sudo -n apt-get install -y delve", "blocked", "it changes the system"),
    )
    answer = Setups((Setup("delve", "Go", False, "no dlv on PATH", steps),))

    assert shown(replace(answer, next=("setup delve --run",))) == text("""
        delve  not here  Go  no dlv on PATH
          ready: go install x
          blocked: sudo -n apt-get install -y delve  # it changes the system
        next: dbg setup delve --run
    """)
    # In a list the best way is enough.
    assert shown(Setups((answer.setups[0], answer.setups[0]))).count("apt-get") == 0
    assert shown(Setups(())) == "everything is installed\n"


def test_a_setup_that_failed_shows_the_last_output_of_its_command():
    step = SetupStep("go install x", "failed", "it exited with status 1", "go: no\nnetwork")
    ran = SetupStep("go install x", "ran", "3 s")
    tried = Check("delve", "ok", "1.27: stopped", debugger=True)

    assert shown(Setups((Setup("delve", "Go", False, "no dlv", (step,)),))) == text("""
        delve  not here  Go  no dlv
          failed: go install x  # it exited with status 1
            go: no
            network
    """)
    assert shown(Setups((Setup("delve", "Go", True, "1.27", (ran,), tried),))) == text("""
        delve  here  Go  1.27
          ran: go install x  # 3 s
          ok  delve  1.27: stopped
    """)


def test_settings_are_shown_as_one_writes_them_with_where_they_come_from():
    answer = Settings(
        "/h/config.toml",
        True,
        (
            Setting("timeouts.request_s", 30, 30, "how long a request may take"),
            Setting("defaults.adapter", "gdb", None, "which debugger", "config.toml"),
            Setting("defaults.follow_children", False, True, "debug children", "FREEZEFRAME_X"),
        ),
    )

    assert shown(answer) == text("""
        /h/config.toml
        timeouts.request_s = 30  # how long a request may take
        defaults.adapter = "gdb"  # which debugger (from config.toml, default unset)
        defaults.follow_children = false  # debug children (from FREEZEFRAME_X, default true)
    """)
    assert shown(Settings("/h/c.toml", False, ())) == "/h/c.toml (missing: all defaults)\n"


def test_plain_text_is_shown_as_it_is():
    assert shown(Text("a\n  b\n", via="lldb 22")) == "a\n  b\nvia lldb 22\n"
    assert shown(Text("")) == ""


def test_long_text_keeps_both_ends():
    lines = shown(Text("\n".join(f"line {i}" for i in range(1000))), budget_tokens=60).splitlines()

    assert lines[0] == "line 0"
    assert lines[-1] == "line 999"
    left_out = 1000 - (len(lines) - 1)
    assert f"… {left_out} lines left out (--budget 3100)" in lines


def test_text_for_a_program_is_never_cut_or_escaped():
    script = "complete\t-F\x07\n" * 1000

    assert shown(Text(script, whole=True), budget_tokens=60) == script


def test_memory_is_dumped():
    assert shown(Memory("0x1000", b"Hello world, this is\x00\xff", unreadable=10)) == text("""
        0x1000: 48 65 6c 6c 6f 20 77 6f 72 6c 64 2c 20 74 68 69  Hello world, thi
        0x1010: 73 20 69 73 00 ff  s is..
        10 bytes at 0x1016 cannot be read
    """)
    assert shown(Memory("0x10", b"Hi", format="binary")) == "0x10: 01001000 01101001  Hi\n"
    assert shown(Memory("buf", b"Hi", format="text")) == "buf+0x0: Hi\n"
    assert shown(Memory("0x10", b"")) == "no bytes at 0x10\n"


def test_memory_that_does_not_fit_names_the_rest():
    *_, last = shown(Memory("0x1000", bytes(4096)), budget_tokens=60).splitlines()

    assert last == "… 4080 more bytes (dbg memory read 0x1010 --count 4080)"


def test_instructions_are_titled_by_their_source():
    answer = Disassembly(
        (
            Instruction("0x1", "mov eax, 1", "b8 01", "main", "/p/a.c", 3),
            Instruction("0x3", "nop", "90", "main", "/p/a.c", 3, current=True),
            Instruction("0x4", "ret", None, "main", "/p/a.c", 4),
        ),
        source=True,
        lines=(CodeLine("/p/a.c", 3, "  int n = 1;"),),
    )

    assert shown(answer) == text("""
        main:
        a.c:3  int n = 1;
           0x1  b8 01  mov eax, 1
        -> 0x3  90  nop
        a.c:4
           0x4  ret
    """)
    assert "a.c" not in shown(replace(answer, source=False))
    assert shown(Disassembly(())) == "no instructions there\n"


# --- batches ------------------------------------------------------------------------------------


def test_a_batch_shows_each_answer_under_its_command_and_nothing_twice():
    def step(line: int, s: str, was: str) -> object:
        return report(
            stop=stop(StopReason.STEP),
            source=source(line),
            scopes=(local_scope(Value("n", "3"), Value("s", s, changed=True, was=was)),),
            via="debugpy 1.8.22",
        )

    answer = Batch(
        (
            BatchItem("next", True, step(21, "0", "9")),
            BatchItem("next", True, step(22, "1", "0")),
            BatchItem("print n", True, Evaluated("n", Value("n", "3"))),
            BatchItem("print x", False, None, "evaluation", "NameError: x", "dbg locals"),
        ),
        skipped=("continue", "stop"),
    )

    assert shown(answer) == text("""
        > next
        stopped: step at app.py:22 in total
        -> 21      for i in range(n):
        * s = 0 (was 9)
          n = 3
        via debugpy 1.8.22
        > next
        stopped: step at app.py:22 in total
           19  def total(n):
           20      s = 0
           21      for i in range(n):
        -> 22          s += i
           23      return s
           24
           25  print(total(3))
        * s = 1 (was 0)
          unchanged: n
        > print n
        n = 3
        > print x
        evaluation: NameError: x
          next: dbg locals
        not run: continue; stop
    """)


def test_a_new_call_of_the_same_function_shows_its_values_again():
    hits = [report(scopes=(local_scope(Value("n", text), Value("m", "1")),)) for text in "34"]

    answer = Batch(tuple(BatchItem("continue", True, hit) for hit in hits))

    # Nothing is marked in a frame that is seen for the first time.
    assert shown(answer).count("  m = 1\n") == 2
    assert "  n = 4\n" in shown(answer)


def test_values_that_the_answer_above_shows_are_only_named():
    hit = report(scopes=(local_scope(Value("n", "3")),))

    answer = Batch((BatchItem("next", True, hit), BatchItem("next", True, hit)))

    assert shown(answer).count("  n = 3\n") == 1
    assert "  unchanged: n\n" in shown(answer)


def test_the_answers_of_a_batch_share_one_budget_the_last_one_served_first():
    loud = Text("\n".join(f"line {i}" for i in range(1000)))
    items = [BatchItem(f"raw {i}", True, loud) for i in range(30)]
    items.append(BatchItem("print n", True, Evaluated("n", Value("n", "3"))))

    shown_text = shown(Batch(tuple(items)), budget_tokens=400)

    assert len(shown_text.encode()) <= 1200
    assert "> print n\nn = 3\n" in shown_text
    assert "more left out (--budget 800)" in shown_text


# --- files of others ----------------------------------------------------------------------------


def test_a_changed_file_is_shown_with_the_lines_that_came_and_went():
    change = FileChange(
        "/h/.cursor/mcp.json", "the MCP servers of Cursor", "written", '-  }\n+  },\n+  "x": 1'
    )

    answer = FileChanges((change,), "Cursor reads it at its next start", ("doctor hosts",))

    assert shown(answer) == text("""
        written: /h/.cursor/mcp.json (the MCP servers of Cursor)
          -   }
          +   },
          +   "x": 1
        Cursor reads it at its next start
        next: dbg doctor hosts
    """)


# --- errors and JSON ----------------------------------------------------------------------------


def test_an_error_is_a_code_a_fact_and_a_next_step():
    error = NotStopped("the program is running, so there are no frames to show.", next="dbg pause")

    assert render_error(error) == text("""
        not-stopped: the program is running, so there are no frames to show.
          next: dbg pause
    """)


def test_an_error_without_a_next_step_is_one_line():
    assert render_error(FreezeframeError("it broke \x1b[2J.")) == "failed: it broke \\x1b[2J.\n"


def test_the_envelope_is_the_same_for_all():
    done = envelope({"x": 1}, "debugpy 1.8.22", ("locals",))
    failed = error_envelope(NotStopped("it runs.", next="dbg pause"))

    assert json.loads(json.dumps(done)) == {
        "ok": True,
        "data": {"x": 1},
        "via": "debugpy 1.8.22",
        "next": ["locals"],
    }
    assert failed == {
        "ok": False,
        "error": {"code": "not-stopped", "message": "it runs.", "next": "dbg pause"},
    }
