"""The source files of a program, from its debug information."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from freezeframe.backends.debug_info import has_types, source_files
from harness.requirements import need

PROGRAM = "int main(int n, char **words) { return n + !words; }\n"


@pytest.fixture
def source(tmp_path):
    need("gcc", shutil.which("gcc"))
    path = tmp_path / "some" / "main.c"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    return path


def built(source, program, *flags):
    subprocess.run(["gcc", *flags, str(source), "-o", str(program)], check=True)
    return program


@pytest.mark.parametrize("flags", [("-gdwarf-5",), ("-gdwarf-4",), ("-gdwarf-5", "-gz")])
def test_a_program_names_the_files_that_it_was_made_of(source, tmp_path, flags):
    program = built(source, tmp_path / "main", *flags)

    assert str(source) in source_files(str(program))


def test_what_is_no_program_was_made_of_nothing(source, tmp_path):
    broken = tmp_path / "broken"
    broken.write_bytes(built(source, tmp_path / "main", "-g").read_bytes()[:5000])

    assert [source_files(str(each)) for each in (source, broken, tmp_path / "none")] == [()] * 3


def test_a_program_with_lines_only_tells_no_types(source, tmp_path):
    assert has_types(str(built(source, tmp_path / "whole", "-g")))
    assert not has_types(str(built(source, tmp_path / "lines", "-g1")))
