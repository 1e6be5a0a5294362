"""Who waits for whom, from facts made by hand."""

from __future__ import annotations

from freezeframe.model.waits import Hold, Wait, WaitFacts
from freezeframe.questions.waits import described_waits, find_cycle


def _lock(waiter: str, resource: str, *owner: str) -> Wait:
    return Wait(waiter, f"thread {waiter}", "lock", resource, resource, owner)


def test_locks_without_an_owner_form_a_cycle_with_the_statements_that_took_them():
    facts = WaitFacts(
        (_lock("1", "b"), _lock("2", "a"), Wait("3", "main", "join", targets=("1",))),
        (Hold("1", "a", is_certain=True), Hold("2", "b", is_certain=True)),
    )

    cycle = find_cycle(facts)

    assert cycle is not None
    assert cycle.is_certain
    assert [(each.name, each.holders[0].name) for each in cycle.waiters] == [
        ("thread 1", "thread 2"),
        ("thread 2", "thread 1"),
    ]
    [main] = described_waits(facts, cycle)
    assert (main.name, main.holders[0].name) == ("main", "thread 1")


def test_a_cycle_with_an_inferred_holder_is_only_probable():
    facts = WaitFacts((_lock("1", "b"), _lock("2", "a", "1")), (Hold("2", "b"),))

    cycle = find_cycle(facts)

    assert cycle is not None
    assert not cycle.is_certain
    assert [each.holders[0].is_certain for each in cycle.waiters] == [False, True]


def test_the_owner_that_a_lock_names_is_believed_and_not_the_statements():
    facts = WaitFacts((_lock("1", "a", "9"), _lock("2", "b")), (Hold("2", "a"), Hold("1", "b")))

    assert find_cycle(facts) is None


def test_waits_without_a_cycle_are_no_deadlock_and_equal_ones_are_counted():
    waits = tuple(Wait(str(n), f"worker {n}", "queue", "queue.Queue.get") for n in range(4))

    facts = WaitFacts(waits)

    assert find_cycle(facts) is None
    [shown] = described_waits(facts, None)
    assert shown.alike == 3


def test_workers_of_a_pool_wait_for_each_other_only_if_all_of_them_wait():
    def future(waiter: str) -> Wait:
        return Wait(waiter, waiter, "future", "result", None, ("a", "b"), is_any=True)

    assert find_cycle(WaitFacts((future("a"),))) is None
    cycle = find_cycle(WaitFacts((future("a"), future("b"))))
    assert cycle is not None
    assert len(cycle.waiters) == 2


def test_a_thread_that_takes_its_own_lock_again_waits_for_itself():
    cycle = find_cycle(WaitFacts((_lock("1", "a", "1"),)))

    assert cycle is not None
    assert [each.name for each in cycle.waiters] == ["thread 1"]
