import os

from freezeframe.session.source_cache import Sources, enclosing_block

PYTHON = """import os


class A:
    @property
    def first(self):
        if self:
            return 1

        return 2

    def second(self):
        return 3


def top():
    return 4
""".splitlines()

C = """int helper(int n)
{
    return n;
}

int main(void) {
    for (int i = 0; i < 3; i++) {
        helper(i);
    }
    return 0;
}
""".splitlines()


def test_an_excerpt_marks_the_current_line(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("1\n2\n3\n4\n5\n")
    found = Sources().excerpt(str(file), 3, 1, current=3)
    assert [(line.number, line.current) for line in found.lines] == [
        (2, False),
        (3, True),
        (4, False),
    ]
    assert found.total_lines == 5


def test_a_file_that_is_gone_says_so(tmp_path):
    assert Sources().excerpt(str(tmp_path / "gone.py"), 1, 3).missing


def test_a_file_that_changed_is_read_again(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("old\n")
    sources = Sources()
    assert sources.line(str(file), 1) == "old"
    file.write_text("newer\n")
    assert sources.line(str(file), 1) == "newer"


def test_source_newer_than_the_program_is_pointed_out(tmp_path):
    file = tmp_path / "a.py"
    file.write_text("1\n")
    age = os.stat(file).st_mtime
    assert Sources().excerpt(str(file), 1, 1, newer_than=age - 10).note
    assert not Sources().excerpt(str(file), 1, 1, newer_than=age + 10).note


def test_the_block_of_a_method_begins_at_its_decorator():
    assert enclosing_block(PYTHON, 8) == (5, 10)
    assert enclosing_block(PYTHON, 13) == (12, 13)
    assert enclosing_block(PYTHON, 17) == (16, 17)


def test_the_block_of_a_c_function_ends_with_its_brace():
    assert enclosing_block(C, 8) == (6, 11)


def test_a_line_outside_every_function_has_the_whole_file():
    assert enclosing_block(PYTHON, 1) == (1, len(PYTHON))
