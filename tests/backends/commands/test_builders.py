"""Builds that run tests, and runtimes with options: make, ctest, rake, java, mvn, php, perl."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from backends.async_tests import on_loop
from freezeframe.backends.transport.run_command import run
from freezeframe.errors import NotFound, UsageError

from .test_resolve import found, write


def need(command: str) -> None:
    if shutil.which(command) is None:
        pytest.skip(f"apt-get install {command}")


@on_loop
async def test_make_runs_what_comes_before_its_program(tmp_path):
    need("make")
    write(
        tmp_path / "Makefile",
        "made:\n\ttouch made\ntest: made\n\tcd sub && MODE=x ./app one\n"
        "loop:\n\tfor i in 1 2; do ./app; done\n",
    )
    app = write(tmp_path / "sub" / "app", "binary", executable=True)

    got = await found(tmp_path, "make test")

    assert (got.program.program, got.program.args) == (app, ("one",))
    assert (got.line.cwd, got.line.env["MODE"]) == (str(tmp_path / "sub"), "x")
    assert (tmp_path / "made").exists()
    with pytest.raises(UsageError, match="for i in 1 2"):
        await found(tmp_path, "make loop")
    with pytest.raises(NotFound, match="nosuch"):
        await found(tmp_path, "make nosuch")


@on_loop
async def test_the_failing_ctest_test_is_chosen(tmp_path):
    need("ctest")
    write(
        tmp_path / "CTestTestfile.cmake",
        'add_test(good "/bin/true")\nadd_test(bad "/bin/false" "x")\n'
        'set_tests_properties(bad PROPERTIES ENVIRONMENT "A=b")\n',
    )

    every = await found(tmp_path, "ctest")
    one = await found(tmp_path, "ctest -R good")

    assert (every.program.program, every.program.args) == ("/bin/false", ("x",))
    assert every.line.env["A"] == "b"
    assert one.program.program == "/bin/true"


@on_loop
async def test_rake_is_run_to_see_which_ruby_it_would_start(tmp_path):
    need("rake")
    write(
        tmp_path / "Rakefile",
        'require "rake/testtask"\nRake::TestTask.new(:test) { |t| t.pattern = "t/*.rb" }\n'
        'task(:plain) { File.write("ran", "") }\n',
    )
    write(tmp_path / "t" / "a.rb", 'File.write("tested", "")\n')

    tests = (await found(tmp_path, "rake test")).program
    plain = (await found(tmp_path, "rake plain")).program

    assert tests.program.endswith("rake_test_loader.rb")
    assert tests.args == ("t/a.rb",)
    assert not (tmp_path / "tested").exists()
    assert os.path.basename(plain.program) == "rake"


@on_loop
async def test_options_of_runtimes_are_separated_from_their_programs(tmp_path):
    for name in ("a.rb", "a.php", "a.pl", "a.jar", "A.java"):
        write(tmp_path / name, "")

    for line, options, program, args in (
        ("ruby -Ilib -r set a.rb -v", ("-Ilib", "-r", "set"), "a.rb", ("-v",)),
        ("php -d x=y -n a.php z", ("-d", "x=y", "-n"), "a.php", ("z",)),
        ("perl -w -I lib a.pl", ("-w", "-I", "lib"), "a.pl", ()),
        ("java -Da=b -jar a.jar c", ("-Da=b",), "a.jar", ("c",)),
        ("java -ea A.java d", ("-ea",), "A.java", ("d",)),
    ):
        if shutil.which(line.split()[0]) is None:
            continue
        got = (await found(tmp_path, line)).program
        assert (got.interpreter_args, got.program, got.args) == (
            *(options, str(tmp_path / program), args),
        ), line


@on_loop
async def test_a_class_of_java_is_found_on_its_class_path(tmp_path):
    need("java")

    got = (await found(tmp_path, "java -Da=b -cp out:lib/* shop.Main x")).program

    assert (got.program, got.module, got.args) == ("shop.Main", True, ("x",))
    assert got.interpreter_args == ("-Da=b",)
    assert got.env["CLASSPATH"] == f"{tmp_path}/out:{tmp_path}/lib/*"


@on_loop
async def test_maven_runs_tests_in_its_own_process(tmp_path):
    need("mvn")
    got = (await found(tmp_path, "mvn test -Dtest=X")).program

    assert got.args[:2] == ("test", "-Dtest=X")
    assert "-DforkCount=0" in got.args
    argv = (got.interpreter or "", *got.interpreter_args, got.program, "--version")
    ran = await run(argv, cwd=str(tmp_path), env={**os.environ, **got.env}, timeout_s=60)
    assert "Apache Maven" in ran.out


@on_loop
async def test_prove_is_read_as_the_perl_that_runs_a_test(tmp_path):
    write(tmp_path / "t" / "a.t", "print qq(1..1\\nok 1\\n);")
    bad = write(tmp_path / "t" / "b.t", "print qq(1..1\\nnot ok 1\\n); exit 1;")
    deep = write(tmp_path / "t" / "more" / "c.t", "print qq(1..1\\nok 1\\n);")

    one = await found(tmp_path, "prove -lv -I inc t/a.t -w :: --fast x")
    several = await found(tmp_path, "prove")
    with_rest = await found(tmp_path, "prove -r t/more")
    with pytest.raises(NotFound, match="no tests in nowhere"):
        await found(tmp_path, "prove nowhere")

    assert one.program.program == str(tmp_path / "t" / "a.t")
    assert one.program.interpreter_args == ("-w", "-Ilib", "-Iinc")
    assert one.program.args == ("--fast", "x")
    assert one.line.env["HARNESS_ACTIVE"] == "1"
    assert several.program.program == bad
    assert with_rest.program.program == deep


@on_loop
async def test_gradle_is_run_with_a_script_that_starts_tests_with_the_agent(tmp_path):
    write(tmp_path / "gradlew", "#!/bin/sh\n", executable=True)
    jar = write(tmp_path / "gradle" / "wrapper" / "gradle-wrapper.jar", "")

    program = (await found(tmp_path, "./gradlew test --tests Cart --debug-jvm")).program

    assert program.program == "org.gradle.wrapper.GradleWrapperMain"
    assert program.env["CLASSPATH"] == str(jar)
    *words, option, script, agent = program.args
    assert words == ["test", "--tests", "Cart", "--no-daemon"]
    assert (option, agent) == ("--init-script", "-Dfreezeframe.agent=")
    assert Path(script).is_file()


@on_loop
async def test_a_gradle_without_its_launcher_is_refused_with_what_was_typed(tmp_path):
    write(tmp_path / "gradlew", "#!/bin/sh\n", executable=True)
    with pytest.raises(UsageError, match="alone runs no program"):
        await found(tmp_path, "./gradlew --offline")

    with pytest.raises(NotFound) as refused:
        await found(tmp_path, "./gradlew test --tests Cart")

    assert refused.value.next is not None
    assert refused.value.next.startswith("./gradlew test --tests Cart --debug-jvm & ")
