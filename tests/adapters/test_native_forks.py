"""Native programs that start others: forked, replaced, left alone, followed."""

from __future__ import annotations

import contextlib
import os
import signal

from harness import waits
from harness.reports import frame_of, place, printed, texts

FORKS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int child(void) {
    printf("child\n");  // @child
    fflush(stdout);
    return 5;
}

int main(void) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(child());
    }
    int status;
    waitpid(pid, &status, 0);
    printf("parent heard %d\n", WEXITSTATUS(status));  // @parent
    return WEXITSTATUS(status);
}
"""


def test_a_program_that_forks_ends_as_it_does_without_a_debugger(dbg, native):
    p = native(FORKS)

    report = dbg.data("start", p.name, "-b", p.at("parent"))

    assert place(report) == p.at("parent")
    ended = dbg.data("continue")
    assert ended["exit"]["code"] == 5
    assert "child\n" in printed(dbg.data("output", "--all"))


def test_a_child_that_is_left_alone_is_not_harmed_and_that_is_said(dbg, native, debugger):
    p = native(FORKS)

    report = dbg.data("start", p.name, "-b", "child")

    assert report["state"] == "terminated", report
    assert report["exit"]["code"] == 5
    uncalled, alone = report["notes"]
    assert "at child was never hit" in uncalled
    assert "--child" in alone
    assert ("follow" in alone) is debugger.follows


def test_the_child_alone_is_debugged_where_that_is_asked_for(dbg, native):
    p = native(FORKS)

    report = dbg.data("start", p.name, "-b", p.at("child"), "-b", p.at("parent"), "--child", "only")

    assert place(report) == p.at("child")
    assert dbg.data("continue")["exit"]["code"] == 5


#: the first of three generations ends first, the last one crashes
FAMILY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int say(int value) {
    printf("%d\n", value);
    fflush(stdout);
    return value;
}

static void grandchild(int *nothing) {
    *nothing = say(3);  // @crash
}

static void child(void) {
    if (fork() == 0) {
        grandchild(0);
    }
    wait(0);
    exit(say(2));  // @child
}

int main(void) {
    int value = 0;
    system("true");
    pid_t pid = fork();  // @fork
    if (pid == 0) {
        child();
    }
    value = say(1);  // @parent
    return value;
}
"""


def test_parent_and_children_are_debugged_side_by_side(dbg, native, debugger):
    p = native(FAMILY)
    if not debugger.follows:
        error = dbg.error("start", p.name, "--child", "follow")
        assert error["code"] == "unsupported"
        assert "--child only" in error["next"]
        return
    dbg.data("start", p.name, "-b", p.at("fork"), "-b", p.at("child"), "--child", "follow")

    # A step over the fork is a step; the child has run nothing yet that would stop it.
    stepped = dbg.data("next", "--count", 2, "-s", "app")
    assert (stepped["session"], place(stepped)) == ("app", p.at("parent"))
    crash = dbg.data("continue", "-s", "app")

    assert crash["session"] == "app/2"
    assert crash["stop"]["description"].startswith("SIGSEGV")
    assert frame_of(crash)["function"] == "grandchild"
    assert texts(crash)["nothing"] == "0x0"
    # Each goes on by itself; the one above waits for the one that crashed.
    child = dbg.data("continue", "-s", "app/2")
    assert (child["session"], place(child)) == ("app/1", p.at("child"))
    dbg.data("continue", "-s", "app/1")
    listed = {each["name"]: each["exit"] for each in dbg.data("sessions", "--all")["sessions"]}
    assert [listed[name]["code"] for name in ("app", "app/1")] == [1, 2]
    assert listed["app/2"]["signal"] == "SIGSEGV"
    assert printed(dbg.data("output", "--all", "-s", "app")) == "1\n3\n2\n"


def test_a_child_that_becomes_another_program_is_followed_into_it(dbg, native, debugger):
    p = native(
        r"""
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    if (fork() == 0) {
        execl("./second", "second", (char *)0);
    }
    int status;
    wait(&status);
    return WEXITSTATUS(status);
}
""",
        name="first",
    )
    second = native("int main(void) {\n    return 6;  // @six\n}\n", name="second")
    way = "follow" if debugger.follows else "only"

    report = dbg.data("start", p.name, "-b", second.at("six"), "--child", way)

    assert place(report) == second.at("six")
    assert dbg.data("continue")["exit"]["code"] == 6


def test_a_program_that_becomes_another_is_followed_to_its_end(dbg, native):
    p = native(
        r"""
#include <unistd.h>

int main(void) {
    execl("./second", "second", (char *)0);  // @exec
    return 1;
}
""",
        name="first",
    )
    native('#include <stdio.h>\nint main(void) { puts("second"); return 6; }\n', name="second")

    report = dbg.data("start", p.name)

    assert report["state"] == "terminated", report
    assert report["exit"]["code"] == 6
    assert printed(dbg.data("output", "--all")) == "second\n"


def test_a_family_that_is_left_runs_on(dbg, native, debugger):
    p = native(
        r"""
#include <stdio.h>
#include <unistd.h>

int main(void) {
    pid_t pid = fork();
    for (int turn = 0;; turn++) {
        usleep(1000);  // @turn
        printf("%d %d\n", (int)pid, turn);
        fflush(stdout);
    }
}
"""
    )
    way = ("--child", "follow") if debugger.follows else ()
    dbg.data("start", p.name, "-b", p.at("turn"), *way)
    family = 2 if debugger.follows else 1

    def standing():
        sessions = dbg.data("status")["sessions"]
        return [each["pid"] for each in sessions if each["state"] == "stopped"]

    def named(*names):
        return [
            pid
            for pid, command in dbg.processes().items()
            if any(os.path.basename(word).startswith(names) for word in command.split())
        ]

    waits.wait_until(lambda: len(standing()) == family, "each of them stopped")
    pids = standing()

    dbg.data("detach", "-s", "app")

    try:
        # With the debuggers goes all that is not to stay.
        waits.wait_until(lambda: not named("gdb", "lldb"), lambda: f"{dbg.processes()} end")
        for pid in pids:
            waits.wait_until(lambda pid=pid: waits.state_of(pid) in ("R", "S"), f"{pid} runs on")
    finally:
        for pid in named("app"):
            # The end of the parent's terminal may have been the child's.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


BECOMES = r"""
#include <sys/wait.h>
#include <unistd.h>

int work(int n) { return n * 2; }

int main(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(work(4));
    waitpid(child, NULL, 0);
    execl("/bin/true", "true", (char *)0);
    return 1;
}
"""


def test_a_breakpoint_of_a_program_that_becomes_another_was_in_place(dbg, native):
    p = native(BECOMES, name="becomes")

    told = dbg("start", p.name, "-b", "work").out

    assert "never bound" not in told, told
    assert "breakpoint 1 at work was never hit" in told, told
    assert "breakpoints were not set in child processes: --child" in told, told
