"""Places and names that stay the same from run to run, and what is not written down."""

from __future__ import annotations

import time

import pytest

from freezeframe.history import codec, location_keys
from freezeframe.history.redaction import Secrets
from freezeframe.model.values import Scope, ScopeKind, Value

SECRETS = Secrets(("*password*", "*api_key*"))
NONE = Secrets(())


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("total_of", "total_of"),
        ("loop::total_of::h0123456789abcdef", "loop::total_of"),
        ("shop::add(int, char const*)", "shop::add"),
        ("std::vector<int, std::allocator<int> >::push_back(int&&)", None),
        ("main.(*Cart).Add", "main.(*Cart).Add"),
        ("(anonymous namespace)::f(int)", "(anonymous namespace)::f"),
        ("work.constprop.0", "work"),
        ("run [clone .cold]", "run"),
        ("<lambda at 0x7ffe12345678>", "<lambda at 0x>"),
        ("Account#deposit", "Account#deposit"),
        ("<module>", "<module>"),
    ],
)
def test_a_function_has_one_name_however_it_was_built(name, key):
    found = location_keys.function_key(name)

    assert found == (key or "std::vector<int, std::allocator<int> >::push_back")
    assert location_keys.function_key(found) == found


def test_paths_are_relative_to_the_workspace_and_only_below_it():
    assert location_keys.relative("/p/a/b.py", "/p") == "a/b.py"
    assert location_keys.relative("/pa/b.py", "/p") == "/pa/b.py"
    assert location_keys.absolute("a/b.py", "/p") == "/p/a/b.py"
    assert location_keys.absolute("/x/b.py", "/p") == "/x/b.py"


@pytest.mark.parametrize("name", ["password", "db_PASSWORD", "'user_password'", "x_api_key_2"])
def test_a_secret_is_known_by_its_name(name):
    assert SECRETS.hides(name)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("{'password': 'a b', 'n': 1}", "{'password': <not recorded>, 'n': 1}"),
        ("User(password='x', n=1)", "User(password=<not recorded>, n=1)"),
        ('{password: "x\\"y", n: 1}', "{password: <not recorded>, n: 1}"),
        ("{api_key = 0x55 , n = 1}", "{api_key = <not recorded> , n = 1}"),
        ("{'n': 'password'}", "{'n': 'password'}"),
        ("a == b", "a == b"),
    ],
)
def test_a_secret_inside_a_text_is_cut_out(text, kept):
    assert SECRETS.redact(text) == kept


@pytest.mark.parametrize(
    ("name", "text", "hidden"),
    [
        ("user.password", "'x'", True),
        ("password", "None", False),
        ("password", "''", False),
        ("len(password)", "12", False),
        ("get_password", "<function get_password at 0x7f>", False),
        ("token", "'if'", False),
        ("token", "'a1b2c3d4e5'", True),
        ("auth_token", "'0123456789abcdef'", True),
        ("tokens", "['if', '(']", False),
        ("pwd", "'/home/bo'", False),
        ("pwd", "'hunter2'", True),
        ("credentials", "'Basic dXNlcjpwYXNz'", True),
        ("env", "environ({'PATH': '/bin', 'HOME': '/root', 'X': 'y'})", True),
    ],
)
def test_a_name_hides_what_may_be_a_secret(name, text, hidden):
    assert SECRETS.hides(name, text) is hidden


_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
_PEM = "-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("'ghp_" + "a1" * 18 + "'", "'<not recorded>'"),
        ("['AKIA" + "ABCD1234" * 2 + "', 1]", "['<not recorded>', 1]"),
        (f"b'{_JWT}'", "b'<not recorded>'"),
        (f"'{_PEM}'", "'<not recorded>'"),
        ("'postgres://bo:hunter2@db/x'", "'postgres://bo:<not recorded>@db/x'"),
        ("'http://host:80/a@b'", "'http://host:80/a@b'"),
        ("{'Authorization': 'Bearer abcdefgh12'}", "{'Authorization': '<not recorded>'}"),
        (
            "'GET /\\r\\nCookie: a=b; c=d\\r\\nHost: x'",
            "'GET /\\r\\nCookie: <not recorded>\\r\\nHost: x'",
        ),
        ("'a bearer of news'", "'a bearer of news'"),
        ("'Basic understanding'", "'Basic understanding'"),
        ("['--password', 's3', '-v']", "['--password', '<not recorded>', '-v']"),
        ("'curl --api-token=ab1 x'", "'curl --api-token=<not recorded> x'"),
        ("['--password', '--user', 'bo']", "['--password', '--user', 'bo']"),
    ],
)
def test_a_secret_is_known_by_its_shape(text, kept):
    assert SECRETS.redact(text) == kept


def test_secrets_of_a_command_line_are_left_out():
    args = ("--user", "bo", "--password", "hunter2", "--api-token=abc", "-v", "mysql://a:b@c")
    assert SECRETS.redact_arguments(args) == (
        *("--user", "bo", "--password", "<not recorded>", "--api-token=<not recorded>", "-v"),
        "mysql://a:<not recorded>@c",
    )


@pytest.mark.parametrize(
    "unit", ["a", "eyJ", "a://", "a=", "-----BEGIN PRIVATE KEY-----", "'a': ", "--a=", "--a', '"]
)
def test_no_text_makes_the_search_for_secrets_slow(unit):
    began = time.process_time()
    SECRETS.redact(unit * (100_000 // len(unit)) + "=")
    assert time.process_time() - began < 5


def test_values_are_read_back_as_they_were_written():
    child = Value("x", "4", "int")
    scope = Scope(
        "Locals",
        ScopeKind.LOCALS,
        (
            Value("n", "3", "int"),
            Value("p", "", "Point", (child,), True, 1, opaque=True),
            Value("s", "'ä\ud800'", "str"),
            Value("password", "x", "str"),
        ),
        more=2,
    )

    (read,) = codec.scopes(codec.raw_scopes(codec.scopes_bytes([scope], SECRETS)))

    assert read.values[:2] == scope.values[:2]
    assert (read.kind, read.more) == (ScopeKind.LOCALS, 2)
    assert read.values[2].text == "'ä\ufffd\ufffd\ufffd'"
    assert read.values[3].text == Secrets.PLACEHOLDER


def test_a_stop_stays_within_its_cap():
    huge = tuple(Value(f"v{n}", "x" * 5_000, "str") for n in range(100))
    scope = Scope("Locals", ScopeKind.LOCALS, huge)

    packed = codec.scopes_bytes([scope], NONE)

    assert len(codec.unpack(packed)) <= 64_000
    assert len(codec.scopes(codec.raw_scopes(packed))[0].values) == 100
