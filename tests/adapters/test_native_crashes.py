"""Programs that die: one call, and the report alone is enough to begin."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess

import pytest

from harness import waits
from harness.reports import bare, frame_of, own, place, printed, shown, texts
from harness.requirements import need

NULL = r"""
#include <stdio.h>

struct node { int value; struct node *next; };

static int sum(struct node *list) {
    int total = 0;
    while (total < 100) {
        total += list->value;  // @crash
        list = list->next;
    }
    return total;
}

int main(void) {
    struct node second = {2, NULL}, first = {1, &second};
    printf("sum\n");
    fflush(stdout);
    return sum(&first);  // @caller
}
"""

WILD = r"""
int main(void) {
    volatile int *wild = (int *)0x12345678;
    *wild = 1;  // @crash
    return 0;
}
"""

ABORT = r"""
#include <stdlib.h>

static void check(int amount) {
    if (amount < 0) {
        abort();  // @crash
    }
}

int main(void) {
    check(-5);  // @caller
    return 0;
}
"""

ASSERTION = r"""
#include <assert.h>

static int half(int amount) {
    assert(amount % 2 == 0);  // @crash
    return amount / 2;
}

int main(void) {
    return half(3);  // @caller
}
"""

BEYOND = r"""
#include <stdlib.h>

static void fill(char *block, int size) {
    block[size] = 1;  // @beyond
}

int main(void) {
    char *volatile block = malloc(16);
    fill(block, 16);
    return 0;
}
"""

DOUBLE_FREE = r"""
#include <stdlib.h>

static void release(char *block) {
    free(block);  // @crash
}

int main(void) {
    char *volatile block = malloc(32);
    release(block);
    release(block);  // @caller
    return 0;
}
"""

OVERFLOW = r"""
#include <stdio.h>

static int dive(int level) {
    char room[64];
    room[0] = (char)level;
    return dive(level + 1) + room[0];  // @dive
}

int main(void) {
    printf("diving\n");
    fflush(stdout);
    return dive(0);  // @caller
}
"""

HANDLER = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t heard = 0;

static void handle(int number) {
    heard = number;  // @handler
}

static int ask(void) {
    raise(SIGUSR1);  // @raise
    return 4;
}

int main(void) {
    signal(SIGUSR1, handle);
    raise(SIGURG);  // nobody hears it, and nobody stops for it
    ask();
    printf("heard %d\n", heard);
    fflush(stdout);
    raise(SIGTERM);
    return 0;
}
"""

DEADLOCK = r"""
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *first(void *nothing) {
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&right);  // @first
    return nothing;
}

static void *second(void *nothing) {
    pthread_mutex_lock(&right);
    pthread_barrier_wait(&both);
    FILE *file = fopen("locked.txt", "w");
    fputs("locked", file);
    fclose(file);
    pthread_mutex_lock(&left);  // @second
    return nothing;
}

int main(void) {
    pthread_t one, two;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&one, NULL, first, NULL);
    pthread_create(&two, NULL, second, NULL);
    pthread_join(one, NULL);  // @join
    pthread_join(two, NULL);
    return 0;
}
"""


# --- crash reports ------------------------------------------------------------------------------


def test_a_null_pointer_is_reported_with_address_line_and_locals(dbg, native):
    p = native(NULL)

    report = dbg.data("start", p.name)

    assert report["stop"]["reason"] == "signal"
    assert place(report) == p.at("crash")
    assert "SIGSEGV" in report["stop"]["description"]
    assert re.search(r"0x0\b", report["stop"]["description"]), report["stop"]["description"]
    assert texts(report)["total"] == "3"
    assert re.search(r"\b0x0\b|NULL", texts(report)["list"])
    [stack] = dbg.data("backtrace")["stacks"]
    assert [frame["line"] for frame in own(stack["frames"])] == [p.line("crash"), p.line("caller")]
    assert dbg.data("continue")["exit"]["signal"] == "SIGSEGV"


def test_a_wild_pointer_is_reported_with_its_address(dbg, native):
    p = native(WILD)

    report = dbg.data("start", p.name)

    assert place(report) == p.at("crash")
    assert "0x12345678" in report["stop"]["description"]


def test_a_file_that_is_shorter_than_its_mapping_is_reported_with_the_address(dbg, native):
    p = native(
        r"""
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    int file = open("empty", O_RDWR | O_CREAT, 0600);
    char *map = mmap((void *)0x200000000, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    map[16] = 1;  // @crash
    return 0;
}
"""
    )

    report = dbg.data("start", p.name)

    assert place(report) == p.at("crash")
    assert report["stop"]["description"] == (
        "SIGBUS: nothing behind the mapping at address 0x200000010"
    )


@pytest.mark.parametrize("text", [ABORT, ASSERTION, DOUBLE_FREE], ids=["abort", "assert", "free"])
def test_an_abort_shows_the_user_s_own_frame(dbg, native, text):
    p = native(text)

    report = dbg.data("start", p.name)

    assert report["stop"]["reason"] == "signal"
    assert "SIGABRT" in report["stop"]["description"]
    assert shown(report) == p.at("crash")
    assert any(line["current"] and "@crash" in line["text"] for line in report["source"]["lines"])
    assert texts(report), "the locals of that frame"
    assert p.line("caller") in [frame["line"] for frame in report["callers"]]
    assert dbg.data("continue")["exit"]["signal"] == "SIGABRT"


def test_what_a_sanitizer_finds_is_told_with_the_user_s_own_line(dbg, native):
    p = native(BEYOND, "-fsanitize=address")

    told = dbg("start", p.name).out

    assert "exception: AddressSanitizer: heap-buffer-overflow on address 0x" in told, told
    assert p.at("beyond") in told
    # The report begins at its head, without the dump of shadow memory.
    assert re.search(r"^err\| ==\d+==ERROR: AddressSanitizer", told, re.MULTILINE), told
    assert "Shadow byte" not in told


UNDEFINED = r"""
#include <limits.h>
#include <stdio.h>

static int next_of(int value) {
    return value + 1;  // @overflow
}

int main(void) {
    printf("%d\n", next_of(INT_MAX));
    return 0;
}
"""


def test_ubsan_s_finding_has_its_operands(dbg, native):
    p = native(UNDEFINED, "-fsanitize=undefined")

    told = dbg("start", p.name).out

    assert "UndefinedBehaviorSanitizer: Signed integer overflow: 2147483647 + 1" in told, told
    assert p.at("overflow") in told
    assert "\n| -2147483648" in dbg("continue").out


RACE = r"""
#include <pthread.h>

static int counter;

static void *work(void *given) {
    for (int i = 0; i < 1000; i++)
        counter++;  // @race
    return given;
}

int main(void) {
    pthread_t both[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&both[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(both[i], 0);
    return counter == 0;
}
"""


def test_a_data_race_stops_in_the_user_s_own_line(dbg, native):
    p = native(RACE, "-fsanitize=thread", "-pthread")

    report = dbg.data("start", p.name)

    assert report["stop"]["exception"]["type"] == "ThreadSanitizer"
    assert report["stop"]["exception"]["message"] == "data race"
    assert shown(report) == p.at("race")


LEAK = r"""
#include <stdlib.h>

int main(void) {
    return malloc(10) == 0;
}
"""


def test_an_exit_code_of_leaksanitizer_is_explained(dbg, native):
    p = native(LEAK, "-fsanitize=address")

    report = dbg.data("start", p.name)

    assert any("LeakSanitizer" in note for note in report["notes"]), report
    assert dbg(*shlex.split(report["next"][0])).out.startswith("exited: code 0")


def test_what_an_assertion_says_is_in_the_report(dbg, native):
    p = native(ASSERTION)

    answer = dbg("start", p.name)

    assert "amount % 2 == 0" in answer.out
    assert "amount = 3" in answer.out


def test_a_stack_overflow_is_reported_at_once_and_its_stack_is_folded(dbg, native):
    p = native(OVERFLOW)

    report = dbg.data("start", p.name, timeout_s=30)

    assert "SIGSEGV" in report["stop"]["description"]
    assert bare(frame_of(report)["function"]) == "dive"
    [stack] = dbg.data("backtrace", "--limit", 20, timeout_s=30)["stacks"]
    assert len(stack["frames"]) == 20
    assert stack["more"] is None or stack["more"] > 1000
    # A page of the same line adds nothing.
    assert len(dbg("backtrace", timeout_s=30).out) < 1500


def test_a_program_that_returns_a_signal_s_number_was_not_killed_by_it(dbg, native):
    p = native("int main(void) { return 11; }\n")

    ended = dbg.data("start", p.name)["exit"]

    assert (ended["code"], ended["signal"]) == (11, None)


# --- signals ------------------------------------------------------------------------------------


def test_a_signal_stops_by_name_and_reaches_its_handler_afterwards(dbg, native):
    p = native(HANDLER)
    dbg.data("break", p.at("handler"))

    report = dbg.data("start", p.name)
    while report["stop"]["reason"] == "signal":
        assert "SIGUSR1" in report["stop"]["description"]
        report = dbg.data("continue")

    assert place(report) == p.at("handler")
    assert texts(report)["number"] == str(int(signal.SIGUSR1))


def test_a_program_that_dies_of_a_signal_ends_with_it(dbg, native):
    p = native(HANDLER)
    dbg.data("start", p.name)

    # The stop is inside the C library; the selected frame is the function that raised the signal.
    report = dbg.data("finish")
    assert (frame_of(report)["function"], report["returned"]["text"]) == ("main", "4")
    report = dbg.data("continue")
    while report["state"] == "stopped":
        assert report["stop"]["reason"] == "signal"
        report = dbg.data("continue")

    assert report["exit"]["signal"] == "SIGTERM"
    assert f"heard {int(signal.SIGUSR1)}\n" in printed(dbg.data("output", "--all"))


def test_a_deadlock_is_seen_in_the_stacks_of_all_threads(dbg, native, project):
    p = native(DEADLOCK)
    dbg.data("start", p.name, "--no-wait", code=0)
    waits.wait_for_file(project / "locked.txt", "locked")
    dbg.data("pause")

    stacks = dbg.data("backtrace", "--all-threads", "--locals")["stacks"]

    looked_at = [str(own(stack["frames"])[0]["index"]) in stack["values"] for stack in stacks]
    assert looked_at == [True, True, True]
    innermost = {own(stack["frames"])[0]["line"] for stack in stacks}
    assert innermost == {p.line("join"), p.line("first"), p.line("second")}


# --- core files ---------------------------------------------------------------------------------


@pytest.fixture
def core(project):
    """Run a program up to a line and return its core file, which gdb writes."""

    need("gdb", "apt-get install gdb")

    def make(program, line):
        path = project / "core"
        done = subprocess.run(
            [
                *("gdb", "-q", "-nx", "-batch", "-ex", "set disable-randomization off"),
                *("-ex", f"break {line}", "-ex", "run", "-ex", f"generate-core-file {path}"),
                *("-ex", "kill", str(program.path)),
            ],
            cwd=project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert path.exists(), done.stdout + done.stderr
        return path

    return make


def test_a_core_file_shows_the_moment_of_death(dbg, native, core):
    p = native(NULL)
    path = core(p, p.line("crash"))

    report = dbg.data("core", p.name, path.name)

    assert report["state"] == "stopped"
    assert shown(report) == p.at("crash")
    assert texts(report)["total"] == "0"
    [stack] = dbg.data("backtrace")["stacks"]
    assert [frame["line"] for frame in own(stack["frames"])] == [p.line("crash"), p.line("caller")]
    assert dbg.data("print", "list->value")["value"]["text"] == "1"
    assert dbg.data("registers", "rip")["scopes"]
    assert dbg.data("memory", "read", "list", "--count", 4)["data"]


def test_the_threads_of_a_core_file_are_all_there(dbg, sample, core):
    p = sample("threads")
    path = core(p, p.line("worker"))

    dbg.data("core", p.name, path.name)

    stacks = dbg.data("backtrace", "--all-threads")["stacks"]
    assert len(stacks) == 4
    assert sum("work" in [bare(f["function"]) for f in stack["frames"]] for stack in stacks) == 3


def test_a_core_file_cannot_be_resumed(dbg, native, core):
    p = native(NULL)
    dbg.data("core", p.name, core(p, p.line("crash")).name)

    for command in ("continue", "next", "step", "finish"):
        error = dbg.error(command, code=1)
        assert "core" in error["message"], error
    assert shown(dbg.data("context")) == p.at("crash")


def test_a_core_file_that_is_none_is_refused(dbg, native, project):
    p = native(NULL)
    (project / "core").write_text("nothing of the kind")

    error = dbg.error("core", p.name, "core")

    assert "core" in error["message"]


def test_a_core_file_of_another_program_is_told(dbg, native, core):
    p = native(NULL)
    other = native(WILD, name="other")
    path = core(p, p.line("crash"))

    answer = dbg("core", other.name, path.name)

    assert re.search(r"\bapp\b.*\bother\b|\bother\b.*\bapp\b", answer.out + answer.err), str(answer)


# --- without source -----------------------------------------------------------------------------


def test_a_stripped_program_is_shown_by_addresses_and_instructions(dbg, native):
    p = native(NULL, "-g0", "-s")

    report = dbg.data("start", p.name)

    assert "SIGSEGV" in report["stop"]["description"]
    assert frame_of(report)["address"]
    answer = dbg("context").out
    assert re.search(r"\bmov[lq]?\b|\badd[lq]?\b", answer), answer
    assert re.search(r"\brip\b|\brax\b|\bpc\b", answer), answer


def test_values_that_were_optimised_out_are_said_to_be(dbg, native):
    p = native(
        r"""
#include <stdio.h>

__attribute__((noinline)) static int twice(int number) {
    int doubled = number * 2;
    printf("twice %d\n", number);  // @twice
    return doubled;
}

__attribute__((noinline)) static int ask(int seed) {
    int unused = seed * 31;
    int answer = twice(seed + 1);
    return answer + 1;  // @ask
}

int main(int argc, char **argv) {
    return ask(argc) != 5;
}
""",
        "-O2",
    )

    dbg.data("start", p.name, "-b", p.at("twice"))

    caller = dbg.data("up")
    assert bare(caller["frame"]["function"]) == "ask"
    told = dbg("locals").out
    assert re.search(r"unused = .*(optimi[sz]ed|not available|unavailable)", told), told
    assert dbg.data("continue")["exit"]["code"] == 0


HANDLED = r"""
#include <signal.h>
#include <stdlib.h>

static volatile sig_atomic_t seen;
static void count(int number) { seen += number; }

int main(int argc, char **argv) {
    signal(SIGUSR1, count);
    raise(SIGUSR1);
    int *missing = argc > 1 ? 0 : &argc;
    *missing = 5;  // @crash
    return seen == SIGUSR1 ? 3 : 0;
}
"""


def test_a_signal_that_the_program_handles_is_no_crash(dbg, native):
    p = native(HANDLED)

    assert "does not crash: it exited: code 3" in dbg("crash", p.name).out
    answer = dbg("crash", p.name, "--", "again").out
    assert "SIGSEGV" in answer
    assert f"{p.at('crash')} in main" in answer
