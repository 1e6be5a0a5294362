"""Java: what is made before a program, and what is told of one that does not come to a stop."""

from __future__ import annotations

import os

import pytest

from harness import facts, programs
from harness.reports import place, texts


@pytest.mark.own_daemon
def test_the_debugger_s_own_part_is_compiled_once_outside_a_start_s_limit(dbg, project):
    os.unlink(dbg.home / "cache" / "probes")
    p = programs.install("loop.java", project)

    first = dbg.data("start", p.name, "-b", p.at("loop"))
    again = dbg.data("restart")

    assert place(first) == place(again) == p.at("loop")
    assert any("once" in note for note in first["notes"])
    assert not any("once" in note for note in again["notes"])


_DEADLOCK = """\
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

class Deadlock {
    static final ReentrantLock LOCK = new ReentrantLock();
    static final CountDownLatch BOTH = new CountDownLatch(2);

    static void take(Object first, Object second, int number) {
        synchronized (first) {
            BOTH.countDown();
            try { BOTH.await(); } catch (InterruptedException gone) { return; }
            synchronized (second) { // @blocked
                System.out.println(number);
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        LOCK.lock();
        Object red = new Object();
        StringBuilder blue = new StringBuilder();
        Thread one = new Thread(() -> take(red, blue, 1), "one");
        Thread two = new Thread(() -> take(blue, red, 2), "two");
        Thread three = new Thread(() -> LOCK.lock(), "three");
        one.start();
        two.start();
        three.start();
        one.join(); // @joins
    }
}
"""


def test_a_deadlock_is_told_with_who_holds_what_and_the_program_runs_on(dbg, project):
    p = programs.write("Deadlock.java", _DEADLOCK, project)
    dbg.data("start", p.name, "-b", p.at("joins"))

    def told():
        dbg.data("pause")
        report = dbg.data("continue", "-t", 1)
        held = [each for each in report["stacks"] if "held by" in each["thread"]["state"]]
        return report if len(held) == 3 else None

    dbg.data("continue", "-t", 1)
    running = facts.wait_until(told, "three threads wait for what others hold")

    stacks = {each["thread"]["name"]: each for each in running["stacks"]}
    assert "the monitor of StringBuilder" in stacks["one"]["thread"]["state"]
    assert stacks["one"]["thread"]["state"].endswith("held by thread two")
    assert stacks["two"]["thread"]["state"].endswith("held by thread one")
    assert "ReentrantLock" in stacks["three"]["thread"]["state"]
    assert ("number", "1") in [
        (each["name"], each["text"]) for each in stacks["one"]["values"]["0"]
    ]
    assert dbg.data("status")["sessions"][0]["state"] == "running"
    dbg.data("pause")
    listed = {each["name"]: each["state"] for each in dbg.data("threads")["threads"]}
    assert listed["two"].endswith("held by thread one")


_HOT = """\
class Hot {
    static int step(int number, StringBuilder seen) {
        return number + seen.length(); // @step
    }

    public static void main(String[] args) {
        StringBuilder seen = new StringBuilder();
        int total = 0;
        for (int i = 0; i < 300; i++) {
            total = step(i, seen);
        }
        System.out.println(total); // @end
    }
}
"""


@pytest.mark.own_daemon
def test_a_false_condition_is_passed_without_a_word_to_the_daemon(dbg, project):
    tap = project / "tap.jsonl"
    dbg.env["FREEZEFRAME_CONSOLE_TAP"] = str(tap)
    p = programs.write("Hot.java", _HOT, project)
    dbg.data("break", p.at("step"), "--condition", "number == 250 && seen != null")

    report = dbg.data("start", p.name)

    assert (place(report), texts(report)["number"]) == (p.at("step"), "250")
    assert tap.read_text().count("ff_eval") == 1
    dbg.data("breakpoint", "remove", "1")
    # One that may change the program is evaluated once a pass.
    dbg.data("break", p.at("step"), "--condition", "seen.append(1).length() == 3")
    report = dbg.data("continue")
    assert texts(report)["number"] == "253"


def test_what_an_exception_suppressed_is_told_with_it(dbg, project):
    text = (
        "class Closing {\n"
        "    static class Resource implements AutoCloseable {\n"
        '        public void close() { throw new IllegalStateException("close"); }\n    }\n'
        "    public static void main(String[] args) throws Exception {\n"
        "        try (Resource resource = new Resource()) {\n"
        '            throw new Exception("body");\n        }\n    }\n}\n'
    )
    p = programs.write("Closing.java", text, project)

    thrown = dbg.data("start", p.name)["stop"]["exception"]

    assert thrown["message"] == "body"
    assert thrown["details"] == ["suppressed: java.lang.IllegalStateException: close"]
