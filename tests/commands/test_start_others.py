"""What is typed first for programs of node, Ruby and C."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from harness.reports import place, printed

ADD = "function add(a, b) {\n  return a + b;  // @add\n}\nmodule.exports = { add };\n"
TESTS = """\
const test = require("node:test");
const { add } = require("../add.js");
test("adds", () => { add(1, 2); });
"""


def need(command: str) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"apt-get install {command}")


def test_the_natural_ways_to_a_test_of_node_lead_there(dbg, write_program, project):
    need("npm")
    p = write_program("add.js", ADD)
    (project / "t").mkdir()
    (project / "t" / "a.test.js").write_text(TESTS)
    (project / "t" / "b.test.js").write_text(TESTS)
    scripts = {"test": "node --test t/", "unit": "node t/a.test.js | cat"}
    (project / "package.json").write_text(json.dumps({"name": "x", "scripts": scripts}))

    for words in (("npm", "test"), ("node", "--test", "t/"), ("node", "--no-warnings", "t/a.test")):
        report = dbg.data("start", *words, "-b", p.at("add"), "--name", "t")
        assert report["stop"]["frame"]["line"] == p.line("add"), words
        dbg.data("stop", "-s", "t")


def test_a_command_is_found_in_the_directory_that_it_is_to_run_in(dbg, project):
    need("npm")
    below = project / "web"
    (below / "lib").mkdir(parents=True)
    (below / "package.json").write_text(json.dumps({"scripts": {"go": "cd lib && node main.js"}}))
    (below / "lib" / "main.js").write_text("const n = 1\nconsole.log(n)\n")

    report = dbg.data("start", "npm", "run", "go", "--cwd", "web", "-b", "web/lib/main.js:2")

    assert place(report) == "main.js:2"


def test_a_test_of_ruby_is_found_behind_rake(dbg, write_program, project):
    need("rake")
    p = write_program("add.rb", "def add(a, b)\n  a + b # @add\nend\n")
    (project / "t").mkdir()
    (project / "t" / "a.rb").write_text('require "add"\nadd(1, 2)\n')
    (project / "Rakefile").write_text(
        'require "rake/testtask"\n'
        'Rake::TestTask.new(:test) { |t| t.libs << "."; t.pattern = "t/*.rb" }\n'
    )

    for words in (("rake", "test"), ("ruby", "-w", "-I.", "t/a.rb")):
        report = dbg.data("start", *words, "-b", p.at("add"), "--name", "t")
        assert report["stop"]["frame"]["line"] == p.line("add"), words
        assert report["output"]["chunks"] == [], words


def test_a_binary_that_is_called_like_a_runtime_is_debugged_itself(dbg, project):
    shutil.copy("/bin/echo", project / "lua")

    assert printed(dbg.data("start", "./lua", "--", "t.lua")) == "t.lua\n"


_OBJECTIVE_C = """\
#include <stdio.h>
#include <objc/Object.h>
#include <objc/runtime.h>

@interface Counter : Object
{
  int total;
}
- (int) add: (int) amount;
@end

@implementation Counter
- (int) add: (int) amount
{
  total += amount;
  return total;
}
@end

int main (void)
{
  id counter = class_createInstance (objc_getClass ("Counter"), 0);
  [counter add: 4];
  printf ("%d\\n", [counter add: 5]);
  return 0;
}
"""


def test_a_method_of_objective_c_is_stopped_in(dbg, project):
    (project / "count.m").write_text(_OBJECTIVE_C)
    compiler = ["gcc", "-c", "count.m", "-o", "count.o"]
    if shutil.which("gcc") is None or subprocess.run(compiler, cwd=project).returncode:
        pytest.skip("gcc has no Objective-C: apt-get install gobjc")

    report = dbg.data("start", "count.m", "-b", "-[Counter add:]")

    assert report["stop"]["thread"]["frame"]["function"] == "-[Counter add:]"
    dbg.data("continue")
    assert dbg.data("print", "self->total")["value"]["text"] == "4"
    assert dbg.data("print", "amount")["value"]["text"] == "5"
