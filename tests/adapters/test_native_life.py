"""Native programs: attached to, forked, threaded, loaded late, with their own streams."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from harness import waits
from harness.reports import bare, frame_of, functions, own, place, printed, texts
from harness.requirements import need

# --- streams, arguments, environment ------------------------------------------------------------

TALKS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char line[100];
    printf("to stdout\n");
    fprintf(stderr, "to stderr\n");
    printf("terminals: ");
    fflush(stdout);
    printf("%d%d%d\n", isatty(0), isatty(1), isatty(2));
    if (!fgets(line, sizeof line, stdin)) {
        printf("no input\n");
        return 9;
    }
    printf("got %s", line);  // @got
    for (int index = 1; index < argc; index++) {
        printf("[%s]", argv[index]);
    }
    char folder[4096];
    printf("\n%s\n%s\n", getenv("WORD"), getcwd(folder, sizeof folder));
    return 42;
}
"""


@pytest.mark.parametrize("flags", [(), ("-static",)], ids=["dynamic", "static"])
def test_the_three_streams_are_apart_and_live(dbg, native, flags):
    p = native(TALKS, *flags)
    dbg.data("start", p.name, "--no-wait", code=0)

    def told():
        answer = dbg.data("output", "--all")
        return printed(answer, "stdout"), printed(answer, "stderr")

    # It waits for its input now; what it printed before must be here without an end of it.
    expected = ("to stdout\nterminals: 000\n", "to stderr\n")
    waits.wait_until(lambda: told() == expected, lambda: f"{told()} is {expected}")
    dbg.data("input", "something")
    ended = dbg.data("await")

    assert ended["exit"]["code"] == 42
    assert "got something\n" in told()[0]


def test_the_end_of_input_reaches_the_program(dbg, native):
    p = native(TALKS)
    dbg.data("start", p.name, "--no-wait", code=0)

    dbg.data("input", "--eof")

    assert dbg.data("await")["exit"]["code"] == 9


def test_arguments_environment_and_folder_arrive_as_they_were_given(dbg, native, project):
    p = native(TALKS)
    (project / "in.txt").write_text("line\n")
    (project / "folder with space").mkdir()
    words = ["two words", "", "it's", '"quoted"', "$HOME", "a\\b", "-x", "*", "ü", "semi;colon"]

    report = dbg.data(
        *("start", p.path, "--stdin", "in.txt", "--cwd", "folder with space"),
        *("--env", "WORD=so = 'odd' $x", "--", *words),
    )

    assert report["exit"]["code"] == 42
    lines = printed(report, "stdout").splitlines()
    assert lines[-3] == "".join(f"[{word}]" for word in words)
    assert lines[-2] == "so = 'odd' $x"
    assert lines[-1] == str(project / "folder with space")


# --- attach to a running program ----------------------------------------------------------------


@pytest.fixture
def living(sample, project, dbg):
    """A program that runs without a debugger; it ends with the test."""
    p = sample("endless")
    # A name of its own: tests that run beside this one have an `endless` too.
    alone = project / f"endless{os.getpid()}"
    shutil.copy2(p.path, alone)
    process = subprocess.Popen([str(alone)], cwd=project, env=dbg.env)
    try:
        waits.wait_for_file(project / "spinning.txt", "spinning")
        yield p, process
    finally:
        process.kill()
        process.wait()


def test_a_living_program_is_joined_where_it_stands(dbg, living):
    _, process = living

    report = dbg.data("attach", process.pid, "--pause")

    assert report["state"] == "stopped"
    assert report["pid"] == process.pid
    [stack] = dbg.data("backtrace")["stacks"]
    assert "spin" in functions(stack)
    dbg.data("detach")
    waits.wait_until(
        lambda: waits.state_of(process.pid) in ("R", "S"), "it runs again after detach"
    )


def test_a_living_program_is_joined_by_its_name(dbg, living):
    _, process = living

    report = dbg.data("attach", f"endless{os.getpid()}", "--pause")

    assert report["pid"] == process.pid
    dbg.data("detach")
    assert process.poll() is None


def test_a_living_program_is_looked_at_through_a_snapshot_and_goes_on(dbg, living, project):
    _, process = living

    report = dbg.data("core", process.pid)

    assert report["state"] == "stopped"
    [stack] = dbg.data("backtrace")["stacks"]
    assert "spin" in functions(stack)
    assert "closed the core file" in dbg("stop").out
    assert (project / f"core.{process.pid}").exists()
    assert waits.state_of(process.pid) in ("R", "S")


def test_stop_leaves_a_program_that_was_joined_running(dbg, living):
    p, process = living
    dbg.data("attach", process.pid, "-b", p.at("turn"))

    dbg.data("stop")

    assert process.poll() is None
    waits.wait_until(lambda: waits.state_of(process.pid) in ("R", "S"), "it runs again")


def test_a_process_that_is_not_there_cannot_be_joined(dbg):
    gone = subprocess.Popen(["true"])
    gone.wait()

    error = dbg.error("attach", gone.pid)

    assert str(gone.pid) in error["message"]


def test_a_process_that_another_debugger_holds_is_told(dbg, living):
    _, process = living
    dbg.data("attach", process.pid, "--pause")

    error = dbg.error("attach", process.pid, "--name", "second")

    assert error["message"]
    assert dbg.data("context")["state"] == "stopped"
    dbg.data("detach")


# --- threads ------------------------------------------------------------------------------------

BORN = r"""
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int sum = 0;

static void *work(void *argument) {
    long number = (long)argument;  // @born
    pthread_mutex_lock(&lock);
    sum += number;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t threads[8];
    for (long number = 0; number < 8; number++) {
        pthread_create(&threads[number], NULL, work, (void *)number);
    }
    for (int number = 0; number < 8; number++) {
        pthread_join(threads[number], NULL);
    }
    printf("sum %d\n", sum);
    return 0;
}
"""


def test_threads_that_hit_a_breakpoint_while_being_created_are_each_reported_once(dbg, native):
    p = native(BORN)
    seen = []

    report = dbg.data("start", p.name, "-b", p.at("born"))
    while report["state"] == "stopped":
        assert report["stop"]["reason"] == "breakpoint", report["stop"]
        assert report["stop"]["breakpoints"] == [1]
        assert place(report) == p.at("born")
        seen.append(dbg.data("print", "(long)argument")["value"]["text"])
        report = dbg.data("continue")

    assert sorted(seen) == [str(number) for number in range(8)]
    assert report["exit"]["code"] == 0
    assert "sum 28" in printed(dbg.data("output", "--all"))


def test_a_step_stays_in_its_thread(dbg, native):
    p = native(BORN)
    dbg.data("start", p.name, "-b", p.at("born"))
    number = dbg.data("print", "(long)argument")["value"]["text"]
    dbg.data("breakpoint", "remove", "--all")

    report = dbg.data("next", "--count", 2)

    assert bare(frame_of(report)["function"]) == "work"
    assert texts(report)["number"] == number


# --- libraries that are loaded late -------------------------------------------------------------

PLUGIN = r"""
int plugin_answer(int seed) {
    int answer = seed * 2;  // @plugin
    return answer;
}
"""

HOST = r"""
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    printf("loading\n");  // @before
    void *library = dlopen("./plugin.so", RTLD_NOW);
    int (*answer)(int) = (int (*)(int))dlsym(library, "plugin_answer");
    printf("answer %d\n", answer(21));
    return 0;
}
"""


@pytest.mark.parametrize("where", ["plugin.c:{line}", "plugin_answer"])
def test_a_breakpoint_in_a_library_that_is_loaded_later_binds_then(dbg, native, where):
    plugin = native(PLUGIN, "-shared", "-fPIC", name="plugin")
    plugin.path.rename(plugin.path.with_suffix(".so"))
    p = native(HOST, name="host")
    dbg.data("start", p.name, "-b", p.at("before"))

    added = dbg.data("break", where.format(line=plugin.line("plugin")))["breakpoint"]
    assert added["state"] == "pending", added
    report = dbg.data("continue")

    assert place(report) == plugin.at("plugin")
    assert report["stop"]["breakpoints"] == [added["id"]]
    bound = dbg.data("breakpoint", "list")["breakpoints"][1]
    assert (bound["state"], bound["line"]) == ("bound", plugin.line("plugin"))


# --- kinds of programs --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags", [("-no-pie", "-fno-pie"), ("-pie", "-fPIE"), ("-static",)], ids="".join
)
def test_programs_are_debugged_wherever_they_are_loaded(dbg, native, flags):
    p = native(
        r"""
#include <stdio.h>

static int twice(int number) {
    return number * 2;  // @twice
}

int main(void) {
    printf("%d\n", twice(4));
    return 0;
}
""",
        *flags,
    )

    report = dbg.data("start", p.name, "-b", p.at("twice"))

    assert place(report) == p.at("twice")
    assert texts(report)["number"] == "4"
    assert dbg.data("continue")["exit"]["code"] == 0


def test_inlined_functions_are_frames_too(dbg, native):
    p = native(
        r"""
#include <stdio.h>

static inline __attribute__((always_inline)) int inner(int number) {
    printf("inner %d\n", number);  // @inner
    return number + 1;
}

static __attribute__((noinline)) int outer(int number) {
    return inner(number * 2) + 1;  // @outer
}

int main(int argc, char **argv) {
    return outer(argc) != 4;
}
""",
        "-O2",
    )
    dbg.data("start", p.name, "-b", p.at("inner"))

    [stack] = dbg.data("backtrace")["stacks"]

    assert functions(stack)[:2] == ["inner", "outer"]
    assert [frame["line"] for frame in own(stack["frames"])][:2] == [
        p.line("inner"),
        p.line("outer"),
    ]


def test_without_a_name_the_best_debugger_that_is_here_is_taken(dbg, native):
    p = native("int main(void) { return 0; }  // @main\n")
    del dbg.env["FREEZEFRAME_DEBUGGER"]
    dbg.data("start", p.name, "-b", p.at("main"))

    tool = dbg.data("tool")

    assert "app" in tool["reason"]


def test_a_program_that_cannot_be_executed_says_why(dbg, native):
    p = native("int main(void) { return 0; }\n")
    p.path.chmod(0o644)

    error = dbg.error("start", p.name)

    assert "app" in error["message"]


def test_a_source_file_is_built_and_its_program_started(dbg, native):
    p = native("int main(void) { return 7; }\n")

    assert dbg.data("start", p.source.name)["exit"]["code"] == 7


def test_gdbserver_is_joined_by_host_and_port(dbg, sample, project):
    need("gdbserver", "apt-get install gdbserver")
    p = sample("loop")
    server = subprocess.Popen(
        ["gdbserver", "--once", "localhost:0", str(p.path)],
        cwd=project,
        env=dbg.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        port = next(line for line in server.stderr if "Listening" in line).split()[-1]
        report = dbg.data("attach", f"localhost:{port}", "-b", p.at("loop"))
        assert place(report) == p.at("loop")
        dbg.data("detach")
    finally:
        server.kill()
        server.communicate()
