"""Tests of PHPUnit that fail: the program stops where they do, and for nothing that is expected."""

from __future__ import annotations

from harness.reports import shown, texts
from harness.requirements import need

PHPUNIT = """\
<?php
use PHPUnit\\Framework\\TestCase;

function price(int $n): int
{
    if ($n < 0) {
        throw new InvalidArgumentException("negative"); // @error
    }
    return $n * 2;
}

final class CartTest extends TestCase
{
    public function testARaises(): void
    {
        $this->expectException(InvalidArgumentException::class);
        price(-1);
    }
    public function testBSkipped(): void
    {
        $this->markTestSkipped("not now");
    }
    public function testCCaught(): void
    {
        try {
            price(-2);
        } catch (InvalidArgumentException $e) {
            $this->assertSame("negative", $e->getMessage());
        }
    }
    public function testDAssert(): void
    {
        $got = 2;
        $this->assertSame(3, $got); // @assert
    }
    public function testEError(): void
    {
        price(-3);
    }
    public function testFOtherThanExpected(): void
    {
        $this->expectException(LengthException::class);
        price(-4);
    }
}
"""


def test_a_failing_test_of_phpunit_stops_with_its_variables_and_only_that(dbg, write_program):
    need("phpunit", "apt install phpunit")
    p = write_program("CartTest.php", PHPUNIT)

    report = dbg.data("start", "phpunit", "--no-configuration", p.name)

    told = report["stop"]["exception"]
    assert (shown(report), told["mode"]) == (p.at("assert"), "test-failing")
    assert "2 is identical to 3" in told["message"]
    assert texts(report)["got"] == "2"
    for number in ("-3", "-4"):
        report = dbg.data("continue")
        assert (shown(report), texts(report)["n"]) == (p.at("error"), number)
        assert report["stop"]["exception"]["type"] == "InvalidArgumentException"
    assert dbg.data("continue")["exit"]["code"] == 2
    dbg.data("catch", "off")
    assert dbg.data("restart")["exit"]["code"] == 2
