"""Values of Go's own packages, shown as what they mean; nothing of the program's runs for it."""

from __future__ import annotations

from harness.reports import texts

PROGRAM = """package main

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"
)

var calls int

type Noisy struct{ n int }

func (n Noisy) String() string { calls++; return "noisy" }

type Failure struct {
	Code int
	Err  error
}

func (f *Failure) Error() string { calls++; return "failed" }
func (f *Failure) Unwrap() error { return f.Err }

type Node struct {
	Val  int
	Next *Node
}

type Account struct {
	mu    sync.Mutex
	Since time.Time
	Name  string
}

var sink *int

func dirty() (buf [64]int) {
	for i := range buf {
		buf[i] = 0x4141 + i
	}
	return
}

func moved(x int) (n int, s []string, err error) {
	sink = &x
	*sink = 7
	n = x + dirty()[3] // @moved
	total := twice(
		twice(n, 1), // @argument
		2,
	)
	return total, nil, nil
}

func twice(n, by int) int { return n * by }

func main() {
	noisy := Noisy{3}
	dirty()
	moved(4)
	wrapped := fmt.Errorf("outer: %w", fmt.Errorf("mid: %w", &Failure{5, fs.ErrNotExist}))
	joined := errors.Join(errors.New("first"), errors.New("second"))
	calls = 0
	list := &Node{1, &Node{2, &Node{3, &Node{4, nil}}}}
	var mu sync.Mutex
	mu.Lock()
	var group sync.WaitGroup
	group.Add(2)
	var count atomic.Int64
	count.Store(9)
	at := time.Date(2024, 3, 1, 12, 30, 0, 5000, time.UTC)
	account := Account{Since: at, Name: "a {b}"}
	wait := 90*time.Minute + 1500*time.Millisecond
	brief := 1500 * time.Microsecond
	fmt.Println(len(joined.Error()), list.Val, &group, &count, &account, wait, brief) // @here
	mu.Unlock()
	fmt.Println(noisy, wrapped)
}
"""


def test_what_has_no_value_yet_is_said_to_have_none(dbg, native):
    """delve shows what lay there before, and twice what was moved to the heap."""
    p = native(PROGRAM)
    unset = "<not initialised yet>"
    report = dbg.data("start", p.name, "-b", "main.moved", "-b", p.at("moved"))
    assert texts(report) == {"x": "4", "n": unset, "s": unset, "err": unset}
    assert dbg.data("print", "len(s)")["value"]["text"] == unset

    report = dbg.data("continue")
    assert texts(report) == {"x": "7", "n": "0", "s": "[]string nil", "err": "error nil"}

    dbg("break", p.at("argument"))
    assert texts(dbg.data("continue"))["total"] == unset


def test_values_say_what_they_mean_and_run_nothing(dbg, native):
    p = native(PROGRAM)

    report = dbg.data("start", p.name, "-b", p.at("here"))

    found = texts(report)
    assert found["noisy"] == "main.Noisy {n: 3}"
    assert found["mu"] == "sync.Mutex locked"
    assert found["group"] == "sync.WaitGroup 2 to be done"
    assert found["count"] == "atomic.Int64 9"
    assert found["at"] == "time.Time 2024-03-01T12:30:00.000005Z"
    assert found["wait"] == "1h30m1.5s (5401500000000)"
    assert found["brief"] == "1.5ms (1500000)"
    assert found["account"] == (
        "main.Account {mu: sync.Mutex …, Since: time.Time 2024-03-01T12:30:00.000005Z,"
        ' Name: "a {b}"}'
    )
    assert "0x" not in found["list"]
    # What an error wraps is what went wrong.
    answer = dbg("print", "wrapped").out
    assert "(*main.Failure)" in answer
    assert '"file does not exist"' in answer
    assert '"second"' in dbg("print", "joined").out
    dbg("locals")
    assert dbg.data("print", "calls")["value"]["text"] == "0"


CODEC = """package main

import "fmt"

type hex struct{ prefix string }

func (h *hex) Encode(v any) string { // @encode
	return fmt.Sprint(h.prefix, v)
}

func main() { fmt.Println((&hex{"0x"}).Encode(10)) }
"""


def test_an_interface_in_registers_is_read_at_the_entry_of_a_function(dbg, native):
    p = native(CODEC)

    report = dbg.data("start", p.name, "-b", p.at("encode"))

    assert texts(report)["v"] == "interface {}(int) 10"
