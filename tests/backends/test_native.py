"""What is told of native programs and of the system around them, without a debugger."""

from __future__ import annotations

import os

import pytest

from freezeframe.backends import native
from freezeframe.backends.native import fault_words, plain_function
from freezeframe.backends.transport.processes import restriction


@pytest.mark.parametrize(
    ("signal", "code", "words"),
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
def test_the_system_s_code_of_a_fault_is_put_into_words(signal, code, words):
    assert fault_words(signal, code, 0x10) == words


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
def test_a_restriction_of_the_system_is_told_with_what_lifts_it(scope, may_trace, why, fix):
    told = restriction(scope, may_trace)

    assert told is not None
    assert why in told[0]
    assert told[1].startswith(fix)


def test_who_may_trace_is_not_restricted():
    assert restriction(0, True) is None
    assert restriction(1, True) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only an administrator can lack the right alone")
def test_an_administrator_of_a_container_without_the_right_is_told_how_to_give_it():
    told = restriction(0, False)

    assert told is not None
    assert "CAP_SYS_PTRACE" in told[0]


def test_sources_that_package_managers_fetched_are_not_the_users_own():
    for path in (
        "/home/me/.cargo/registry/src/index/tokio-1.3/src/lib.rs",
        "/work/app/build/_deps/googletest-src/googletest/src/gtest.cc",
        "/work/app/third_party/googletest/src/gtest.cc",
        "/home/me/go/pkg/mod/x.com/y@v1/z.go",
    ):
        assert native.is_dependency(path), path
    assert not native.is_dependency("/work/app/src/gtest_case.cc")
