"""A function named with its file: `app.py:total`."""

from __future__ import annotations

import pytest

from freezeframe.errors import NotFound
from freezeframe.session.function_lines import line_of_function

_PYTHON = '''\
class Cart:
    @property
    def total(
        self,
    ):
        """The sum."""
        global SEEN
        return 1

    def size(self): return 0

def total(): return 2
async def fetch():
    await x
'''
_GO = """\
func (c *Cart) Total(n int) int {
	return n
}
func run() {
	total := Total(3)
	if Total(4) > 3 {
	}
}
"""
_C = """\
int total(int a,
          int b)
{
    // sum
    return a + b;
}
int main(void) { return total(1, 2); }
"""


@pytest.mark.parametrize(
    ("file", "text", "name", "line"),
    [
        ("a.py", _PYTHON, "Cart.total", 8),
        ("a.py", _PYTHON, "size", 10),
        ("a.py", _PYTHON, "fetch", 14),
        ("a.go", _GO, "Total", 2),
        ("a.go", _GO, "run", 5),
        ("a.c", _C, "total", 5),
        ("a.js", "const f = async (n) => {\n  return n;\n};\nf(3);\n", "f", 2),
        ("a.ts", "class A {\n  go<T>(x: T) {\n    return x;\n  }\n}\n", "A.go", 3),
        ("a.rs", "fn go<T>(x: T) -> T {\n    x\n}\nfn main() { go(1); }\n", "go", 2),
        ("a.rb", "def go(n)\n  n\nend\ngo(1)\n", "go", 2),
    ],
)
def test_the_first_line_of_code_of_a_function_is_found(tmp_path, file, text, name, line):
    path = tmp_path / file
    path.write_text(text)

    assert line_of_function(name, str(path), file) == line


def test_a_name_that_no_function_or_several_have_is_refused_with_the_lines(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(_PYTHON)

    with pytest.raises(NotFound) as several:
        line_of_function("total", str(path), "a.py")
    with pytest.raises(NotFound) as none:
        line_of_function("tota", str(path), "a.py")

    assert "at lines 8, 12" in str(several.value)
    assert several.value.next == "dbg break a.py:8"
    assert "no function of a.py is called tota" in str(none.value)
