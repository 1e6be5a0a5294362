"""Python programs run untraced wherever no breakpoint, step or filter needs tracing."""

from __future__ import annotations

import subprocess

import pytest

from harness import waits
from harness.reports import place, printed, texts

FREE = "sys.gettrace() is None and threading.gettrace() is None"


def test_a_program_is_traced_only_as_long_as_it_stops_or_steps(dbg, write_program):
    p = write_program(
        "free.py",
        "import sys, threading\n"
        "seen = []\n"
        "def look():\n"
        f"    seen.append({FREE})\n"
        "def work(n):\n"
        "    look()\n"
        "    if n == 2:\n"
        "        n += 1  # @here\n"
        "        n += 1\n"
        "    look()\n"
        "    return n\n"
        "other = threading.Thread(target=work, args=(1,))\n"
        "other.start(); other.join()\n"
        "for n in range(4):\n"
        "    work(n)\n"
        "print(seen)  # @end\n"
        "look()\n"
        "print(seen[-1])\n",
    )

    report = dbg.data("start", p.name, "-b", p.at("here"), "-b", p.at("end"))
    assert place(report) == p.at("here")
    stepped = dbg.data("next")
    assert texts(stepped)["n"] == "3"
    assert place(dbg.data("continue")) == p.at("end")
    assert dbg.data("continue")["exit"]["code"] == 0

    assert printed(dbg.data("output", "--all")) == f"{[True] * 10}\nTrue\n"


LATE = """\
def at_first(n):  # @entry
    return n  # @at_first
at_first(1)
import sys
def plain(n):
    n += 1  # @plain
    return n
def lazily():
    yield 1
    yield 2  # @generator
begun = lazily()
next(begun)
def main():
    n = 0  # @first
    n += plain(n)
    n += next(begun)
    n += 10  # @frame
    source = 'def made(n):\\n    n += 1\\n    return n\\nnumber = 3\\n'
    names = {}
    exec(compile(source, MADE, 'exec'), names)
    return n + names['made'](names['number'])
MADE = __file__.replace('late.py', 'made.py')
main()
def later():
    yield 1  # @later
next(later())
for round in range(2):
    @print  # @decorated
    def again():
        return round
    again = (lambda:
        round  # @again
    )
    again()
print('end')
"""


def test_conditions_counts_and_logpoints_see_every_pass_of_a_line(dbg, write_program):
    p = write_program(
        "passes.py",
        "def work(n):\n"
        "    total = 0\n"
        "    for i in range(n):\n"
        "        total += i  # @line\n"
        "        total += limit  # @count\n"
        "    return total  # @log\n"
        "limit = 1\n"
        "print([work(n) for n in (5, 10)])\n"
        "for i in range(2): limit += i  # @rounds\n",
    )
    dbg.data("break", p.at("line"), "-c", "i == 8 and limit and len(str(total)) == 2")
    dbg.data("break", p.at("count"), "--hit-count", "12")
    dbg.data("break", p.at("log"), "--log", "n={n}")
    dbg.data("break", p.at("rounds"), "--log", "limit={limit}")

    counted = dbg.data("start", p.name)
    assert (place(counted), texts(counted)["i"]) == (p.at("count"), "6")
    met = dbg.data("continue")
    assert (place(met), texts(met)["i"], texts(met)["total"]) == (p.at("line"), "8", "36")
    assert dbg.data("continue")["exit"]["code"] == 0
    lines = printed(dbg.data("output", "--all")).splitlines()
    # A loop that is one line passes it once more than it has rounds, as under pdb.
    assert sorted(lines) == ["[15, 55]", "limit=1", "limit=1", "limit=2", "n=10", "n=5"]


def test_breakpoints_hold_in_what_lives_already_and_in_code_that_is_made(dbg, write_program):
    p = write_program("late.py", LATE)
    made = write_program("made.py", "def made(n):\n    n += 1\n    return n\nnumber = 3\n")

    # Where the program stops first, the function of that line is not made yet.
    dbg.data("start", p.name, "-b", p.at("entry"))
    dbg.data("break", p.at("at_first"))
    assert place(dbg.data("continue")) == p.at("at_first")
    dbg.data("break", p.at("first"))
    assert place(dbg.data("continue")) == p.at("first")
    wanted = [p.at("plain"), p.at("generator"), p.at("frame"), f"{made.name}:4", f"{made.name}:2"]
    wanted.append(p.at("later"))
    for each in wanted:
        dbg.data("break", each)

    reached = [place(dbg.data("continue")) for _ in wanted]
    assert reached == wanted

    # Set where the function has been made once, and will be made again.
    dbg.data("break", p.at("decorated"))
    assert place(dbg.data("continue")) == p.at("decorated")
    dbg.data("break", p.at("again"))
    reached = []
    while len(reached) < 2:
        at = place(dbg.data("continue"))
        reached += [at] if at != p.at("decorated") else []
    assert reached == [p.at("again")] * 2
    dbg.data("delete", "--all")
    assert dbg.data("continue")["exit"]["code"] == 0


@pytest.mark.parametrize("where", ["sys", "threading"])
def test_an_exception_that_ends_a_program_with_a_hook_of_its_own_is_stopped_at(
    dbg, write_program, where
):
    call = "work()" if where == "sys" else "t = threading.Thread(target=work); t.start(); t.join()"
    p = write_program(
        "hooked.py",
        "import sys, threading\n"
        f"{where}.excepthook = lambda *_: print('mine')\n"
        "def work():\n"
        "    raise ValueError('lost')  # @raise\n"
        f"{call}\n",
    )

    report = dbg.data("start", p.name)

    assert place(report) == p.at("raise")
    assert report["stop"]["exception"]["type"] == "ValueError"
    dbg.data("continue")
    assert "mine" in printed(dbg.data("output", "--all"))


SELF = """\
import dis, inspect, marshal, pickle, sys, traceback
def work(n):
    try:
        with open(__file__) as file:  # @with
            for line in (1, 2):
                n += line  # @line
        return [each for each in (n, n / 0)]  # @fail
    except ZeroDivisionError:
        traceback.print_exc(file=sys.stdout)
    return sum(x
               for x in (1, 2))  # @last
print(work(3))
print(inspect.getsource(work))
print(work.__code__.co_firstlineno, work.__code__.co_varnames, work.__code__.co_names)
print(sorted({line for _, _, line in work.__code__.co_lines() if line}))
print(len(pickle.dumps(work)) > 0, [each.positions.lineno for each in dis.get_instructions(work)
      if each.opname in ('RETURN_VALUE', 'BINARY_OP')])
"""


def test_a_program_that_looks_at_its_own_code_finds_what_it_finds_alone(
    dbg, write_program, debugger
):
    p = write_program("self.py", SELF)
    alone = subprocess.run(
        [debugger.interpreter.path, p.name], cwd=p.path.parent, capture_output=True, text=True
    )
    for mark in ("with", "line", "fail", "last"):
        dbg.data("break", p.at(mark), "-c", "False")

    assert dbg.data("start", p.name)["exit"]["code"] == 0

    # A file is named as it was given; the debugger gives the whole path.
    shown, plain = (
        text.replace(f"{p.path.parent}/", "")
        for text in (printed(dbg.data("output", "--all")), alone.stdout)
    )
    assert shown == plain
    assert alone.stderr == ""


ENDLESS = """\
import os, sys, threading, time
count = {'main': 0, 'other': 0}
def turn(name):
    count[name] += 1  # @turn
    time.sleep(0.001)
def other():
    while True:
        turn('other')
threading.Thread(target=other, daemon=True).start()
while not os.path.exists('stop'):
    turn('main')
    with open('told.txt', 'w') as file:
        print([count['main'], sys.gettrace() is None, repr(turn.__code__.co_consts)], file=file)
"""


def test_a_paused_program_stands_still_and_a_detached_one_is_as_it_was(dbg, write_program, project):
    p = write_program("endless.py", ENDLESS)

    def told(after):
        def look():
            try:
                said = eval((project / "told.txt").read_text())
            except (SyntaxError, OSError):
                return None
            return said if said[0] > after else None

        return waits.wait_until(look, "the program goes on")

    dbg.data("start", p.name, "--timeout", "0.5")
    consts = told(5)[2]
    assert dbg.data("pause")["state"] == "stopped"
    before = dbg.data("print", "count")["value"]["text"]
    dbg.data("break", p.at("turn"), "-c", "name == 'main'")
    assert dbg.data("print", "count")["value"]["text"] == before
    assert place(dbg.data("continue")) == p.at("turn")
    dbg.data("next")
    dbg.data("breakpoint", "remove", "--all")
    dbg.data("detach")

    turn = told(0)[0]
    _, untraced, after = told(turn + 5)
    (project / "stop").touch()
    assert untraced
    assert after == consts


HEIR = """\
import threading
go, ready, all_live = threading.Event(), threading.Semaphore(0), threading.Barrier(4)
def enter(n):
    return n + 1  # @wait
def wait(n):
    enter(n)
    ready.release()
    go.wait()
def fail():
    all_live.wait()
    n = 7
    raise ValueError(n)  # @fail
threads = [threading.Thread(target=wait, args=(n,)) for n in range(4)]
for thread in threads: thread.start()
for thread in threads: ready.acquire()
go.set()  # @between
for thread in threads: thread.join()
heirs = [threading.Thread(target=fail) for _ in range(4)]
for thread in heirs: thread.start()
for thread in heirs: thread.join()
"""


def test_a_thread_that_gets_the_ident_of_an_ended_one_stops_like_any_other(dbg, write_program):
    p = write_program("heir.py", HEIR)

    report = dbg.data("start", p.name, "-b", p.at("wait"))
    dbg.data("break", p.at("between"))
    while place(report) == p.at("wait"):
        report = dbg.data("continue")
    assert place(report) == p.at("between")

    report = dbg.data("continue")
    while report["state"] == "stopped":
        assert (place(report), texts(report)["n"]) == (p.at("fail"), "7")
        report = dbg.data("continue")
    assert report["exit"]["code"] == 0


def test_threads_that_reach_a_breakpoint_together_stop_one_after_the_other(dbg, write_program):
    p = write_program(
        "together.py",
        "import threading\n"
        "gate = threading.Barrier(4)\n"
        "def work(n):\n"
        "    for i in range(2):\n"
        "        gate.wait()\n"
        "        n += 0  # @line\n"
        "        i += 0  # @next\n"
        "threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n",
    )

    report = dbg.data("start", p.name, "-b", p.at("line"))
    seen = []
    while report["state"] == "stopped":
        assert place(report) == p.at("line")
        seen.append((texts(report)["n"], texts(report)["i"]))
        if len(seen) == 1:
            # The others wait at the line until the step has ended.
            stepped = dbg.data("next")
            assert place(stepped) == p.at("next")
            assert stepped["stop"]["thread"]["name"] == report["stop"]["thread"]["name"]
        report = dbg.data("continue")

    assert sorted(seen) == [(str(n), str(i)) for n in range(4) for i in range(2)]
    assert [each["hits"] for each in dbg.data("breakpoint", "list")["breakpoints"]] == [8]


def test_a_program_that_traces_itself_sees_what_it_sees_without_a_debugger(dbg, write_program):
    p = write_program(
        "tracer.py",
        "import sys\n"
        "seen = []\n"
        "def trace(frame, event, _):\n"
        "    seen.append(event)\n"
        "    return trace\n"
        "def work(n):\n"
        "    return n\n"
        "sys.settrace(trace)\n"
        "work(1)\n"
        "sys.settrace(None)\n"
        "print(seen, sys.settrace)\n",
    )

    assert dbg.data("start", p.name)["exit"]["code"] == 0

    said = "['call', 'line', 'return'] <built-in function settrace>\n"
    assert printed(dbg.data("output", "--all")) == said


def test_a_program_that_gevent_has_patched_ends_with_a_note_of_greenlets(dbg, write_program):
    # Imitates its list of what it has patched.
    write_program("gevent/__init__.py", "")
    write_program("gevent/monkey.py", "saved = {}\ndef patch_all():\n    saved['time'] = {}\n")
    p = write_program("patched.py", "from gevent import monkey\nmonkey.patch_all()\n")

    report = dbg.data("start", p.name)

    (note,) = report["notes"]
    assert "breakpoints in greenlets may have been passed" in note
    assert printed(dbg.data("output", "--all"), "stderr") == ""


def test_a_debugger_calls_nothing_that_gevent_has_patched(dbg, write_program):
    # What gevent puts there runs other greenlets, whose breakpoints would be passed unseen.
    write_program("site/greenlet.py", "__version__ = '3.0'\ndef settrace(callback): pass\n")
    write_program("site/gevent/__init__.py", "__version__ = __file__ = '24.1'\n")
    write_program(
        "site/gevent/monkey.py",
        "import select, threading, time\n"
        "saved, called = {}, []\n"
        "def patch(module, name):\n"
        "    original = getattr(module, name)\n"
        "    def instead(*arguments):\n"
        "        called.append(name)\n"
        "        return original(*arguments)\n"
        "    saved[name] = original\n"
        "    setattr(module, name, instead)\n"
        "def patch_all():\n"
        "    patch(select, 'poll'), patch(time, 'sleep'), patch(threading, 'get_ident')\n"
        "    patch(threading, 'Event'), patch(threading, '_allocate_lock')\n",
    )
    write_program("patches.py", "import gevent.monkey\ngevent.monkey.patch_all()\n")
    p = write_program(
        "imports.py",
        "import patches, gevent.monkey, threading\n"
        "def work(n):\n"
        "    return n + 1  # @line\n"
        "print(work(1) + work(2), gevent.monkey.called)\n"
        "thread = threading.Thread(target=work, args=(3,))\n"
        "thread.start(), thread.join()\n",
    )

    report = dbg.data("start", p.name, "-b", p.at("line"), env={"PYTHONPATH": "site"})
    assert place(report) == p.at("line")
    assert place(dbg.data("continue")) == p.at("line")
    report = dbg.data("continue")
    # A thread that was left a thread.
    assert (place(report), dbg.data("print", "n")["value"]["text"]) == (p.at("line"), "3")
    assert dbg.data("continue")["exit"]["code"] == 0

    assert printed(dbg.data("output", "--all")) == "5 []\n"


def test_a_program_stops_where_support_of_gevent_is_asked_for(dbg, write_program):
    p = write_program("asks.py", "def work(n):\n    return n + 1  # @line\nprint(work(1))\n")

    report = dbg.data("start", p.name, "-b", p.at("line"), env={"GEVENT_SUPPORT": "True"})

    assert place(report) == p.at("line")
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_step_over_what_ends_a_task_goes_on_where_the_task_is_awaited(dbg, write_program):
    p = write_program(
        "ends.py",
        "import asyncio\n"
        "async def fail():\n"
        "    await asyncio.sleep(0)\n"
        "    raise ValueError('x')  # @raise\n"
        "async def main():\n"
        "    task = asyncio.create_task(fail())\n"
        "    try:\n"
        "        await task  # @await\n"
        "    except ValueError as error:  # @except\n"
        "        print(error)\n"
        "asyncio.run(main())\n",
    )

    dbg.data("start", p.name, "-b", p.at("raise"))

    assert place(dbg.data("next")) in (p.at("await"), p.at("except"))
    assert dbg.data("continue")["exit"]["code"] == 0


def test_a_handler_that_a_stop_held_back_runs_and_finds_the_debugger_from_3_12_on(
    dbg, write_program
):
    p = write_program(
        "alarm.py",
        "import signal, sys, time\n"
        "def on_alarm(*_):\n"
        "    # 3.11 traces nothing while no breakpoint needs it.\n"
        "    monitoring = getattr(sys, 'monitoring', None)\n"
        "    seen.append(monitoring and monitoring.get_tool(monitoring.DEBUGGER_ID))\n"
        "seen = []\n"
        "signal.signal(signal.SIGALRM, on_alarm)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.05)\n"
        "while not seen:  # @here\n"
        "    time.sleep(0.01)\n"
        "print(len(seen), bool(seen[0]) is hasattr(sys, 'monitoring'))\n",
    )
    assert place(dbg.data("start", p.name, "-b", p.at("here"))) == p.at("here")
    left = "signal.getitimer(signal.ITIMER_REAL)"
    waits.wait_until(lambda: dbg.data("print", left)["value"]["text"] == "(0.0, 0.0)", "the signal")
    dbg("breakpoint", "remove", "--all")
    assert printed(dbg.data("continue")) == "1 True\n"
