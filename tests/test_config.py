"""config.toml and the environment: every key declared once, nothing wrong taken silently."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from freezeframe.backends.dap.adapters import _documented
from freezeframe.config import Config, load, override, read, settings
from freezeframe.errors import BadConfig


@pytest.fixture
def write(tmp_path: Path):
    """Write config.toml and return its path."""

    def write(text: str | bytes) -> Path:
        path = tmp_path / "config.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_no_file_means_the_defaults(tmp_path):
    config = load(tmp_path / "none" / "config.toml", {})

    assert config == Config()
    assert config.timeouts.request_s == 30
    assert config.daemon.idle_timeout_s == 30 * 60
    assert config.output.max_bytes == 10_000_000
    assert all(setting.source == "default" for setting in settings(config))


def test_a_file_sets_what_it_names_and_leaves_the_rest(write):
    config = load(write("[timeouts]\nawait_s = 60\n[defaults]\njust_my_code = true\n"), {})

    assert config.timeouts.await_s == 60
    assert config.timeouts.request_s == 30
    assert config.defaults.just_my_code is True


def test_a_section_of_a_debugger_holds_its_command(write):
    config = load(
        write('[adapters."some-dap"]\npath = "~/bin/some-dap"\nargs = ["--quiet"]\n'),
        {"HOME": "/home/ada"},
    )

    assert config.adapter("some-dap").path == "/home/ada/bin/some-dap"
    assert config.adapter("some-dap").args == ("--quiet",)
    assert config.adapter("another").path is None


def test_the_environment_wins_over_the_file(write):
    path = write('[answers]\nbudget_tokens = 900\n[defaults]\nadapter = "one"\n')

    config = load(path, {"FREEZEFRAME_BUDGET": "700", "FREEZEFRAME_DEBUGGER": "two"})

    assert config.answers.budget_tokens == 700
    assert config.defaults.adapter == "two"


def test_an_empty_variable_overrides_nothing(write):
    path = write('[defaults]\nadapter = "one"\n')

    assert load(path, {"FREEZEFRAME_DEBUGGER": ""}).defaults.adapter == "one"


def test_the_idle_time_of_the_environment_is_in_seconds():
    assert load(None, {"FREEZEFRAME_IDLE_TIMEOUT_S": "3"}).daemon.idle_timeout_s == 3


def test_a_caller_s_environment_does_not_change_the_config_of_others():
    shared = load(None, {})

    assert override(shared, {"FREEZEFRAME_BUDGET": "80"}).answers.budget_tokens == 80
    assert shared.answers.budget_tokens == 2000
    assert override(shared, {"PATH": "/bin"}) is shared


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[timeouts]\nawait_s = '3'", "timeouts.await_s must be a number, not '3'."),
        ("[timeouts]\nawait_s = true", "timeouts.await_s must be a number, not True."),
        ("[timeouts]\nawait_s = -1", "timeouts.await_s must be from 0 to 86400, not -1."),
        ("[timeouts]\nawait_s = nan", "timeouts.await_s must be from 0 to 86400, not nan."),
        ("[output]\nmax_events = 2.5", "output.max_events must be a whole number, not 2.5."),
        ("[output]\nmax_events = 0", "output.max_events must be at least 1, not 0."),
        ("[defaults]\njust_my_code = 1", "defaults.just_my_code must be true or false, not 1."),
        ("[adapters.x]\nargs = 'a'", "adapters.x.args must be a list of strings, not 'a'."),
        ("adapters = 3", "adapters must be a section, not 3."),
        ("daemon = 3", "daemon must be a section, not 3."),
    ],
)
def test_what_is_wrong_is_named_with_what_is_wanted(write, text, message):
    with pytest.raises(BadConfig) as raised:
        load(write(text), {})

    assert raised.value.message.startswith(message)
    assert raised.value.next


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("timeouts.dap_initialize_secs", "timeouts.initialize_s"),
        ("timeouts.dap_request_secs", "timeouts.request_s"),
        ("timeouts.await_default_secs", "timeouts.await_s"),
        ("daemon.idle_timeout_minutes", "daemon.idle_minutes"),
    ],
)
def test_the_names_of_another_debugger_s_file_are_understood(write, theirs, ours):
    section, key = theirs.split(".")

    config = load(write(f"[{section}]\n{key} = 5"), {})

    assert next(each.value for each in settings(config) if each.key == ours) == 5
    assert not config.warnings


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("[timeouts]\nawait_secs = 3", "timeouts.await_secs is not a key of config.toml"),
        ("[timeout]\nawait_s = 3", "the nearest is timeouts."),
        ("[adapters.x]\npaht = 'a'", "the nearest is adapters.x.path"),
        ("[zzz]", "there are timeouts, daemon, output"),
    ],
)
def test_an_unknown_key_is_a_warning_and_the_rest_is_read(write, text, warning):
    config = load(write(f"[answers]\nbudget_tokens = 900\n{text}"), {})

    assert config.answers.budget_tokens == 900
    assert warning in config.warnings[0]


def test_the_file_of_the_documented_adapters_has_no_unknown_key():
    assert not read(_documented.FILE, {}).warnings


@pytest.mark.parametrize("text", ["[timeouts", b"\xff\xfe"])
def test_a_file_that_is_not_toml_is_refused_by_name(write, text):
    path = write(text)

    with pytest.raises(BadConfig) as raised:
        load(path, {})

    assert str(path) in raised.value.message


def test_a_file_that_is_a_directory_is_refused(tmp_path):
    with pytest.raises(BadConfig, match="cannot be read"):
        load(tmp_path, {})


@pytest.mark.parametrize("value", ["many", "1e999", "nan", "3"])
def test_a_bad_variable_is_named_and_can_be_unset(value):
    with pytest.raises(BadConfig, match="FREEZEFRAME_BUDGET") as raised:
        load(None, {"FREEZEFRAME_BUDGET": value})

    assert raised.value.next == "unset FREEZEFRAME_BUDGET"


def test_every_key_is_shown_with_its_meaning_and_its_source(write):
    config = load(write("[timeouts]\nawait_s = 60\n"), {"FREEZEFRAME_BUDGET": "700"})
    shown = {setting.key: setting for setting in settings(config)}

    for section in ("timeouts", "daemon", "output", "answers", "defaults"):
        for key in fields(getattr(config, section)):
            assert shown[f"{section}.{key.name}"].explanation
    assert shown["timeouts.await_s"].source == "config.toml"
    assert shown["timeouts.await_s"].default == 300
    assert shown["answers.budget_tokens"].source == "FREEZEFRAME_BUDGET"
    assert shown["timeouts.request_s"].source == "default"
    assert "adapters.NAME.path" in shown
