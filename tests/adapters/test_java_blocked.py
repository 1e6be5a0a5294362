"""Java: what is made before a program, and what is reported of one that does not stop."""

from __future__ import annotations

import glob
import os
import re
import subprocess
from pathlib import Path

import pytest

from harness import programs, waits
from harness.reports import place, texts


@pytest.mark.own_daemon
def test_the_debugger_s_own_part_is_compiled_once_outside_a_start_s_limit(dbg, project):
    os.unlink(dbg.home / "cache" / "agents")
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
    running = waits.wait_until(told, "three threads wait for what others hold")

    stacks = {each["thread"]["name"]: each for each in running["stacks"]}
    assert "the monitor of StringBuilder" in stacks["one"]["thread"]["state"]
    assert stacks["one"]["thread"]["state"].endswith("held by thread two")
    assert stacks["two"]["thread"]["state"].endswith("held by thread one")
    assert "ReentrantLock" in stacks["three"]["thread"]["state"]
    assert ("number", "1") in [
        (each["name"], each["text"]) for each in stacks["one"]["values"]["0"]
    ]
    assert dbg.data("status")["sessions"][0]["state"] == "running"
    for command in ("status", "pause"):  # the program runs, and is stopped
        dbg.data(command)
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
    # Closing the resource comes between the `throw` and the end of the program.
    assert thrown["details"] == [
        "created at Closing.java:7 in Closing.main",
        "suppressed: java.lang.IllegalStateException: close",
    ]


_WRAPPER = """\
package org.gradle.wrapper;

import java.io.File;

public class GradleWrapperMain {
    static void await(String file) throws InterruptedException {
        while (!new File(file).exists()) {
            Thread.sleep(10);
        }
    }

    public static void main(String[] args) throws Exception {
        new File("compiling").createNewFile();
        await("compiled");
        String agent = args[args.length - 1].split("=", 2)[1];
        Process app = new ProcessBuilder("java", agent, "-cp", ".", "App").inheritIO().start();
        int code = app.waitFor();
        new File("tested").createNewFile();
        await("reported");
        System.exit(code);
    }
}
"""


def test_commands_are_answered_while_a_build_runs_before_and_after_its_program(dbg, project):
    app = "class App {\n    public static void main(String[] a) {\n        int i = 1;\n    }\n}\n"
    programs.write("App.java", app, project)
    programs.write("GradleWrapperMain.java", _WRAPPER, project)
    programs.write("gradlew", "#!/bin/sh\n", project)
    (project / "gradlew").chmod(0o755)
    jar = project / "gradle" / "wrapper" / "gradle-wrapper.jar"
    jar.parent.mkdir(parents=True)
    for command in (
        "javac -g App.java",
        "javac -d wrapper GradleWrapperMain.java",
        f"jar cf {jar} -C wrapper .",
    ):
        subprocess.run(command.split(), cwd=project, check=True)

    starting = dbg.start_background("start", "./gradlew", "test", "-b", "App.java:3")
    waits.wait_until((project / "compiling").exists, "the build compiles", timeout_s=60)
    asked = dbg.start_background("threads")
    dbg.data("pause", "-t", 0)
    (project / "compiled").touch()
    starting.wait()
    assert "main" in asked.wait().out
    stopped = dbg.data("await")
    assert place(stopped) == "App.java:3"

    assert dbg.data("continue", "-t", 1)["state"] == "running"
    waits.wait_until((project / "tested").exists, "the program has ended")
    assert "the program has ended" in dbg.error("pause")["message"]
    (project / "reported").touch()
    assert dbg.data("await")["exit"]["code"] == 0


_VIRTUAL = """\
public class Virtual {
    static int work(int n) {
        int square = n * n; // @square
        if (n == 4) throw new IllegalStateException("no " + square); // @throws
        return square;
    }

    public static void main(String[] args) throws InterruptedException {
        for (int n = 3; n < 5; n++) {
            int each = n;
            Thread.startVirtualThread(() -> work(each)).join();
        }
    }
}
"""


def test_a_virtual_thread_is_inspected_stepped_and_stopped_in_where_it_fails(dbg, project):
    homes = glob.glob("/usr/lib/jvm/*/release")
    found = [each for each in homes if re.search(r'N="(2[1-9]|[3-9]\d)', Path(each).read_text())]
    if not found:
        pytest.skip("needs a JDK from 21 on: apt-get install openjdk-21-jdk-headless")
    home = os.path.dirname(found[0])
    dbg.env |= {"JAVA_HOME": home, "PATH": f"{home}/bin:{dbg.env['PATH']}"}
    p = programs.write("Virtual.java", _VIRTUAL, project)

    first = dbg.data("start", p.name, "-b", f"{p.at('square')} if n == 3")

    assert (place(first), texts(first)) == (p.at("square"), {"n": "3"})
    assert dbg.data("bt")["stacks"][0]["frames"][0]["function"] == "Virtual.work"
    listed = {each["id"]: each["name"] for each in dbg.data("threads")["threads"]}
    assert listed[first["stop"]["thread"]["id"]] == "virtual"
    assert texts(dbg.data("next"))["square"] == "9"
    thrown = dbg.data("continue")
    assert place(thrown) == p.at("throws")
    assert thrown["stop"]["exception"]["message"] == "no 16"
    assert thrown["stop"]["exception"]["mode"] == "uncaught"
    assert dbg.data("continue")["exit"]["code"] == 0
