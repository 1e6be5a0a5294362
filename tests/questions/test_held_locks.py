"""Locks that a function holds at a line, by its statements."""

from __future__ import annotations

from textwrap import dedent

import pytest

from freezeframe.questions.held_locks import held_locks, lock_taken_at

_GO = """
func transfer(from, to *Account, n int) {
	from.mu.Lock()
	defer from.mu.Unlock()
	other.Lock()
	other.Unlock()
	if n > 3 {
		big.Lock()
	}
	to.mu.Lock()
}
"""
_RUST = """
fn forward(s: &Shared) {
    let l = s.left.lock().unwrap();
    {
        let inner = s.inner.lock().unwrap();
    }
    let gone = s.gone.lock().unwrap();
    drop(gone);
    s.list.lock().unwrap().push(1);
    let mut r = s.right.lock().unwrap();
}
"""
_CPP = """
void add(Registry &r) {
    std::lock_guard<std::mutex> g(r.m);
    std::unique_lock<std::mutex> u(r.other);
    u.unlock();
    r.log->lock();
    pthread_mutex_lock(&r.raw);
    pthread_mutex_lock(next);
}
"""


@pytest.mark.parametrize(
    ("source", "waits", "held"),
    [
        (_GO, ("to.mu", "&to.mu"), [("from.mu", "&from.mu")]),
        (_RUST, ("s.right", "&s.right"), [("s.left", "&s.left")]),
        (_CPP, ("next", "next"), [("r.m", "&r.m"), ("r.log", "r.log"), ("r.raw", "&r.raw")]),
    ],
    ids=["Go", "Rust", "C++"],
)
def test_a_lock_is_held_until_it_is_released_or_its_block_ends(source, waits, held):
    lines = dedent(source).strip("\n").splitlines()
    last = len(lines) - 1

    taken = lock_taken_at(lines[last - 1])
    found = held_locks(lines, range(1, len(lines) + 1), last)

    assert taken is not None
    assert (taken.text, taken.address) == waits
    assert [(each.text, each.address) for each in found] == held


def test_a_lock_in_an_expression_is_waited_for_and_not_held_afterwards():
    taken = lock_taken_at("    s.list.lock().unwrap().push(1);")

    assert taken is not None
    assert taken.text == "s.list"
    assert lock_taken_at("total = price(n)") is None
