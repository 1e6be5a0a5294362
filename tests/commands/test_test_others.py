"""`dbg test` with the runners of other languages: the test, its values, the next failure."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from harness.client import REPOSITORY
from harness.requirements import give_up, need

#: runner → the files of a project, where a price of 12 things is -5; what must be installed; what
#: the first line and the answer hold, and a selector for a test that passes
NODE = """\
const { describe, it } = require('node:test');
const assert = require('node:assert');
const price = (n, cfg) => n * cfg.rate - (n > 10 ? cfg.discount : 0);
describe('price', () => {
  it('is small', () => {
    assert.strictEqual(price(1, { rate: 0 }), 0);
  });
  it('is never negative', () => {
    const got = price(12, { rate: 0, discount: 5 });
    assert.strictEqual(got, 0);
  });
});
"""
GO = """\
package cart
import "testing"
func price(n int) int {
	if n > 10 {
		return -5
	}
	return 0
}
func TestSmall(t *testing.T) {
	if price(1) != 0 {
		t.Fatal("not zero")
	}
}
func TestNegative(t *testing.T) {
	t.Run("a dozen", func(t *testing.T) {
		got := price(12)
		if got < 0 {
			t.Errorf("price is %v", []int{got})
		}
	})
}
"""
RUST = """\
pub fn price(n: i32) -> i32 {
    if n > 10 { -5 } else { 0 }
}
#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn is_small() {
        assert_eq!(price(1), 0);
    }
    #[test]
    fn never_negative() {
        let got = price(12);
        assert_eq!(got, 0);
    }
}
"""
RSPEC = """\
RSpec.describe "price" do
  it "is small" do
    expect(0).to eq 0
  end
  it "is never negative" do
    got = -5
    expect(got).to eq 0
  end
end
"""
MINITEST = """\
require "minitest/autorun"
class PriceTest < Minitest::Test
  def test_small
    assert_equal 0, 0
  end
  def test_negative
    got = -5
    assert_equal 0, got
  end
end
"""
PHP = """\
<?php
final class PriceTest extends PHPUnit\\Framework\\TestCase {
    public function testSmall(): void {
        $this->assertSame(0, 0);
    }
    public function testNegative(): void {
        $got = -5;
        $this->assertSame(0, $got);
    }
}
"""
PERL = """\
use Test::More tests => 2;
is(0, 0, "small");
my $got = -5;
is($got, 0, "never negative");
"""
PROJECTS = {
    "node": (
        {"price.test.js": NODE},
        ("node", "apt install nodejs"),
        "failed: price > is never negative\n",
        "-5 !== 0",
        "price.test.js:6",
    ),
    "go": (
        {"go.mod": "module shop\ngo 1.19\n", "cart/cart_test.go": GO},
        ("go", "apt install golang-go"),
        "failed: TestNegative/a_dozen",
        "price is [-5]\n",
        "TestSmall",
    ),
    "cargo": (
        {"Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\n', "src/lib.rs": RUST},
        ("cargo", "apt install cargo"),
        "failed: tests::never_negative  (test 2 of 2; 1 passed)\n",
        "left: -5\n",
        "is_small",
    ),
    "rspec": (
        {"price_spec.rb": RSPEC},
        ("rspec", "apt install ruby-rspec"),
        "failed: price > is never negative\n",
        "expected: 0",
        "price_spec.rb:3",
    ),
    "minitest": (
        {"test/price_test.rb": MINITEST},
        ("ruby", "apt install ruby"),
        "failed: PriceTest#test_negative\n",
        "Actual: -5",
        "test_small",
    ),
    "phpunit": (
        {"PriceTest.php": PHP},
        ("phpunit", "apt install phpunit"),
        "failed: PriceTest::testNegative\n",
        "-5 is identical to 0",
        "PriceTest.php:4",
    ),
    "prove": (
        {"t/price.t": PERL},
        ("prove", "apt install perl"),
        "failed: never negative\n",
        "never negative",
        None,
    ),
}


#: where the price came from
CHAINS = {
    "node": "price.test.js:3 in price",
    "go": "cart_test.go:5 in cart.price",
    "cargo": "lib.rs:2 in shop::price",
}


@pytest.mark.parametrize("runner", PROJECTS)
def test_a_failure_is_described_and_a_selected_test_passes(dbg, runner):
    files, (program, install), head, message, passing = PROJECTS[runner]
    chain = CHAINS.get(runner)
    need(program, install)
    if runner == "go":
        dbg.env["PATH"] = f"{REPOSITORY / '.cache/go/bin'}{os.pathsep}{dbg.env['PATH']}"
        if shutil.which("dlv", path=dbg.env["PATH"]) is None:
            give_up("there is no dlv: sh check.sh installs it")
    for name, text in files.items():
        path = dbg.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    failed = dbg("test", "--timeout", "60")
    assert failed.out.startswith(head), str(failed)
    assert message in failed.out, str(failed)
    assert "got = -5" in failed.out, str(failed)
    if chain is not None:
        assert "came from" in failed.out, str(failed)
        assert chain in failed.out.partition("came from")[2], str(failed)
    end = dbg("continue", "--timeout", "60")
    assert end.out.startswith("done: "), str(end)
    assert "1 failed" in end.out, str(end)
    if passing is not None:
        passed = dbg("test", passing, "--timeout", "60")
        assert passed.out.startswith("passed: 1 test"), str(passed)


def test_a_program_of_google_test_is_a_selector(dbg):
    need("g++", "apt install g++")
    source = dbg.project / "price.cc"
    source.write_text(
        "#include <gtest/gtest.h>\n"
        "TEST(Price, Small) { EXPECT_EQ(0, 0); }\n"
        "TEST(Price, Negative) {\n"
        "    int got = -5;\n"
        '    EXPECT_GE(got, 0) << "of a dozen";\n'
        "}\n"
    )
    command = ("g++", "-g", "-O0", source.name, "-o", "price_test", "-lgtest", "-lgtest_main")
    made = subprocess.run(command, cwd=dbg.project, capture_output=True, text=True)
    if made.returncode != 0 or shutil.which("gdb") is None:
        give_up("there is no GoogleTest, or no gdb: apt install libgtest-dev gdb")
    failed = dbg("test", "./price_test")
    assert failed.out.startswith("failed: Price.Negative  (test 2 of 2; 1 passed)\n"), str(failed)
    assert "  of a dozen\n" in failed.out
    assert "    got = -5\n" in failed.out
    assert dbg("continue").out.startswith("done: 1 passed, 1 failed")
    assert dbg("test", "./price_test", "Price.Small").out.startswith("passed: 1 test")
    assert "found no test for" in dbg("test", "./price_test", "Price.Nothing").err


def test_every_failure_of_a_run_has_its_chain_after_continue(dbg):
    need("node", "apt install nodejs")
    (dbg.project / "package.json").write_text('{"scripts": {"test": "node --test"}}')
    (dbg.project / "sums.test.js").write_text(
        "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "function half(n) {\n  const found = n / 2;\n  return found;\n}\n"
        "test('one', () => {\n  const got = half(2);\n  assert.strictEqual(got, 5);\n});\n"
        "test('two', () => {\n  const got = half(8);\n  assert.strictEqual(got, 5);\n});\n"
    )

    first = dbg("test")
    second = dbg("continue")

    assert "got = 1 came from" in first.out
    assert "failed: two" in second.out
    assert "got = 4 came from" in second.out
    assert "n = 8" in second.out
