"""Facts about native programs and the system, without a debugger."""

from __future__ import annotations

import os

import pytest

from freezeframe.backends import native
from freezeframe.backends.native import describe_fault, plain_function
from freezeframe.backends.process_starts import may_start_processes
from freezeframe.backends.transport.process_table import restriction
from harness.compilers import build


@pytest.mark.parametrize(
    ("signal", "code", "text"),
    [
        ("SIGSEGV", 1, "no memory at address 0x10"),
        ("SIGSEGV", 2, "no permission at address 0x10"),
        ("SIGSEGV", 0x80, "no valid address"),
        ("SIGBUS", 2, "nothing behind the mapping at address 0x10"),
        ("SIGFPE", 1, "integer divide by zero"),
        ("SIGFPE", 99, None),
        ("SIGABRT", -6, None),
    ],
)
def test_the_code_of_a_fault_is_explained(signal, code, text):
    assert describe_fault(signal, code, 0x10) == text


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        ("app::main::h0123456789abcdef", "app::main"),
        ("app::main::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef", "app::main::{{closure}}"),
        ("_$LT$app..Point$u20$as$u20$Trait$GT$::go", "<app::Point as Trait>::go"),
        ("app::_private", "app::_private"),
    ],
)
def test_a_rust_name_is_what_the_user_wrote(mangled, plain):
    assert plain_function(mangled) == plain


@pytest.mark.parametrize(
    ("scope", "may_trace", "why", "fix"),
    [
        (1, False, "by its parent only (kernel.yama.ptrace_scope is 1)", "sudo sysctl"),
        (2, False, "only administrators", "sudo sysctl"),
        (3, True, "nobody", "dbg start"),
    ],
)
def test_a_restriction_of_the_system_is_reported_with_its_fix(scope, may_trace, why, fix):
    restricted = restriction(scope, may_trace)

    assert restricted is not None
    assert why in restricted[0]
    assert restricted[1].startswith(fix)


def test_who_may_trace_is_not_restricted():
    assert restriction(0, True) is None
    assert restriction(1, True) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only an administrator can lack the right alone")
def test_an_administrator_of_a_container_without_the_right_is_told_how_to_give_it():
    restricted = restriction(0, False)

    assert restricted is not None
    assert "CAP_SYS_PTRACE" in restricted[0]


def test_sources_that_package_managers_fetched_are_not_the_users_own():
    for path in (
        "/home/me/.cargo/registry/src/index/tokio-1.3/src/lib.rs",
        "/work/app/build/_deps/googletest-src/googletest/src/gtest.cc",
        "/work/app/third_party/googletest/src/gtest.cc",
        "/home/me/go/pkg/mod/x.com/y@v1/z.go",
    ):
        assert native.is_dependency(path), path
    assert not native.is_dependency("/work/app/src/gtest_case.cc")


def test_only_a_program_that_cannot_start_processes_is_said_not_to(tmp_path):
    def binary(name, text, *flags):
        source = tmp_path / name
        source.write_text(text)
        return str(build(source, tmp_path / f"{name}.out", *flags))

    library = binary(
        "starts.c", "int fork(void); int go(void) { return fork(); }", "-shared", "-fPIC"
    )
    through = f"-Wl,-rpath,{tmp_path}"
    asks_library = "int go(void); int main(void) { return go(); }"

    assert not may_start_processes(binary("plain.c", "int main(void) { return 0; }"))
    assert may_start_processes(binary("static.c", "int main(void) { return 0; }", "-static"))
    assert may_start_processes(binary("asks.c", asks_library, library, through))
    assert may_start_processes(library)
    assert may_start_processes(str(tmp_path / "absent"))
