"""gdb-mi with crashes, threads, forks, libraries, C++, Rust, attached programs and core files."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess

import pytest

from backends.async_tests import on_loop, until
from freezeframe.backends.backend import (
    Attach,
    BreakpointChanged,
    Core,
    ExitedEvent,
    Feature,
    StepKind,
    Stopped,
)
from freezeframe.errors import DebuggerError, LaunchFailed, UserError
from freezeframe.model.stops import ExceptionFilter, Exit, StopReason
from freezeframe.model.values import ScopeKind

from .driving import Driver, build, on

CRASH = r"""
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void wild(int *where) {
    *where = 1; // @wild
}
static int deep(int n) {
    char room[4096];
    memset(room, n, sizeof room);
    return deep(n + 1) + room[0]; // @deep
}
static pthread_barrier_t barrier;
static void *worker(void *arg) {
    long id = (long)arg;
    pthread_barrier_wait(&barrier); // @worker
    return (void *)id;
}
static void on_signal(int n) { (void)n; write(1, "handled\n", 8); }
int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "wild")) wild((int *)0x10);
    if (!strcmp(what, "abort")) abort();
    if (!strcmp(what, "deep")) return deep(0);
    if (!strcmp(what, "kill")) kill(getpid(), SIGKILL);
    if (!strcmp(what, "group")) { signal(SIGTERM, SIG_IGN); kill(0, SIGTERM); puts("alive"); }
    if (!strcmp(what, "int")) { signal(SIGINT, on_signal); raise(SIGINT); puts("after"); }
    if (!strcmp(what, "fork")) {
        pid_t child = fork();
        if (!child) _exit(9); // @child
        int status;
        waitpid(child, &status, 0);
        printf("child %d\n", WEXITSTATUS(status));
    }
    if (!strcmp(what, "exec")) execl("/bin/echo", "echo", "became", "echo", (char *)0);
    if (!strcmp(what, "threads")) {
        pthread_t threads[3];
        pthread_barrier_init(&barrier, 0, 4);
        for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, worker, (void *)i);
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    }
    if (!strcmp(what, "sleep")) { puts("ready"); for (int i = 0; i < 3000; i++) usleep(10000); }
    return 0;
}
"""


@pytest.fixture(scope="session")
def crash(programs):
    return build(programs, "crash.c", CRASH, "-pthread")


def ended(code: int | None = None, signal: str | None = None) -> ExitedEvent:
    return ExitedEvent(Exit(code=code, signal=signal))


@on_loop
async def test_a_wild_pointer_is_a_signal_with_name_meaning_and_address(crash):
    async with Driver() as d:
        await d.start(crash.launch("wild"))
        stop = await d.stop()
        assert stop.reason is StopReason.SIGNAL
        assert stop.description == "SIGSEGV: no memory at address 0x10"
        assert await d.place() == ("wild", crash.line("wild"))
        assert (await d.values(ScopeKind.ARGUMENTS))["where"].text == "0x10"
        assert await d.go() == ended(signal="SIGSEGV")


@on_loop
async def test_an_abort_shows_the_user_s_frame_behind_the_library_s(crash):
    async with Driver() as d:
        await d.start(crash.launch("abort"))
        stop = await d.stop()
        assert stop.description == "SIGABRT"
        frames = await d.frames()
        assert frames[0].library
        assert [f.function for f in frames if not f.library] == ["main"]
        assert await d.go() == ended(signal="SIGABRT")


@on_loop
async def test_a_stack_overflow_is_reported_without_counting_its_frames(crash):
    async with Driver() as d:
        await d.start(crash.launch("deep"))
        assert (await d.stop()).reason is StopReason.SIGNAL
        frames, total = await d.backend.frames(1, 0, 20)
        assert len(frames) == 20
        assert total is None
        assert any(f.function == "deep" for f in frames)


@on_loop
async def test_a_killed_program_ends_with_that_signal(crash):
    async with Driver() as d:
        await d.start(crash.launch("kill"))
        assert await d.next() == ended(signal="SIGKILL")
        with pytest.raises(DebuggerError):
            await d.backend.resume(1)


@on_loop
async def test_a_signal_to_the_program_s_group_spares_its_debugger(crash):
    async with Driver() as d:
        await d.start(crash.launch("group"))
        assert "SIGTERM" in (await d.stop()).description
        assert await d.go() == ended(0)
        assert d.printed() == "alive\n"


@on_loop
async def test_an_interrupt_from_elsewhere_reaches_the_program(crash):
    async with Driver() as d:
        await d.start(crash.launch("int"))
        stop = await d.stop()
        assert (stop.reason, stop.description) == (StopReason.SIGNAL, "SIGINT")
        assert await d.go() == ended(0)
        assert d.printed() == "handled\nafter\n"


@on_loop
async def test_children_of_a_program_run_as_they_do_without_a_debugger(crash):
    async with Driver() as d:
        await d.start(crash.launch("fork"), crash.at("child"))
        event = await d.next()
        while isinstance(event, Stopped):  # the parent hits that line too
            event = await d.go()
        assert event == ended(0)
        assert d.printed() == "child 9\n"
    async with Driver() as d:
        await d.start(crash.launch("exec"))
        assert await d.next() == ended(0)
        assert d.printed() == "became echo\n"


@on_loop
async def test_a_child_is_followed_where_gdb_is_set_to(crash):
    async with Driver() as d:
        how = {"follow-fork-mode": "child"}
        await d.start(crash.launch("fork", options=how), crash.at("child", condition="child == 0"))
        stop = await d.stop()
        assert stop.breakpoints == (1,)
        assert await d.go(stop.thread) == ended(9)


@on_loop
async def test_every_thread_is_listed_with_its_own_frames(crash):
    async with Driver() as d:
        await d.start(crash.launch("threads"), crash.at("worker"))
        seen = set()
        event = await d.next()
        while isinstance(event, Stopped):
            frames, _ = await d.backend.frames(event.thread, 0, 5)
            assert frames[0].function == "worker"
            seen.add((await d.backend.evaluate("id", frames[0].id)).text)
            threads = {t.id for t in await d.backend.threads()}
            assert event.thread in threads
            main, _ = await d.backend.frames(1, 0, 20)
            assert "main" in [f.function for f in main]
            await d.backend.resume(event.thread)
            event = await d.next()
        assert event == ended(0)
        assert seen == {"0", "1", "2"}


@on_loop
async def test_one_thread_runs_alone(crash):
    async with Driver() as d:
        await d.start(crash.launch("threads"), crash.at("worker"))
        stop = await d.stop()
        await d.backend.resume(stop.thread, only=True)
        await d.backend.pause(None)
        stopped = await d.stop()
        assert stopped.reason is StopReason.PAUSE
        await d.backend.set_breakpoints(crash.path, [])
        assert await d.go() == ended(0)


# --- libraries, optimised, stripped -------------------------------------------------------------


@on_loop
async def test_a_breakpoint_in_a_library_binds_when_it_is_loaded(programs):
    library = build(
        programs,
        "plug.c",
        "int plugged(int n) {\n    return n + 1; // @plugged\n}\n",
        "-shared",
        "-fPIC",
        output="libplug.so",
    )
    host = build(
        programs,
        "host.c",
        f"""
        #include <dlfcn.h>
        int main(void) {{
            void *h = dlopen("{library.binary}", RTLD_NOW);
            int (*f)(int) = (int (*)(int))dlsym(h, "plugged");
            return f(4); // @call
        }}
        """,
        "-ldl",
    )
    async with Driver() as d:
        await d.start(host.launch(), library.at("plugged", 1), on("libplug.so!plugged", 2))
        assert not d.bound[1].verified
        assert not d.bound[1].rejected
        assert "plug.c" in d.bound[1].message
        stop = await d.stop()
        assert stop.breakpoints == (1, 2)
        moved = [e.breakpoint for e in d.events if isinstance(e, BreakpointChanged)]
        assert {(b.id, b.verified, b.line) for b in moved} >= {(1, True, 2)}
        assert (await d.evaluate("n")).text == "4"
        assert await d.go() == ended(5)


@pytest.mark.parametrize("flags", [("-no-pie",), ("-O2",), ("-static",)])
def test_programs_of_every_make_stop_and_end(programs, flags):
    source = build(
        programs,
        f"make{flags[0]}.c",
        r"""
        #include <stdio.h>
        #include <stdlib.h>
        __attribute__((noinline)) int work(int a, int b) {
            int unused = a * 17;
            int kept = a + b;
            printf("%d\n", kept); // @kept
            return kept;
        }
        int main(int argc, char **argv) { return work(argc, atoi("41")); }
        """,
        *flags,
    )

    @on_loop
    async def run():
        async with Driver() as d:
            await d.start(source.launch(), source.at("kept"))
            await d.stop()
            values = await d.values(ScopeKind.LOCALS)
            if flags == ("-O2",):
                assert values["unused"].text == "<optimized out>" or values["unused"].text == "17"
            else:
                assert values["kept"].text == "42"
            assert await d.go() == ended(42)

    run()


@on_loop
async def test_a_stripped_program_shows_addresses_and_instructions(crash, programs):
    binary = str(programs / "stripped")
    strip = await asyncio.create_subprocess_exec("strip", "-o", binary, crash.binary)
    assert await strip.wait() == 0
    async with Driver() as d:
        launch = crash.launch("wild")
        await d.start(type(launch)(binary, launch.args, launch.cwd, launch.env))
        stop = await d.stop()
        assert stop.reason is StopReason.SIGNAL
        frame = (await d.frames())[0]
        assert (frame.function, frame.path, frame.library) == ("??", None, False)
        assert (await d.backend.disassemble(frame.address, 3))[0].current
        assert await d.locals() == {}
    async with Driver() as d:
        await d.start(type(launch)(binary, launch.args, launch.cwd, launch.env, stop_on_entry=True))
        assert (await d.stop()).reason is StopReason.ENTRY
        assert await d.go() != ended(0)


# --- C++ ----------------------------------------------------------------------------------------


@on_loop
async def test_cpp_containers_are_readable_and_exceptions_stop(programs):
    source = build(
        programs,
        "shop.cpp",
        r"""
        #include <map>
        #include <memory>
        #include <stdexcept>
        #include <string>
        #include <vector>
        namespace shop {
        class Item { public: std::string name; int qty; private: double price = 2.5;
          public: Item(std::string n, int q) : name(n), qty(q) {}
          int sum(int by) { return qty * by; } }; // @sum
        }
        template <typename T> T twice(T value) { return value + value; } // @twice
        int main() {
            std::vector<int> numbers{1, 2, 3};
            std::map<std::string, int> ages{{"ann", 3}, {"bob", 4}};
            shop::Item item("apple", 7);
            auto owned = std::make_unique<shop::Item>("pear", 2);
            int total = item.sum(3) + twice(2) + (int)twice(1.5); // @total
            try { throw std::runtime_error("too much"); } // @throw
            catch (const std::exception &e) { total++; } // @caught
            try { throw 42; } catch (int n) { total += n; }
            return total; // @end
        }
        """,
    )
    async with Driver() as d:
        filters = [ExceptionFilter("throw", "", condition="runtime_error")]
        await d.start(
            source.launch(), source.at("throw"), on("shop::Item::sum", 2), filters=filters
        )
        assert (await d.stop()).breakpoints == (2,)
        assert (await d.place())[0] == "shop::Item::sum"
        assert (await d.evaluate("this->name")).text == '"apple"'
        await d.go()
        values = await d.values(ScopeKind.LOCALS)
        pair, *_ = await d.backend.children(values["ages"].ref)
        halves = [(v.name, v.text) for v in await d.backend.children(pair.ref)]
        assert halves == [("first", '"ann"'), ("second", "3")]
        numbers = await d.backend.children(values["numbers"].ref)
        assert [(v.name, v.text) for v in numbers] == [("[0]", "1"), ("[1]", "2"), ("[2]", "3")]
        members = {v.name: v for v in await d.backend.children(values["item"].ref)}
        assert members["name"].text == '"apple"'
        assert members["price"].text == "2.5"
        assert members["qty"].expression == "item.qty"
        stop = await d.go()
        assert stop.reason is StopReason.EXCEPTION
        info = await d.backend.exception(stop.thread)
        assert (info.type, info.message, info.mode) == ("std::runtime_error", "too much", "throw")
        assert [f.function for f in await d.frames() if not f.library] == ["main"]
        await d.backend.set_breakpoints(source.path, [source.at("end", 3)])
        assert (await d.go()).breakpoints == (3,)
        await d.backend.set_filters([ExceptionFilter("catch", "")])


@on_loop
async def test_an_uncaught_cpp_exception_stops_at_the_abort(programs):
    source = build(
        programs,
        "uncaught.cpp",
        """
        #include <stdexcept>
        int main() { throw std::logic_error("nobody"); } // @throw
        """,
    )
    async with Driver() as d:
        await d.start(source.launch())
        stop = await d.stop()
        assert stop.description == "SIGABRT"
        assert "nobody" in d.printed("stderr")


# --- Rust ---------------------------------------------------------------------------------------


@on_loop
async def test_rust_values_names_main_and_panics(programs):
    source = build(
        programs,
        "basket.rs",
        r"""
use std::collections::HashMap;
#[derive(Debug)]
struct Item { name: String, qty: u32 }
fn total(items: &Vec<Item>) -> u32 {
    let mut sum = 0;
    for item in items {
        sum += item.qty; // @sum
    }
    sum
}
fn main() {
    let pear = Item { name: "pear".into(), qty: 3 };
    let items = vec![Item { name: "apple".to_string(), qty: 2 }, pear];
    let some: Option<i32> = Some(5);
    let none: Option<i32> = None;
    let mut ages = HashMap::new();
    ages.insert("ann".to_string(), 3);
    let sum = total(&items); // @total
    println!("sum {} {:?} {:?} {:?}", sum, some, none, ages); // @print
    if sum == 5 { panic!("five is {}", "too much"); } // @panic
}
""",
    )
    async with Driver() as d:
        await d.start(source.launch(), on("main", 1), source.at("print", 2), on("total", 3))
        assert (await d.stop()).breakpoints == (1,)
        function, _ = await d.place()
        assert function == "basket::main"
        assert (await d.go()).breakpoints == (3,)
        assert (await d.place())[0] == "basket::total"
        await d.go()
        values = await d.values(ScopeKind.LOCALS)
        first, _ = await d.backend.children(values["items"].ref)
        assert (await d.backend.children(first.ref))[0].text == '"apple"'
        assert values["some"].text == "Some(5)"
        assert values["none"].text == "None"
        assert values["ages"].count == 1
        assert values["sum"].text == "5"
        stop = await d.go()
        assert stop.reason is StopReason.EXCEPTION
        assert d.printed().startswith("sum 5 Some(5) None")
        info = await d.backend.exception(stop.thread)
        assert (info.type, info.message) == ("panic", "five is too much")
        frames = await d.frames()
        assert not [f.function for f in frames if re.search(r"::h[0-9a-f]{16}$", f.function)]
        assert [f.function for f in frames if not f.library][:1] == ["basket::main"]
        assert await d.go() == ended(101)


# --- attach and core files ----------------------------------------------------------------------


@on_loop
async def test_a_running_program_is_attached_to_and_detached(crash):
    process = await asyncio.create_subprocess_exec(
        crash.binary, "sleep", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        async with Driver() as d:
            await d.start(Attach(pid=process.pid, cwd="/", env=dict(os.environ)))
            await d.backend.pause(None)
            assert (await d.stop()).reason is StopReason.PAUSE
            assert "main" in [f.function for f in await d.frames()]
            assert Feature.STDIN not in d.backend.features
            await d.backend.resume(1)
            await d.backend.detach()
            assert await d.next() == ExitedEvent(Exit(how="detached"))
        assert process.returncode is None
        with open(f"/proc/{process.pid}/status") as file:
            status = file.read()
        assert "TracerPid:\t0" in status
        assert "State:\tT" not in status
        async with Driver() as d:
            await d.start(Attach(pid=process.pid, cwd="/", env=dict(os.environ)))
        assert process.returncode is None
    finally:
        process.kill()
        await process.wait()
    async with Driver() as d:
        with pytest.raises(LaunchFailed):
            await d.start(Attach(pid=process.pid, cwd="/", env=dict(os.environ)))


@on_loop
async def test_a_launched_program_keeps_its_output_after_detach(crash):
    async with Driver() as d:
        await d.start(crash.launch("sleep"))
        await d.until_printed("ready")
        pid = d.pid
        await d.backend.detach()
        await d.backend.dispose()
        assert d.backend.has_detached_output
        assert os.path.exists(f"/proc/{pid}")
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not d.backend.has_detached_output)
        assert not os.path.exists(d.backend.io.directory)


@on_loop
async def test_a_core_file_is_inspected_and_never_run(crash, programs):
    core = str(programs / "core")
    async with Driver() as d:
        await d.start(crash.launch("wild"))
        await d.stop()
        await d.backend.raw(f"generate-core-file {core}", (await d.frames())[0].id)
    async with Driver() as d:
        await d.start(Core(crash.binary, core, cwd="/", env=dict(os.environ)))
        stop = await d.stop()
        assert stop.reason is StopReason.SIGNAL
        assert "SIGSEGV" in stop.description
        assert (await d.place()) == ("wild", crash.line("wild"))
        assert (await d.values(ScopeKind.ARGUMENTS))["where"].text == "0x10"
        assert Feature.PAUSE not in d.backend.features
        with pytest.raises(UserError, match="core file"):
            await d.backend.resume(1)
        with pytest.raises(UserError, match="core file"):
            await d.backend.step(StepKind.OVER, 1)
        await d.backend.set_filters(d.backend.filters)
        assert all(re.fullmatch(r"LWP \d+", t.name) for t in await d.backend.threads())
    async with Driver() as d:
        with pytest.raises(LaunchFailed):
            await d.start(Core(crash.binary, crash.path, cwd="/", env=dict(os.environ)))


@on_loop
async def test_a_debug_server_is_attached_to(loop):
    server = shutil.which("gdbserver")
    if server is None:
        pytest.skip("gdbserver is not installed; apt install gdbserver")
    process = await asyncio.create_subprocess_exec(
        server, "--once", "127.0.0.1:0", loop.binary, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        output = b""
        while b"Listening on port" not in output:
            output += await process.stderr.readline()
        port = int(output.split()[-1])
        async with Driver() as d:
            target = Attach(
                host="127.0.0.1", port=port, program=loop.binary, cwd="/", env=dict(os.environ)
            )
            await d.start(target, loop.at("sum"))
            assert (await d.stop()).breakpoints == (1,)
            assert (await d.locals())["sum"] == "0"
            await d.backend.set_breakpoints(loop.path, [])
            assert await d.go() == ended(3)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@on_loop
async def test_a_debugger_that_dies_fails_what_is_pending_and_ends_the_program(crash):
    async with Driver() as d:
        await d.start(crash.launch("sleep"))
        await d.until_printed("ready")
        pid = d.pid
        os.kill(d.backend.process.pid, signal.SIGKILL)
        event = await d.next()
        assert event.exit.how == "lost"
        with pytest.raises(DebuggerError):
            await d.backend.threads()
        await until(lambda: not os.path.exists(f"/proc/{pid}") or _zombie(pid))


def _zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
