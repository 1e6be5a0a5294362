"""Native programs that hang: where their threads wait, for what, and who holds it."""

from __future__ import annotations

DEADLOCK = r"""
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void transfer(pthread_mutex_t *first, pthread_mutex_t *second, int amount) {
    pthread_mutex_lock(first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(second);  // @waits
    write(1, "never\n", amount);
}

static void *worker(void *arg) {
    transfer(&b, &a, 7);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&thread, NULL, worker, NULL);
    transfer(&a, &b, 5);
    return 0;
}
"""

EVENTS = r"""
#include <errno.h>
#include <stdio.h>
#include <sys/epoll.h>

int main(void) {
    struct epoll_event event;
    int got = epoll_wait(epoll_create1(0), &event, 1, 4000);
    printf(got < 0 && errno == EINTR ? "interrupted\n" : "quiet\n");  // @end
    return 0;
}
"""


def test_a_deadlock_is_told_with_who_holds_what_and_the_program_runs_on(dbg, native, debugger):
    p = native(DEADLOCK, "-pthread", name="deadlock")

    told = dbg("start", p.name, "--timeout", "4").out
    assert told.startswith("running: "), told
    if told.count("held by thread") < 2:
        # A busy machine: the threads had not come to their locks.
        told = dbg("await", "--timeout", "4").out
    assert dbg.data("status")["sessions"][0]["state"] == "running"
    paused = dbg("pause").out
    threads = [each["id"] for each in dbg.data("threads")["threads"]]

    for words in (
        "amount=5",
        "amount=7",
        "the thread waits: in pthread_mutex_lock, held by thread",
    ):
        assert words in paused, paused
    if debugger.name == "lldb-cli":
        assert "lldb-cli shows the stack of a stopped program only: dbg pause" in told
        return
    for words in (*(f"held by thread {each}" for each in threads), "amount = 5", "amount = 7"):
        assert words in told, told


def test_a_wait_that_a_halt_would_interrupt_is_left_alone(dbg, native):
    p = native(EVENTS, name="events")

    told = dbg("start", p.name, "--timeout", "2").out

    assert told.startswith("running: "), told
    assert "quiet" in dbg("await").out


def test_hang_shows_a_deadlock_as_the_cycle_of_its_mutexes(dbg, native):
    p = native(DEADLOCK, "-pthread", name="deadlock")

    answer = dbg.data("hang", p.name, "--after", 1)

    assert (answer["how"], answer["is_certain"]) == ("deadlock", True)
    assert [each["at"]["line"] for each in answer["cycle"]] == [p.line("waits")] * 2
    first, second = answer["cycle"]
    assert first["holders"][0]["name"] == second["name"]
    assert second["holders"][0]["name"] == first["name"]
    assert answer["left"] == "stopped"
