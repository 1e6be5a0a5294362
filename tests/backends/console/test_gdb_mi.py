"""gdb through MI as a backend: start, breakpoints, steps, values, exits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.backend import BreakpointChanged, ExitedEvent, Feature, StepKind
from freezeframe.config import Config, Timeouts
from freezeframe.errors import DebuggerError, EvaluationFailed, LaunchFailed, UserError
from freezeframe.model.stops import Exit, StopReason
from freezeframe.model.values import ScopeKind

from .driving import Driver, build, on


@on_loop
async def test_a_program_stops_at_a_breakpoint_with_its_output_so_far(loop):
    async with Driver() as d:
        await d.start(loop.launch("a b", "it's", ""), loop.at("sum"))
        stop = await d.stop()
        assert (stop.reason, stop.breakpoints) == (StopReason.BREAKPOINT, (1,))
        assert d.printed() == "hello 4\n"
        assert d.printed("stderr") == "warned\n"
        assert [f.function for f in await d.frames()] == ["total", "main"]
        assert (await d.frames())[0].path == loop.path
        assert await d.locals() == {"sum": "0", "i": "0"}
        assert (await d.backend.threads())[0].id == stop.thread


@on_loop
async def test_an_exit_code_is_reported_as_a_number_not_in_octal(loop):
    async with Driver() as d:
        await d.start(loop.launch(), loop.at("print"))
        await d.stop()
        await d.backend.assign("sum", "5", (await d.frames())[0].id)
        assert await d.go() == ended(65)
    assert d.printed().endswith("total 5\n")


def ended(code: int) -> ExitedEvent:
    return ExitedEvent(Exit(code=code))


@on_loop
async def test_the_program_gets_the_caller_s_arguments_environment_and_directory(
    programs, tmp_path
):
    source = build(
        programs,
        "tell.c",
        r"""
        #include <stdio.h>
        #include <unistd.h>
        extern char **environ;
        int main(int c, char **v) {
            char d[4096];
            for (int i = 1; i < c; i++) printf("<%s>", v[i]);
            for (char **e = environ; *e; e++) printf("[%s]", *e);
            printf("(%s)%d", getcwd(d, sizeof d), getsid(0) == getpid());
        }
        """,
    )
    env = {
        "A": "b  c",
        "X%Y": "'q\" $HOME\nnext",
        "PYTHONHOME": "/nowhere",
        "É": "ü",
        "PATH": "/bin",
    }
    args = ("a b", "", "it's", "*", "$HOME", "x\ny", "-n", "\\", '"', "é", "<f", ";")
    async with Driver() as d:
        await d.start(source.launch(*args, env=env, cwd=str(tmp_path)))
        assert await d.next() == ended(0)
        expected = "".join(f"<{a}>" for a in args)
        expected += "".join(f"[{k}={v}]" for k, v in env.items()) + f"({tmp_path})1"
        assert d.printed() == expected


@on_loop
async def test_input_is_written_and_ended(loop):
    async with Driver() as d:
        await d.start(loop.launch("read"))
        assert Feature.STDIN in d.backend.features
        await d.backend.write_stdin(b"one\n")
        await d.until_printed("read one\n")
        await d.backend.close_stdin()
        assert await d.next() == ended(3)
        with pytest.raises(UserError):
            await d.backend.write_stdin(b"two\n")


@on_loop
async def test_input_comes_from_a_file(loop, tmp_path):
    file = tmp_path / "in put"
    file.write_text("alpha\nbeta\n")
    async with Driver() as d:
        await d.start(loop.launch("read", stdin=str(file)))
        assert Feature.STDIN not in d.backend.features
        assert await d.next() == ended(3)
        assert d.printed().endswith("read alpha\nread beta\n")
    async with Driver() as d:
        with pytest.raises(LaunchFailed, match="cannot be read"):
            await d.start(loop.launch(stdin=str(tmp_path / "none")))


@on_loop
async def test_a_program_stops_at_its_entry(loop):
    async with Driver() as d:
        await d.start(loop.launch(stop_on_entry=True))
        stop = await d.stop()
        assert stop.reason is StopReason.ENTRY
        assert (await d.place()) == ("main", loop.line("first"))


@on_loop
async def test_steps_go_over_into_and_out_with_the_returned_value(loop):
    async with Driver() as d:
        await d.start(loop.launch(), loop.at("total"))
        await d.stop()
        await d.backend.step(StepKind.INTO, 1)
        assert (await d.stop()).reason is StopReason.STEP
        assert (await d.place())[0] == "total"
        await d.backend.step(StepKind.OVER, 1)
        await d.stop()
        await d.backend.step(StepKind.OUT, 1)
        await d.stop()
        values = await d.values(ScopeKind.LOCALS)
        assert [(v.name, v.text) for v in values.values() if v.returned] == [("total", "6")]
        await d.backend.step(StepKind.OVER, 1)
        await d.stop()
        assert not any(v.returned for v in (await d.values(ScopeKind.LOCALS)).values())
        before = (await d.frames())[0].address
        await d.backend.step(StepKind.OVER, 1, instruction=True)
        await d.stop()
        assert (await d.frames())[0].address != before
        await d.backend.step(StepKind.OUT, 1)
        assert await d.next() == ended(3)


@pytest.mark.parametrize(
    ("hits", "condition", "expected"),
    [
        ("==3", None, ["3"]),
        ("3", "n % 2 == 0", ["6"]),
        (">=9", None, ["9", "10"]),
        (">9", None, ["10"]),
        ("%4", None, ["4", "8"]),
        ("<3", None, ["1", "2"]),
        ("<=1", "n > 5", ["6"]),
        ("<1", None, []),
        (None, "n > 8", ["9", "10"]),
    ],
)
def test_hit_counts_count_the_hits_where_the_condition_holds(loop, hits, condition, expected):
    @on_loop
    async def run():
        async with Driver() as d:
            await d.start(loop.launch(), loop.at("tick", hit_count=hits, condition=condition))
            seen = []
            event = await d.next()
            while event != ended(3):
                assert event.breakpoints == (1,)
                seen.append((await d.evaluate("n")).text)
                event = await d.go()
            assert seen == expected

    run()


@on_loop
async def test_every_breakpoint_that_was_hit_is_named(loop):
    async with Driver() as d:
        await d.start(
            loop.launch(),
            loop.at("tick", 1),
            loop.at("tick", 2, condition="n == 2"),
            loop.at("tick", 3, hit_count="3"),
        )
        assert (await d.stop()).breakpoints == (1,)
        assert (await d.go()).breakpoints == (1, 2)
        assert (await d.go()).breakpoints == (1, 3)
        bound = await d.backend.set_breakpoints(loop.path, [loop.at("tick", 2, condition="n == 5")])
        assert [b.verified for b in bound] == [True]
        assert (await d.go()).breakpoints == (2,)
        assert (await d.evaluate("n")).text == "5"


@on_loop
async def test_a_logpoint_prints_without_interrupting_a_step(loop):
    async with Driver() as d:
        await d.start(
            loop.launch(),
            loop.at("call", 1),
            loop.at("tick", 2, log="n is {n}, {{twice}} {n * 2} {nosuch}"),
        )
        await d.stop()
        await d.backend.step(StepKind.OVER, 1)
        assert (await d.stop()).reason is StopReason.STEP
        assert (await d.place())[0] == "main"
        assert d.printed("log").startswith("n is 1, {twice} 2 <No symbol")
        await d.backend.set_breakpoints(
            loop.path, [loop.at("tick", 3, log="{n}", condition="n > 4", hit_count="%2")]
        )
        assert await d.go() == ended(3)
        assert d.printed("log").endswith("\n6\n8\n10\n")


@on_loop
async def test_a_breakpoint_that_cannot_be_bound_carries_gdb_s_message(loop):
    async with Driver() as d:
        await d.start(
            loop.launch(),
            loop.at("tick", 1, condition="nosuch > 1"),
            on(f"{loop.path}:999", 2),
            on("nosuchfunction", 3),
            on("tick", 4),
            on(f"{loop.path}:{loop.line('loop') + 2}", 5),
            loop.at("sum", 6, hit_count="often"),
        )
        bound = d.bound
        assert bound[1].rejected
        assert 'No symbol "nosuch"' in bound[1].message
        assert bound[2].rejected
        assert not bound[3].verified
        assert not bound[3].rejected
        assert "not defined" in bound[3].message
        assert (bound[4].verified, bound[4].line) == (True, loop.line("tick"))
        assert bound[5].line == loop.line("total")
        assert bound[6].rejected
        assert (await d.stop()).breakpoints == (4,)


@on_loop
async def test_a_condition_that_cannot_be_evaluated_stops_and_says_why(loop):
    async with Driver() as d:
        await d.start(loop.launch(), loop.at("tick", condition="*(int*)(n - 1) == 4"))
        stop = await d.stop()
        passed = await d.backend.hit_breakpoints(stop.breakpoints)
        assert "Cannot access memory" in passed.failures[1]


@on_loop
async def test_breakpoints_are_set_while_the_program_runs_and_it_runs_on(programs):
    source = build(
        programs,
        "endless.c",
        r"""
        #include <signal.h>
        #include <stdio.h>
        volatile long turns;
        int main(int argc, char **argv) {
            if (argc > 1) { sigset_t all; sigfillset(&all); sigprocmask(SIG_BLOCK, &all, 0); }
            puts("begun");
            for (;;) {
                turns++; // @turn
            }
        }
        """,
    )
    async with Driver() as d:
        await d.start(source.launch())
        await d.until_printed("begun")
        bound = await d.backend.set_breakpoints(source.path, [source.at("turn")])
        assert bound[0].verified
        assert (await d.stop()).breakpoints == (1,)
        await d.backend.set_breakpoints(source.path, [])
        await d.backend.resume(1)
        await d.backend.pause(None)
        assert (await d.stop()).reason is StopReason.PAUSE
        await d.backend.resume(1)
        await d.backend.pause(None)
        assert (await d.stop()).reason is StopReason.PAUSE
    async with Driver() as d:
        await d.start(source.launch("blocked"))
        await d.until_printed("begun")
        await d.backend.pause(None)
        assert (await d.stop()).reason is StopReason.PAUSE
        await d.backend.resume(1)
        await d.backend.pause(None)
        assert (await d.stop()).reason is StopReason.PAUSE


@on_loop
async def test_values_are_read_expanded_changed_and_refused(loop):
    async with Driver() as d:
        await d.start(loop.launch(), loop.at("print"))
        await d.stop()
        frame = (await d.frames())[0].id
        values = await d.values(ScopeKind.LOCALS)
        cart = values["cart"]
        assert cart.opaque
        assert cart.type == "struct cart"
        children = {v.name: v for v in await d.backend.children(cart.ref)}
        assert list(children) == ["items", "count", "best"]
        assert children["count"].expression == "cart.count"
        items = await d.backend.children(children["items"].ref, start=1, count=1)
        assert [(v.name, v.expression) for v in items] == [("[1]", "cart.items[1]")]
        parts = {v.name: v.text for v in await d.backend.children(items[0].ref)}
        assert parts["qty"] == "2"
        best = {v.name: v.text for v in await d.backend.children(children["best"].ref)}
        assert best["qty"] == "3"
        set_ = await d.backend.assign("cart.best->qty", "40 + 2", frame)
        assert set_.text == "42"
        assert (await d.evaluate("cart.items[2].qty")).text == "42"
        assert (await d.evaluate("total(&cart)")).text == "45"
        assert (await d.evaluate("sum")).type == "int"
        with pytest.raises(EvaluationFailed, match='No symbol "nope"'):
            await d.evaluate("nope")
        with pytest.raises(EvaluationFailed):
            await d.backend.assign("sum", "nope", frame)
        with pytest.raises(EvaluationFailed):
            await d.evaluate("sum +")
        globals_ = await d.values(ScopeKind.GLOBALS)
        assert (globals_["counter"].text, globals_["shared"].text) == ("55", "7")
        arguments = await d.values(ScopeKind.ARGUMENTS)
        assert arguments["argc"].text == "1"


@on_loop
async def test_a_call_that_never_returns_is_abandoned_and_the_program_stays_where_it_was(
    programs,
):
    source = build(
        programs,
        "forever.c",
        r"""
        static volatile int on = 1;
        int forever(int n) { while (on) n++; return n; }
        int main(int argc, char **argv) {
            return argc - 1; // @here
        }
        """,
    )
    async with Driver(Config(timeouts=Timeouts(value_s=1.0))) as d:
        await d.start(source.launch(), source.at("here"))
        await d.stop()
        with pytest.raises(EvaluationFailed, match="interrupted"):
            await d.evaluate("forever(1)")
        assert await d.place() == ("main", source.line("here"))
        assert (await d.evaluate("argc")).text == "1"
        assert await d.go() == ended(0)


@on_loop
async def test_memory_registers_and_instructions(loop):
    async with Driver() as d:
        await d.start(loop.launch(), loop.at("print"))
        await d.stop()
        frame = (await d.frames())[0]
        where = (await d.evaluate("sum")).address
        assert (await d.backend.read_memory(where, 4))[1] == (6).to_bytes(4, "little")
        assert await d.backend.write_memory(where, b"\x07\0\0\0") == 4
        assert (await d.evaluate("sum")).text == "7"
        with pytest.raises(DebuggerError, match="memory"):
            await d.backend.read_memory("0x10", 4)
        groups = await d.values(ScopeKind.REGISTERS)
        registers = {
            register.name: register
            for group in groups.values()
            for register in await d.backend.children(group.ref)
        }
        assert int(registers["rip"].text.split()[0], 0) == int(frame.address, 0)
        assert "xmm0" in registers
        listed = await d.backend.disassemble(frame.address, 5)
        assert len(listed) == 5
        assert listed[0].current
        assert (listed[0].path, listed[0].line) == (loop.path, loop.line("print"))
        before = await d.backend.disassemble(frame.address, 4, -2)
        assert before[2].address == listed[0].address
        assert "total" in await d.backend.raw("info line total", frame.id)
        with pytest.raises(EvaluationFailed, match="Undefined command"):
            await d.backend.raw("nosuchcommand", frame.id)


@on_loop
async def test_a_watchpoint_reports_old_and_new_value(loop):
    async with Driver() as d:
        await d.start(loop.launch(), on("main", 1), loop.at("sum", 2, condition="i == 1"))
        await d.stop()
        frame = (await d.frames())[0].id
        watch = await d.backend.watch("counter", "write", "counter > 5", frame)
        stop = await d.go()
        assert stop.reason is StopReason.WATCHPOINT
        assert (stop.watch.id, stop.watch.old, stop.watch.new) == (watch.id, "3", "6")
        assert (await d.place())[0] == "tick"
        await d.backend.unwatch(watch.id)
        read = await d.backend.watch("counter", "read", None, (await d.frames())[0].id)
        seen = (await d.go()).watch
        assert (seen.id, seen.old, seen.new) == (read.id, None, "6")
        await d.backend.unwatch(read.id)
        assert (await d.go()).breakpoints == (2,)
        await d.backend.watch("sum", "write", None, (await d.frames())[0].id)
        seen = [(await d.go()).watch for _ in range(2)]
        assert [(each.old, each.new) for each in seen] == [("1", "3"), ("3", "6")]
        gone = await d.go()
        assert gone.reason is StopReason.WATCHPOINT
        assert gone.watch.ended
        with pytest.raises(DebuggerError, match="nosuch"):
            await d.backend.watch("nosuch", "write", None, (await d.frames())[0].id)


@on_loop
async def test_a_watchpoint_without_a_free_register_is_refused_at_once(programs):
    source = build(
        programs,
        "many.c",
        """
        long a, b, c, d, e;
        int main(void) {
            e = 1;  // @write
            a = 2;
            return 0;
        }
        """,
    )
    async with Driver() as d:
        await d.start(source.launch(), on("main"))
        await d.stop()
        frame = (await d.frames())[0].id
        for name in "abcd":
            await d.backend.watch(name, "write", None, frame)
        with pytest.raises(DebuggerError, match="no watchpoint register"):
            await d.backend.watch("e", "write", None, frame)
        assert (await d.go()).watch.expression == "a"


@on_loop
async def test_a_program_that_cannot_continue_is_reported_as_stopped(loop):
    async with Driver() as d:
        await d.start(loop.launch(), on("main"))
        await d.stop()
        frame = (await d.frames())[0].id
        # Raw commands are not refused beforehand.
        for offset in range(0, 40, 8):
            await d.backend.raw(f"watch *(long *)((char *)&main + {offset})", frame)
        stop = await d.go()
        assert stop.reason is StopReason.OTHER
        assert "watchpoint" in stop.description
        assert (await d.place())[0] == "main"


@on_loop
async def test_a_jump_skips_the_lines_between(loop):
    async with Driver() as d:
        await d.start(loop.launch(), loop.at("loop"))
        await d.stop()
        await d.backend.jump(1, loop.path, loop.line("total"))
        assert (await d.stop()).reason is StopReason.JUMP
        assert (await d.evaluate("counter")).text == "0"
        with pytest.raises(DebuggerError, match="lies in tick"):
            await d.backend.jump(1, loop.path, loop.line("tick"))
        assert await d.go() == ended(3)


@on_loop
async def test_an_address_and_a_module_s_function_stop_the_program(loop):
    async with Driver() as d:
        await d.start(loop.launch(), on("loop!tick", 1, condition="n == 4"), on("libm!tick", 2))
        stop = await d.stop()
        assert stop.breakpoints == (1,)
        assert not d.bound[2].verified
        address = (await d.frames())[1].address
        await d.backend.set_function_breakpoints([])
        bound = await d.backend.set_address_breakpoints([on(f"*{address}", 3)])
        assert bound[0].verified
        assert (await d.go()).breakpoints == (3,)


@on_loop
async def test_a_file_that_is_not_a_program_is_refused(tmp_path, loop):
    text = tmp_path / "text"
    text.write_text("no program\n")
    copy = tmp_path / "copy"
    copy.write_bytes(Path(loop.binary).read_bytes())
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF and no more")
    broken.chmod(0o755)
    for file, why in ((text, "is not a binary"), (copy, "may not be executed"), (broken, "format")):
        async with Driver() as d:
            with pytest.raises(LaunchFailed, match=why):
                await d.start(loop.launch().__class__(str(file), cwd=str(tmp_path), env=os.environ))


@on_loop
async def test_no_process_remains_of_a_killed_program(loop):
    async with Driver() as d:
        await d.start(loop.launch(), loop.at("sum"))
        await d.stop()
        pid = d.pid
        directory = d.backend.io.directory
    assert not os.path.exists(f"/proc/{pid}")
    assert not os.path.exists(directory)
    assert not [
        e for e in d.events if isinstance(e, BreakpointChanged) and not e.breakpoint.verified
    ]


@on_loop
async def test_an_environment_too_long_for_one_argument_reaches_the_program(programs):
    source = build(
        programs,
        "long.c",
        r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int main(void) {
            printf("%zu %zu %s %s %s\n", strlen(getenv("A")), strlen(getenv("B")),
                   getenv("PYTHONPATH"), getenv("LINES") ? "lines" : "-", getenv("SHELL"));
        }
        """,
    )
    env = {"A": "a" * 90_000, "B": "b" * 90_000, "PYTHONPATH": "/p q", "SHELL": "/bin/fish"}
    async with Driver() as d:
        await d.start(source.launch(env={**env, "PATH": os.environ["PATH"]}))
        assert await d.next() == ended(0)
        assert d.printed() == "90000 90000 /p q - /bin/fish\n"
