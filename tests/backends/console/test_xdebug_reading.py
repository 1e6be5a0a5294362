"""Xdebug, read: packets, PHP's source for its `try` blocks, values."""

from __future__ import annotations

import base64
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from freezeframe.backends.backend import RawFrame
from freezeframe.backends.console.command_channel import ImmediateReply
from freezeframe.backends.console.debuggers.xdebug import Xdebug, dbgp, php_snippets
from freezeframe.backends.console.debuggers.xdebug.php_errors import PhpException
from freezeframe.backends.console.debuggers.xdebug.value_parser import literal, text
from freezeframe.backends.console.prompt.codec import UnsolicitedText
from freezeframe.backends.console.prompt.command_set import FrameRef
from freezeframe.backends.php import catchers, scan, statements

# --- packets ------------------------------------------------------------------------------------


def packet(document: str) -> bytes:
    data = f'<?xml version="1.0" encoding="iso-8859-1"?>\n{document}'.encode()
    return str(len(data)).encode() + b"\0" + data + b"\0"


def answer(number: int, name: str = "status", more: str = "", inner: str = "") -> str:
    return f'<response command="{name}" transaction_id="{number}" {more}>{inner}</response>'


@given(st.lists(st.integers(min_value=1, max_value=60), max_size=20))
def test_answers_are_whole_however_they_arrive(cuts):
    codec = dbgp.DbgpCodec()
    assert codec.encode(7, "status\nstack_get") == b"status -i 1\0stack_get -i 2\0"
    notice = '<notify name="breakpoint_resolved"><breakpoint id="3"/></notify>'
    data = packet(notice) + packet(answer(1)) + packet(answer(2, "stack_get", inner="<stack/>"))
    found = []
    for cut in [*cuts, len(data)]:
        found += codec.feed(data[:cut])
        data = data[cut:]

    [said, (token, words)] = found

    assert isinstance(said, UnsolicitedText)
    assert token == 7
    # Messages received meanwhile belong to the answer.
    assert [dbgp.tag(each) for each in dbgp.documents(words)] == ["notify", "response", "response"]
    assert dbgp.response(words).get("command") == "stack_get"


def test_a_late_answer_is_nobody_s_and_bytes_of_a_program_break_nothing():
    codec = dbgp.DbgpCodec()
    codec.encode(1, "status")
    codec.encode(2, "run")

    assert codec.feed(packet(answer(1))) == []
    message = '<message exception="E"><![CDATA[\x01 \x00 caf\u00e9]]></message>'
    [(token, words)] = codec.feed(packet(answer(2, "run", 'status="break"', message)))

    assert token == 2
    told = dbgp.child(dbgp.response(words), "message")
    assert told is not None
    assert dbgp.text_of(told).decode().endswith("caf\u00e9")


def test_a_program_at_its_end_is_let_go_at_once():
    codec = dbgp.DbgpCodec()
    codec.encode(1, "run")

    [reply] = codec.feed(packet(answer(1, "run", 'status="stopping"')))

    assert reply == ImmediateReply(b"run -i 2\0")


def test_odd_words_are_quoted():
    assert dbgp.command("property_get", "-n", '$a["b c"]') == 'property_get -n "$a[\\"b c\\"]"'
    assert dbgp.command("eval", data="1 + 1") == "eval -- MSArIDE="


# --- who catches --------------------------------------------------------------------------------

SOURCE = r"""<p> try { </p><?php
namespace Shop;
use Foo\Bar as Baz, Other\Thing;
use My\{One, Two as Deux};
class C {
  use T { a as b; }
  function m() {
    try { // } {
      $f = function () use ($x) {
         throw new \Exception("{$a["}"]} } try {"); // 10
      };
      $f(); // 12
    } catch (Baz | \RuntimeException $e) {
      echo '}'; // 14
    } catch (Deux) {
    } finally { echo <<<EOT
      } try { catch
      EOT; // 18
    }
  }
}
?> try { <?php
try { a(); } catch (One $x) { } // 23
$x->try(); $f = function () use ($x) { try { b(); } catch (Local) { } }; // 24
"""


def test_a_line_is_guarded_by_the_tries_of_its_own_function():
    source = scan(SOURCE)
    types = {line: [guard.types for guard in source.around(line)] for line in (10, 12, 14, 18, 23)}

    assert types == {
        10: [],
        12: [("Foo\\Bar", "RuntimeException", "My\\Two")],
        14: [],
        18: [],
        23: [("My\\One",)],
    }
    assert ("Shop\\Local",) in [guard.types for guard in source.guards]
    assert source.preamble(12).startswith("namespace Shop; use Foo\\Bar as Baz;")


def test_files_that_cannot_be_read_catch_nothing(tmp_path: Path):
    path = tmp_path / "a.php"
    path.write_text("<?php\ntry {\n f();\n} catch (\\Throwable $e) { }\n")

    assert catchers([RawFrame(0, "f", str(tmp_path / "no.php"), 3), RawFrame(0, "g")]) == []
    assert catchers([RawFrame(0, "f", str(path), 3)]) == ["Throwable"]


@given(st.text(alphabet="{}()'\"$;\n <?ph/*#tryfunctioncatch\\", max_size=80))
def test_any_text_can_be_scanned(words):
    scan("<?php " + words)


def test_a_fatal_error_tells_the_exception_and_its_causes():
    fatal = PhpException(
        "Fatal error",
        "Uncaught LogicException: inner in /a.php:3\nStack trace:\n#0 {main}\n\n"
        "Next Shop\\Refused: outer: two in /a.php:4\nStack trace:\n#0 {main}\n  thrown",
    )

    assert fatal.uncaught() == PhpException(
        "Shop\\Refused", "outer: two", ("LogicException: inner",)
    )
    assert fatal.repeats(PhpException("Shop\\Refused", "outer: two"))
    assert not fatal.repeats(PhpException("Other", ""))


# --- values -------------------------------------------------------------------------------------


def test_values_are_written_as_php_writes_them():
    prop = ElementTree.fromstring(
        '<property type="array" children="1" numchildren="3">'
        '<property name="0" type="float"><![CDATA[6]]></property>'
        '<property name="a&quot;b" type="string" size="3" encoding="base64">YQpi</property>'
        '<property name="x" type="array" children="1" numchildren="9"/></property>'
    )

    assert text(prop) == '[0 => 6.0, "a\\"b" => "a\\nb", "x" => array(9)]'
    assert literal(prop) is None, "a part of it was not told"
    assert literal(prop[0]) == "6.0"


def test_an_expression_is_quoted_however_it_is_written():
    made = php_snippets.evaluation("'it\\'s'", "n:")

    assert made.startswith("eval('")
    assert php_snippets.variables_of("$a + $b['$a'] . $this->c") == ["a", "b", "this"]


def test_a_condition_is_converted_to_bool_by_php_itself():
    query = Xdebug(()).evaluate_condition("$items", FrameRef(1, 0))

    code = base64.b64decode(query.command.rpartition(" ")[2]).decode()
    assert "(bool) ($items)" in code, "an empty array is false in PHP, and its text is `[]`"


def test_only_statements_that_surely_follow_one_another_are_counted():
    source = """<?php
foo(
  1); bar();
$a = $b ? 1 :
  2; c(); d();
function g($x) { $y = 1; return $y; }
if ($a) { b(); c(); }
$q = fn($x) => 1; $r = 2;
case A::B: f(); break;
return; $z = 1;
echo 1, f(2, 3), 4;
$m['a;b'] = 'x;'; h();
while ($a) b(); c();
foreach ($a as $b) { if ($b) break; $c = $b; }
foreach ($a as $b) {
  if ($b) c(); else d();
}
if ($a) return 1; else $b = 2;
if ($a) c();
else d();
"""

    found = statements.count(source)

    # A loop or a condition that is whole, that nothing leaves, and that another line follows.
    assert {line for line, number in found.items() if number > 100} == {7, 13, 14}
    assert {line: number for line, number in found.items() if number <= 100} == {
        6: 2,
        9: 2,
        11: 3,
        12: 2,
    }
