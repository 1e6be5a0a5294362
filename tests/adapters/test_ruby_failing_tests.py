"""Tests of RSpec, minitest and test-unit that fail: the program stops where they do."""

from __future__ import annotations

import pytest

from harness.reports import shown, texts
from harness.requirements import need

MINITEST = """\
require "minitest/autorun"
class CartTest < Minitest::Test
  i_suck_and_my_tests_are_order_dependent!
  def test_a_raises
    assert_raises(ArgumentError) { raise ArgumentError, "expected" }
  end
  def test_b_skipped
    skip "not now"
  end
  def test_c_assert
    got = 2
    assert_equal 3, got  # @assert
  end
  def test_d_error
    raise IOError, "broken"  # @error
  end
end
"""
TEST_UNIT = """\
require "test/unit"
class CartTest < Test::Unit::TestCase
  def test_a_raises
    assert_raise(ArgumentError) { raise ArgumentError, "expected" }
  end
  def test_b_skipped
    omit "not now"
  end
  def test_c_assert
    got = 2
    assert_equal 3, got  # @assert
  end
  def test_d_error
    raise IOError, "broken"  # @error
  end
end
"""
RSPEC = """\
RSpec.describe "a cart" do
  it("expects a raise") { expect { raise ArgumentError }.to raise_error(ArgumentError) }
  it("is skipped") { skip "not now" }
  it "is pending" do
    pending "later"
    expect(1).to eq(2)
  end
  it "asserts" do
    got = 2
    expect(got).to eq(3)  # @assert
  end
  it "errs" do
    raise IOError, "broken"  # @error
  end
end
"""
RUNNERS = {
    "minitest": ("cart_test.rb", MINITEST, ("ruby", "cart_test.rb"), "Expected: 3"),
    "test-unit": ("cart_test.rb", TEST_UNIT, ("ruby", "cart_test.rb"), "<3> expected"),
    "rspec": ("cart_spec.rb", RSPEC, ("rspec", "cart_spec.rb"), "expected: 3"),
}


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_failing_test_stops_with_its_variables_and_only_that(dbg, write_program, runner):
    name, text, command, said = RUNNERS[runner]
    if runner == "rspec":
        need("rspec", "apt install ruby-rspec")
    p = write_program(name, text)

    report = dbg.data("start", *command)

    told = report["stop"]["exception"]
    assert (shown(report), told["mode"]) == (p.at("assert"), "test-failing")
    assert said in told["message"]
    assert texts(report)["got"] == "2"

    report = dbg.data("continue")
    told = report["stop"]["exception"]
    assert (shown(report), told["type"], told["message"]) == (p.at("error"), "IOError", "broken")

    assert dbg.data("continue")["exit"]["code"] == 1


def test_failing_tests_run_through_where_nothing_uncaught_is_asked_for(dbg, write_program):
    p = write_program("cart_test.rb", MINITEST)
    dbg.data("catch", "off")

    report = dbg.data("start", "ruby", p.name)

    assert report["exit"]["code"] == 1
