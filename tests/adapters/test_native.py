"""What a debugger of native code adds: memory, registers, instructions, watchpoints, addresses."""

from __future__ import annotations

import base64
import re

import pytest

from harness.reports import bare, frame_of, place, printed, texts

COUNTER = r"""
#include <stdio.h>

struct point { int x, y; };
struct node { int value; struct node *next; };

static int counter = 0;
static int other = 7;
static char buffer[16] = "hello, memory";

static int bump(int by) {
    counter += by;  // @write
    return counter;  // @wrote
}

static int peek(void) {
    int seen = other;  // @read
    return seen;  // @seen
}

int main(void) {
    struct point place = {3, 4};
    struct node second = {20, NULL}, first = {10, &second};
    struct node *list = &first;
    printf("begin\n");  // @begin
    for (int turn = 1; turn <= 4; turn++) {
        bump(turn);  // @bump
        peek();
    }
    printf("%d %d %d %s\n", counter, place.x, list->next->value, buffer);  // @end
    return 0;
}
"""


@pytest.fixture
def counter(dbg, native):
    """The program above, stopped at its beginning."""
    p = native(COUNTER)
    dbg.data("start", p.name, "-b", p.at("begin"))
    return p


# --- watchpoints --------------------------------------------------------------------------------


def test_a_watchpoint_tells_who_wrote_what(dbg, counter):
    [watch] = dbg.data("watch", "counter")["watchpoints"]

    report = dbg.data("continue")

    assert report["stop"]["reason"] == "watchpoint"
    seen = report["stop"]["watch"]
    assert (seen["id"], seen["expression"]) == (watch["id"], "counter")
    assert (seen["old"], seen["new"]) == ("0", "1")
    # Hardware reports after the write, so the program may be at the next line already.
    assert (seen["line"] or frame_of(report)["line"]) == counter.line("write")
    assert printed(report, "log", "console") == ""
    told = dbg("context").out
    assert "counter = 1 (was 0)" in told, told


def test_a_watchpoint_stops_at_each_write_until_it_is_removed(dbg, counter):
    [watch] = dbg.data("watch", "counter")["watchpoints"]

    seen = []
    for _ in range(2):
        dbg.data("continue")
        seen.append(dbg.data("print", "counter")["value"]["text"])
    assert dbg.data("watch", "list")["watchpoints"][0]["id"] == watch["id"]
    dbg.data("watch", "remove", watch["id"])
    assert dbg.data("watch", "list")["watchpoints"] == []

    assert seen == ["1", "3"]
    assert dbg.data("continue")["state"] == "terminated"


def test_a_watchpoint_with_a_condition_stops_only_where_it_holds(dbg, counter):
    dbg.data("watch", "counter", "--condition", "counter > 5")

    dbg.data("continue")

    assert dbg.data("print", "counter")["value"]["text"] == "6"


def test_a_read_of_a_variable_can_be_watched(dbg, counter):
    dbg.data("watch", "other", "--access")

    report = dbg.data("continue")

    assert report["stop"]["reason"] == "watchpoint"
    assert bare(frame_of(report)["function"]) == "peek"


def test_what_has_no_address_cannot_be_watched(dbg, counter):
    error = dbg.error("watch", "1 + 1", code=1)

    assert "1 + 1" in error["message"]
    assert dbg.data("continue")["state"] == "terminated"


# --- memory, registers, instructions ------------------------------------------------------------


def test_memory_is_read_at_an_expression_and_at_an_address(dbg, counter):
    by_name = dbg.data("memory", "read", "&buffer", "--count", 5)
    by_address = dbg.data("memory", "read", by_name["address"], "--count", 5)

    assert _bytes(by_name) == b"hello"
    assert _bytes(by_address) == b"hello"
    # An array is where it is, a pointer is where it points, a register is what it holds.
    assert _bytes(dbg.data("memory", "read", "buffer", "--count", 5)) == b"hello"
    first = dbg.data("memory", "read", "list", "--count", 4)
    assert int(first["address"], 16) == int(
        dbg.data("print", "list")["value"]["text"].split()[0], 16
    )
    assert dbg.data("memory", "read", "$sp", "--count", 8)["address"].lower().startswith("0x7f")
    assert "hello" in dbg("memory", "read", "&buffer", "--count", 16).out


def test_memory_that_is_written_is_used_by_the_program(dbg, counter):
    answer = dbg.data("memory", "write", "&buffer", "48 45")

    assert _bytes(answer) == b"HE"
    dbg.data("continue")
    assert "HEllo, memory" in printed(dbg.data("output", "--all"))


def test_memory_that_is_not_there_is_said_to_be_unreadable(dbg, counter):
    answer = dbg("memory", "read", "0x8", "--count", 16)

    assert "no memory at 0x8 can be read" in answer.err + answer.out
    assert answer.code == 1


def _bytes(memory) -> bytes:
    return base64.b64decode(memory["data"])


def test_registers_are_shown_all_or_by_name(dbg, counter):
    names = {
        value["name"] for scope in dbg.data("registers")["scopes"] for value in scope["values"]
    }
    [scope] = dbg.data("registers", "rip", "rsp")["scopes"]

    assert {"rax", "rip", "rsp"} <= names
    assert {value["name"] for value in scope["values"]} == {"rip", "rsp"}
    [rip] = [value["text"] for value in scope["values"] if value["name"] == "rip"]
    assert int(rip.split()[0], 16) == int(frame_address(dbg), 16)


def frame_address(dbg) -> str:
    return dbg.data("backtrace")["stacks"][0]["frames"][0]["address"]


def test_instructions_are_shown_from_here_and_of_a_function(dbg, counter):
    here = dbg.data("disassemble", "--count", 4)["instructions"]
    function = dbg.data("disassemble", "bump", "--count", 3)["instructions"]

    assert len(here) == 4
    assert int(here[0]["address"], 16) == int(frame_address(dbg), 16)
    assert here[0]["current"]
    assert len(function) == 3
    whole = dbg.data("disassemble", "main")["instructions"]
    assert whole[-1]["text"].split()[0] in ("ret", "retq")
    assert "push" in function[0]["text"] or "endbr" in function[0]["text"]


def test_instructions_come_with_their_lines_of_source(dbg, counter):
    answer = dbg("disassemble", "bump", "--count", 8, "--source")

    assert "counter += by" in answer.out


def test_a_step_can_be_one_instruction(dbg, counter):
    before = frame_address(dbg)

    report = dbg.data("next", "--instruction")

    assert report["stop"]["reason"] == "step"
    after = int(frame_address(dbg), 16)
    assert 0 < after - int(before, 16) <= 15


# --- values -------------------------------------------------------------------------------------


def test_fields_and_pointers_are_readable(dbg, counter):
    assert dbg.data("print", "place.y")["value"]["text"] == "4"
    assert dbg.data("print", "list->next->value")["value"]["text"] == "20"
    answer = dbg("print", "place")
    assert re.search(r"x.*3.*y.*4", answer.out, re.DOTALL), answer.out


@pytest.mark.parametrize(
    ("target", "value"), [("place.x", "30"), ("list->next->value", "200"), ("*(&other)", "9")]
)
def test_fields_are_set_in_place_and_through_pointers(dbg, counter, target, value):
    assert dbg.data("set", target, value)["value"]["text"] == value

    assert dbg.data("print", target)["value"]["text"] == value


@pytest.mark.parametrize(
    ("format", "text"),
    [("hex", "0xff"), ("binary", "0b11111111"), ("octal", "0o377"), ("decimal", "255")],
)
def test_a_number_is_shown_in_other_ways(dbg, counter, format, text):
    assert dbg.data("print", "255", "--format", format)["value"]["text"] == text


def test_a_pointer_is_shown_as_an_address(dbg, counter):
    text = dbg.data("print", "list", "--format", "address")["value"]["text"]

    assert re.match(r"0x[0-9a-f]{6,}", text)


# --- breakpoints --------------------------------------------------------------------------------


def test_an_address_can_be_broken_at(dbg, counter):
    [first, *_] = dbg.data("disassemble", "bump", "--count", 1)["instructions"]

    added = dbg.data("break", f"*{first['address']}")

    assert added["breakpoint"]["state"] == "bound"
    report = dbg.data("continue")
    assert report["stop"]["breakpoints"] == [added["breakpoint"]["id"]]
    assert bare(frame_of(report)["function"]) == "bump"


def test_a_function_of_one_module_can_be_broken_at(dbg, native):
    p = native(COUNTER)
    dbg.data("break", "app!bump")

    report = dbg.data("start", p.name)

    assert bare(frame_of(report)["function"]) == "bump"


def test_a_function_of_a_library_can_be_broken_at(dbg, native):
    p = native(COUNTER)
    dbg.data("break", "puts")

    report = dbg.data("start", p.name)

    assert report["state"] == "stopped"
    assert [bare(frame["function"]) for frame in report["callers"]] == ["main"]


@pytest.mark.parametrize(
    ("count", "turns"),
    [("3", ["3"]), (">=3", ["3", "4"]), (">3", ["4"]), ("%2", ["2", "4"]), ("<=2", ["1", "2"])],
)
def test_hit_counts_have_one_meaning(dbg, native, count, turns):
    p = native(COUNTER)
    dbg.data("break", p.at("bump"), "--hit-count", count)

    seen = []
    report = dbg.data("start", p.name)
    while report["state"] == "stopped":
        seen.append(texts(report)["turn"])
        report = dbg.data("continue")

    assert seen == turns


def test_a_logpoint_shows_expressions_and_nothing_of_the_debugger(dbg, native):
    p = native(COUNTER)
    dbg.data("break", p.at("bump"), "--log", "turn {turn} of {place.x + 1}, {list->next->value}")

    report = dbg.data("start", p.name)

    lines = [f"turn {turn} of 4, 20\n" for turn in (1, 2, 3, 4)]
    assert printed(report, "log") == "".join(lines)
    assert printed(report, "console") == ""


def test_a_logpoint_whose_expression_fails_says_so_and_goes_on(dbg, native):
    p = native(COUNTER)
    dbg.data("break", p.at("bump"), "--log", "{turn} {no_such_name}")

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated"
    assert printed(report, "log").count("no_such_name") == 4


def test_a_condition_that_makes_no_sense_is_not_taken_for_true(dbg, native):
    p = native(COUNTER)
    dbg.data("break", p.at("bump"), "-c", "no_such_name == 1")

    report = dbg.data("start", p.name)

    told = dbg("breakpoint", "list").out + str(report)
    assert "no_such_name" in told
    assert report["state"] == "stopped" or "rejected" in told or "undeclared" in told, told


# --- the debugger's own language ----------------------------------------------------------------


def test_raw_speaks_the_debugger_s_own_language(dbg, counter):
    answer = dbg.data("raw", "p counter")

    assert "0" in answer["text"]
    assert place(dbg.data("context")) == counter.at("begin")


def test_raw_that_fails_is_an_error(dbg, counter):
    error = dbg.error("raw", "no-such-command", code=1)

    assert "no-such-command" in error["message"]


def test_gdb_goes_back_over_what_it_records_and_others_in_a_second_run(dbg, sample, debugger):
    p = sample("loop")
    dbg.data("start", p.name, "-b", p.at("first"))
    if "gdb" not in debugger.id:
        assert place(dbg.data("back")) == p.at("main")
        assert dbg.error("set", "total", "3")["next"] == "dbg present"
        assert place(dbg.data("present")) == p.at("first")
        return
    refused = dbg.error("back")
    assert refused["next"] == "dbg raw 'record full'"
    # That it was refused has changed nothing.
    dbg.data("raw", "record full")
    steps = [dbg.data("next") for _ in range(3)]

    assert place(dbg.data("back")) == place(steps[1]) == p.at("call")
    first = dbg.data("reverse-continue")
    assert (place(first), first["stop"]["description"]) == (
        p.at("first"),
        "the recording ends here",
    )


NAMED = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t begun;

static void *work(void *argument) {
    char name[16];
    snprintf(name, sizeof name, "named-%d", *(int *)argument);
    pthread_barrier_wait(&begun);
    pthread_setname_np(pthread_self(), name);
    printf("%s\n", name);  // @named
    return NULL;
}

int main(void) {
    pthread_t first, second;
    int numbers[] = {1, 2};
    pthread_barrier_init(&begun, NULL, 3);
    pthread_create(&first, NULL, work, &numbers[0]);
    pthread_create(&second, NULL, work, &numbers[1]);
    numbers[0] = 1;  // @begin
    pthread_barrier_wait(&begun);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
"""


def test_a_thread_has_the_name_that_it_gave_itself_since_the_last_stop(dbg, native):
    p = native(NAMED)
    dbg.data("start", p.name, "-b", p.at("begin"), "-b", p.at("named"))

    names = {dbg.data("continue")["stop"]["thread"]["name"] for _ in range(2)}

    assert names == {"named-1", "named-2"}
