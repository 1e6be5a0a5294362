"""Which units of a program are optimised, from its debug information."""

from __future__ import annotations

import subprocess

import pytest

from freezeframe.backends.optimization import Optimized, optimized
from harness.requirements import need


@pytest.mark.parametrize("dwarf", ["-gdwarf-4", "-gdwarf-5", "-gz"])
def test_units_that_gcc_optimised_are_distinguished_from_the_others(tmp_path, dwarf):
    need("gcc", "apt-get install gcc")
    for name, text in (("fast", "int fast(int a) { return a; }"), ("main", "int main() {}")):
        (tmp_path / f"{name}.c").write_text(text)
    for name, level in (("fast", "-O2"), ("main", "-O0")):
        command = ["gcc", "-g", dwarf, level, "-c", f"{name}.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
    subprocess.run(["gcc", "fast.o", "main.o", "-o", "app"], cwd=tmp_path, check=True)

    found = optimized(str(tmp_path / "app"))

    assert found == Optimized(frozenset({str(tmp_path / "fast.c")}), "-O2")


def test_what_is_no_program_tells_nothing(tmp_path):
    (tmp_path / "text").write_bytes(b"\x7fELF\x02 and no more")
    assert not optimized(str(tmp_path / "text"))
    assert not optimized(str(tmp_path / "missing"))
