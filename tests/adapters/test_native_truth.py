"""What native debuggers know and a report must not lose: scopes, threads, unnamed members."""

from __future__ import annotations

import re

from harness import programs
from harness.reports import frame_of, place, printed, texts

SCOPES = r"""
#include <stdio.h>

static int total;

static int work(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)  // @loop
        sum += i;
    return sum;
}

static int reuses(int n) {
    int a = n, b = n + 1, c = a * b;
    return c;
}

static int down(int n) {
    int here = n;
    if (n > 0)
        here += down(n - 1);  // @down
    here += 1;
    return here;
}

int main(void) {
    total = work(2);  // @caller
    total += reuses(4);
    total += work(2);
    total += down(2);
    printf("%d\n", total);
    return 0;
}
"""

MEMBERS = r"""
struct packet {
    int kind;
    union { int whole; unsigned char bytes[4]; };
    struct { int left, right; };
};

int main(void) {
    struct packet packet = {.kind = 1, .whole = 65, .left = 3, .right = 4};
    return packet.kind;  // @end
}
"""

ALONE = r"""
int main(void) {
    return 0;  // @alone
}
"""

SPIN = r"""
static volatile int on = 1;
static int spin(int n) {
    while (on)  // @spin
        n++;
    return n;
}

int main(void) { return spin(0); }
"""


# --- watchpoints on variables of a function ------------------------------------------------------


def test_a_watchpoint_on_a_local_ends_when_its_function_returns(dbg, native):
    p = native(SCOPES)
    dbg.data("start", p.name, "-b", p.at("loop"))
    [watch] = dbg.data("watch", "sum")["watchpoints"]
    dbg.data("breakpoint", "remove", "--all")

    wrote, left = dbg.data("continue"), dbg.data("continue")

    assert wrote["stop"]["watch"]["new"] == "1"
    assert left["stop"]["reason"] == "watchpoint"
    assert (left["stop"]["watch"]["id"], left["stop"]["watch"]["ended"]) == (watch["id"], True)
    assert place(left) == p.at("caller")
    assert dbg.data("watch", "list")["watchpoints"] == []
    assert f"watchpoint {watch['id']} was removed" in dbg("context").out
    # The memory is another function's now, and then that of another call of the same one.
    assert dbg.data("continue")["exit"]["code"] == 0


def test_watchpoints_that_end_together_are_told_together(dbg, native):
    p = native(SCOPES)
    dbg.data("start", p.name, "-b", p.at("loop"))
    dbg.data("watch", "n")
    dbg.data("watch", "sum", "--condition", "sum > 100")
    dbg.data("breakpoint", "remove", "--all")

    watch = dbg.data("continue")["stop"]["watch"]

    assert watch["ended"]
    assert [each["ended"] for each in watch["also"]] == [True]
    assert dbg.data("watch", "list")["watchpoints"] == []
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_watchpoint_in_a_recursion_is_on_its_own_call_only(dbg, native):
    p = native(SCOPES)
    dbg.data("start", p.name, "-b", p.at("down"))
    dbg.data("continue")  # the second call: here is 1
    assert dbg.data("print", "here")["value"]["text"] == "1"
    dbg.data("watch", "here")
    dbg.data("breakpoint", "remove", "--all")

    seen = []
    while (stop := dbg.data("continue").get("stop")) is not None:
        seen.append((stop["watch"]["new"], stop["watch"]["ended"]))

    assert seen == [("2", False), ("3", False), (None, True)], seen


def test_a_watchpoint_is_gone_after_its_function_was_finished_by_hand(dbg, native):
    p = native(SCOPES)
    dbg.data("start", p.name, "-b", p.at("loop"))
    dbg.data("watch", "n")  # it is not written
    dbg.data("breakpoint", "remove", "--all")

    left = dbg.data("finish")

    assert place(left) == p.at("caller")
    assert left["stop"]["watch"]["ended"]
    assert dbg.data("watch", "list")["watchpoints"] == []


# --- members ------------------------------------------------------------------------------------


def test_members_of_unions_without_a_name_are_shown(dbg, native):
    p = native(MEMBERS)
    dbg.data("start", p.name, "-b", p.at("end"))

    packet = dbg("print", "packet").out.replace(" ", "")
    for words in ("kind=1", "whole=65", "left=3", "right=4"):
        assert words in packet, packet


def test_a_logpoint_shows_what_is_in_an_array_and_in_a_struct(dbg, native):
    p = native(
        "struct pair { int left, right; };\n"
        "int main(void) { int rows[3] = {10, 20, 30}; struct pair pair = {7, 8};\n"
        "    return rows[0] + pair.left;  // @end\n}\n"
    )
    dbg.data("break", p.at("end"), "--log", "rows {rows} pair {pair}")

    said = printed(dbg.data("start", p.name), "log")

    assert re.search(r"rows \{10, 20, 30\} pair \{left\W+7, right\W+8\}", said), said


def test_arguments_that_were_optimised_out_are_named(dbg, native):
    p = native(
        "#include <stdlib.h>\n"
        "static int sum(int *rows, int n) { int total = 0;\n"
        "    for (int i = 0; i < n; i++)\n"
        "        total += rows[i];\n"
        "    return total; }\n"
        "int main(void) { int *rows = calloc(4, sizeof *rows);\n"
        "    for (int i = 0; i < 4; i++) rows[i] = i;\n"
        "    return sum(rows, 4); }\n",
        "-O2",
    )
    report = dbg.data("start", p.name, "-b", "sum")

    assert frame_of(report)["function"] == "sum"
    assert {"rows", "n"} <= set(texts(report)), texts(report)


# --- running ------------------------------------------------------------------------------------


def test_a_function_that_does_not_return_is_paused_again(dbg, native):
    p = native(SPIN)
    dbg.data("start", p.name, "-b", p.at("spin"))
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("finish", "--timeout", "0.2", code=124)

    again = dbg.data("pause")

    assert frame_of(again)["function"] == "spin"


def test_the_thread_of_a_stop_is_named_even_when_it_has_only_just_begun(dbg, native):
    p = native(
        "#include <pthread.h>\n"
        "static void *work(void *x) { return x;  // @work\n}\n"
        "int main(void) { pthread_t t; pthread_create(&t, 0, work, 0);\n"
        "    pthread_join(t, 0); return 0; }\n"
    )
    told = dbg("start", p.name, "-b", p.at("work")).out

    assert ", thread " in told.splitlines()[0], told


def test_no_thread_s_hit_is_lost_when_another_one_is_stepped(dbg, native):
    p = native(
        "#include <pthread.h>\n"
        "static pthread_barrier_t gate;\n"
        "static void *work(void *x) {\n"
        "    int here = 1; pthread_barrier_wait(&gate);\n"
        "    here++;  // @hit\n"
        "    here++;\n"
        "    return x; }\n"
        "int main(void) { pthread_t t[4]; pthread_barrier_init(&gate, 0, 4);\n"
        "    for (int i = 0; i < 4; i++) pthread_create(&t[i], 0, work, 0);\n"
        "    for (int i = 0; i < 4; i++) pthread_join(t[i], 0);\n"
        "    return 0; }\n"
    )
    report = dbg.data("start", p.name, "-b", p.at("hit"))

    seen = []
    while report["state"] == "stopped":
        if report["stop"]["reason"] == "breakpoint":
            seen.append(report["stop"]["thread"]["id"])
        report = dbg.data("next")

    assert report["exit"]["code"] == 0
    assert len(seen) == len(set(seen)) == 4, seen


# --- several programs ---------------------------------------------------------------------------


def test_a_breakpoint_of_another_program_is_no_news(dbg, native):
    one, other = native(SPIN, name="one"), native(MEMBERS, name="other")
    dbg.data("start", one.name, "-b", one.at("spin"))
    dbg.data("start", other.name, "-b", other.at("end"))

    ended = dbg.data("-s", "other", "continue")

    assert ended["exit"]["code"] == 1
    assert ended["breakpoints"] == []


def test_a_breakpoint_that_was_never_in_place_is_told_at_the_end(dbg, native):
    one, other = native(MEMBERS, name="one"), native(SPIN, name="other")

    ended = dbg.data("start", one.name, "-b", other.at("spin"))

    assert ended["exit"]["code"] == 1
    assert [b["state"] for b in ended["breakpoints"]] == ["pending"]


def test_a_source_is_meant_by_its_name_wherever_the_program_was_made(dbg, debugger, tmp_path):
    source = programs.write(f"away{debugger.suffix}", ALONE, tmp_path / "far")
    p = programs.compiled(source)

    report = dbg.data("start", p.path, "-b", p.at("alone"))

    assert frame_of(report)["path"] == str(source.path)
    # A file without any variable has none; that is not a failure.
    assert "no locals in main" in dbg("locals").out
    assert re.search("no (locals|arguments) in main", dbg("args").out)


def test_a_program_with_lines_only_says_that_it_has_no_variables(dbg, native):
    p = native(SCOPES, "-g1")

    told = dbg("start", p.name, "-b", p.at("loop")).out

    assert f"at {p.at('loop')}" in told, told
    assert "<error>" not in told


ASSIGNED = r"""
struct pair { int a, b; };

int main(void) {
    int set, other;
    double half;
    struct pair both;
    int given = 5;
    given++;  // @stop
    set = other = given;  // @after
    both.a = both.b = set;
    half = both.b / 2.0;
    return half < 0 || other < 0;
}
"""


def test_a_variable_that_the_user_assigned_is_initialised(dbg, native):
    p = native(ASSIGNED, name="assigned")
    dbg.data("start", p.name, "-b", p.at("stop"))

    dbg.data("set", "set", "3")
    dbg.data("set", "both.a", "4")
    dbg.data("print", "half = 2.5")

    now = texts(dbg.data("locals"))
    assert (now["set"], now["half"], now["other"]) == ("3", "2.5", "<not initialised yet>")
    stepped = dbg.data("next")
    assert place(stepped) == p.at("after")
    assert texts(stepped)["set"] == "3"
    assert "a=4" in dbg("print", "both").out


BYTES = r"""
#include <stdint.h>

int main(void) {
    uint8_t level = 250, mac[6] = {1, 2, 3, 0, 255, 9};
    int8_t offset = -5;
    unsigned char text[8] = "abc";
    return level + mac[0] + offset + text[0] == 0;  // @stop
}
"""


def test_bytes_are_numbers_and_none_behind_a_zero_is_hidden(dbg, native):
    p = native(BYTES, name="bytes")

    shown = texts(dbg.data("start", p.name, "-b", p.at("stop")))

    assert shown["level"].split()[0] == "250"
    assert shown["offset"].split()[0] == "-5"
    assert shown["text"] == '"abc"'
    assert re.fullmatch(r'"\\(x01|001)\\(x02|002)\\(x03|003)\\000\\(xff|377)\\t"', shown["mac"])
