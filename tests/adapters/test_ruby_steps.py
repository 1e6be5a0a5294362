"""Steps in Ruby where calls are left in other ways than by returning, and through fibers."""

from __future__ import annotations

from harness.reports import frame_of, place, printed

PROGRAM = """\
def thrower
  throw :done, 42 # @throws
end

def nothing
  z = 1 # @nothing
  nil
end

def uses
  numbers = Enumerator.new { |y| y << 10; y << 20 } # @uses
  sum = numbers.next
  sum += numbers.next # @second
  sum # @sum
end

catch(:done) do
  thrower
end
nothing # @after
uses
fiber = Fiber.new do |first|
  b = first
  c = Fiber.yield(b + 1) # @yields
  b + c # @resumed
end
fiber.resume(10)
fiber.resume(20) # @again
puts "end" # @end

def add(n)
  n + 1 # @add
end

def tail(n)
  add(n)
end # @tail
puts tail(5).to_s # @last

class Ghost
  def method_missing(name) = name # @ghost
end

def rescued(n)
  raise "bad" if n > 1 # @raises
rescue RuntimeError => e
  message = e.message # @rescued
  message.size # @size
ensure
  n = 0 # @ensured
end
rescued(2) # @caller
puts Ghost.new.boo
"""


def test_throws_and_fibers_are_no_returns_and_a_return_is_not_passed(dbg, write_program, debugger):
    p = write_program("steps.rb", PROGRAM)
    marks = ("throws", "nothing", "uses")

    locations = (*(p.at(mark) for mark in marks), "Ghost#method_missing")
    dbg.data("start", p.name, *(word for each in locations for word in ("-b", each)))

    # Libraries have methods of that name too.
    assert dbg.data("breakpoint", "list")["breakpoints"][3]["line"] == p.line("ghost")
    thrown = dbg.data("finish")
    assert (place(thrown), thrown["returned"]) == (p.at("after"), None)
    assert place(dbg.data("continue")) == p.at("nothing")
    assert dbg.data("finish")["returned"]["text"] == "nil"
    # The enumerator's own fiber begins at a depth of its own.
    assert place(dbg.data("continue")) == p.at("uses")
    # The block on that line is called later, and would stop there again.
    dbg.data("breakpoint", "remove", 3)
    places = [place(dbg.data("next")) for _ in range(3)]
    assert places[1:] == [p.at("second"), p.at("sum")]
    assert dbg.data("finish")["returned"]["text"] == "30"
    # The program's own call is not over when a fiber ends that it has resumed.
    dbg.data("break", p.at("yields"))
    assert place(dbg.data("continue")) == p.at("yields")
    left = dbg.data("next")
    assert place(left) == p.at("again")
    dbg.data("break", p.at("resumed"))
    assert place(dbg.data("finish")) == p.at("resumed")
    ended = dbg.data("finish")
    assert (place(ended), ended["returned"]["text"]) == (p.at("end"), "30")
    # What is left of the caller's line comes after the stop.
    dbg.data("break", p.at("add"))
    dbg.data("continue")
    told = [dbg.data("finish") for _ in range(2)]
    assert [place(each) for each in told] == [p.at("tail"), p.at("last")]
    assert [each["returned"]["text"] for each in told] == ["6", "6"]
    assert printed(dbg.data("next")) == "6\n"
    # The frame of a `rescue` belongs to its method.
    dbg.data("break", p.at("raises"))
    dbg.data("continue")
    places = [place(dbg.data("next")) for _ in range(2)]
    assert places == [p.at("rescued"), p.at("size")]
    left = dbg.data("finish")
    assert (left["returned"]["text"], frame_of(left)["function"]) == ("3", "<main>")
    assert place(dbg.data("continue")) == p.at("ghost")
    assert dbg.data("continue")["exit"]["code"] == 0
