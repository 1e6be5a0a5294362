"""A program that closes every descriptor runs on, and none of its own files is written to."""

from __future__ import annotations

from pathlib import Path

from harness.client import Dbg
from harness.requirements import need

PYTHON = """import os
def work(n):
    return n + 1
os.closerange(3, 200)
files = [open(f"file{n}", "w") for n in range(20)]
print(work(1), flush=True)
for file in files:
    file.write("mine")
    file.close()
"""
PERL = """use POSIX;
sub work {
    return $_[0] + 1;
}
POSIX::close($_) for 3 .. 200;
print work(1), "\\n";
"""
RUBY = """def work(n)
  n + 1
end
(3..200).each { |n| IO.for_fd(n).close rescue nil }
files = (0...20).map { |n| File.open("file#{n}", "w") }
puts work(1)
files.each { |file| file.write("mine") }
"""


def test_python_under_pdb_goes_on_alone(dbg: Dbg, project: Path):
    (project / "closes.py").write_text(PYTHON)
    told = dbg("start", "closes.py", "--adapter", "pdb", "-b", "closes.py:3")
    assert "exited: code 0" in told.out, told
    assert "err|" not in told.out, told
    assert "| 2" in told.out
    assert {file.read_text() for file in project.glob("file*")} == {"mine"}


def test_perl_goes_on_alone(dbg: Dbg, project: Path):
    need("perl", "apt-get install perl")
    (project / "closes.pl").write_text(PERL)
    told = dbg("start", "closes.pl", "-b", "closes.pl:3")
    assert "exited: code 0" in told.out, told
    assert "err|" not in told.out, told
    assert "| 2" in told.out


def test_ruby_goes_on_alone(dbg: Dbg, project: Path):
    need("ruby", "apt-get install ruby ruby-debug")
    (project / "closes.rb").write_text(RUBY)
    told = dbg("start", "closes.rb", "-b", "closes.rb:2")
    assert "exited: code 0" in told.out, told
    assert "err|" not in told.out, told
    assert "| 2" in told.out
    assert "closed the connection to its debugger" in told.out
    assert {file.read_text() for file in project.glob("file*")} == {"mine"}
