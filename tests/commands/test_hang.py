"""`hang`: a program that makes no progress; who waits for whom, or the loop that does not end."""

from __future__ import annotations

import subprocess
import sys

from harness.requirements import need

_THREADS = """\
import threading
accounts, audit = threading.Lock(), threading.RLock()
both = threading.Barrier(2)
class Bank:
    def transfer(self):
        with accounts:  # @first
            both.wait()
            with audit:  # @second
                pass
    def check(self):
        audit.acquire()  # @third
        both.wait()
        accounts.acquire()  # @fourth
teller = threading.Thread(target=Bank().transfer, name="teller")
auditor = threading.Thread(target=Bank().check, name="auditor")
teller.start(); auditor.start()
print("started", flush=True)
teller.join()
"""
_TASKS = """\
import asyncio
async def worker(first, second, both):
    async with first:
        await both.wait()
        async with second:
            pass
async def main():
    a, b, both = asyncio.Lock(), asyncio.Lock(), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, both.set)
    one = asyncio.create_task(worker(a, b, both), name="one")
    two = asyncio.create_task(worker(b, a, both), name="two")
    await asyncio.gather(one, two)
asyncio.run(main())
"""
_LOOP = """\
def read(src, at):
    end = at
    while end < len(src) and src[end].isalpha():
        end += 1
    return src[at:end]
def tokenize(src):
    tokens, at = [], 0
    while at < len(src):
        word = read(src * (1 + 0 * sum(range(100_000))), at)
        tokens.append(word)
        at += len(word)
    return tokens
tokenize("ab $")
"""
_GO = """\
package main

import (
	"fmt"
	"sync"
	"time"
)

type Account struct {
	mu      sync.Mutex
	balance int
}

func transfer(from, to *Account, ready *sync.WaitGroup) {
	from.mu.Lock()
	defer from.mu.Unlock()
	ready.Done()
	ready.Wait()
	to.mu.Lock()
	to.balance++
}

func main() {
	a, b := &Account{}, &Account{}
	var ready sync.WaitGroup
	ready.Add(2)
	go transfer(a, b, &ready)
	go transfer(b, a, &ready)
	time.Sleep(time.Hour)
	fmt.Println(a.balance, b.balance)
}
"""


def _cycle(answer: dict) -> dict[str, tuple]:
    return {
        each["name"]: (each["what"], each["at"]["line"], each["holders"][0]["name"])
        for each in answer["cycle"]
    }


def test_threads_that_wait_for_each_other_are_a_cycle_with_where_each_lock_was_taken(
    dbg, write_program
):
    p = write_program("bank.py", _THREADS)

    answer = dbg.data("hang", p.name, "--after", 1)

    assert (answer["how"], answer["left"]) == ("deadlock", "ended")
    assert _cycle(answer) == {
        "teller": ("audit", p.line("second"), "auditor"),
        "auditor": ("accounts", p.line("fourth"), "teller"),
    }
    taken = {each["name"]: each["holders"][0]["at"]["line"] for each in answer["cycle"]}
    assert taken == {"teller": p.line("third"), "auditor": p.line("first")}
    assert answer["is_certain"]
    assert [each["name"] for each in answer["waits"]] == ["MainThread"]
    assert dbg.data("sessions")["sessions"] == [], "nothing is left behind"


def test_a_process_that_is_examined_goes_on(dbg, write_program):
    p = write_program("tasks.py", _TASKS)
    process = subprocess.Popen([sys.executable, p.name], cwd=p.path.parent)
    try:
        answer = dbg.data("hang", process.pid, "--after", 1)
        assert (answer["how"], answer["left"]) == ("deadlock", "detached")
        assert _cycle(answer) == {
            "task one": ("second", 5, "task two"),
            "task two": ("second", 5, "task one"),
        }
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_loop_is_shown_by_one_round_and_the_program_stays_there(dbg, write_program):
    p = write_program("lexer.py", _LOOP)

    answer = dbg.data("hang", "--after", 1, "--", "python", p.name)

    assert (answer["how"], answer["left"]) == ("loop", "stopped")
    loop = answer["loop"]
    assert (loop["function"], loop["text"]) == ("tokenize", "while at < len(src):")
    assert {each["name"]: each["value"] for each in loop["unchanged"]} == {
        "at": "2",
        "src": "'ab $'",
    }
    assert [(each["name"], each["growth"]) for each in loop["grows"]] == [("tokens", "+1 a round")]
    assert dbg.data("print", "at")["value"]["text"] == "2", "it can be inspected"


def test_a_program_that_ends_or_raises_is_told_as_it_is(dbg, write_program):
    write_program("ends.py", "print('done')\n")
    assert dbg("hang", "ends.py").out.startswith("ends does not hang: it exited: code 0")
    write_program("raises.py", "1 / 0\n")
    assert "ZeroDivisionError" in dbg("hang", "raises.py").out


def test_goroutines_that_wait_for_each_other_are_probably_a_deadlock(dbg, write_program):
    need("go", "apt-get install golang")
    write_program("go.mod", "module bank\n\ngo 1.20\n")
    write_program("main.go", _GO)

    answer = dbg.data("hang", "--after", 1, "--", "go", "run", ".")

    assert (answer["how"], answer["is_certain"]) == ("deadlock", False)
    line = _GO.splitlines().index("\tto.mu.Lock()") + 1
    assert sorted(each[:2] for each in _cycle(answer).values()) == [("to.mu", line)] * 2
    assert dbg.data("sessions")["sessions"][0]["state"] == "stopped"


_PROMISE = """\
function ready(emitter) {
  return new Promise((resolve) => { emitter.onready = resolve; });
}
async function main() {
  setInterval(() => {}, 1000);
  await ready({});
}
main();
"""
_MONITORS = """\
import java.util.concurrent.CyclicBarrier;
public class Shop {
    static final Object orders = new Object(), stock = new Object();
    static final CyclicBarrier both = new CyclicBarrier(2);
    static void work(Object first, Object second) {
        synchronized (first) {
            try { both.await(); } catch (Exception e) { throw new RuntimeException(e); }
            synchronized (second) { System.out.println("done"); }
        }
    }
    public static void main(String[] args) {
        new Thread(() -> work(orders, stock), "placer").start();
        new Thread(() -> work(stock, orders), "refiller").start();
    }
}
"""


def test_a_promise_that_is_never_resolved_is_shown_where_it_is_awaited_and_made(dbg, write_program):
    need("node", "apt-get install nodejs")
    write_program("app.js", _PROMISE)

    answer = dbg.data("hang", "app.js", "--after", 1)

    assert (answer["how"], answer["left"]) == ("waits", "ended")
    rows = [(each["kind"], (each["at"] or {}).get("line")) for each in answer["waits"]]
    assert rows == [("promise", 6), ("resolve", 2), ("loop", None)]
    assert answer["waits"][2]["detail"] == "open: Timeout"


def test_java_monitors_form_a_cycle_with_their_owners(dbg, write_program):
    need("javac", "apt-get install default-jdk")
    write_program("Shop.java", _MONITORS)

    answer = dbg.data("hang", "Shop.java", "--after", 2)

    assert (answer["how"], answer["is_certain"]) == ("deadlock", True)
    names = [each["name"].partition("(")[2] for each in answer["cycle"]]
    assert sorted(names) == ["placer)", "refiller)"]
    assert all(each["what"].startswith("second (Object@") for each in answer["cycle"])


def test_a_regular_expression_that_holds_the_interpreter_is_found_by_its_fault_handler(
    dbg, write_program
):
    text = "import re\ndef check(s):\n    return re.match(r'(a+)+b', s)\ncheck('a' * 60)\n"
    write_program("slow.py", text)

    answer = dbg.data("hang", "slow.py", "--after", 1)

    assert (answer["how"], answer["left"]) == ("busy", "ended")
    assert (answer["frame"]["line"], answer["frame"]["function"]) == (3, "check")
