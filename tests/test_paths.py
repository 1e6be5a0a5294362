from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from freezeframe import paths
from freezeframe.errors import Insecure


def test_freezeframe_home_moves_everything(tmp_path: Path) -> None:
    env = {"FREEZEFRAME_HOME": str(tmp_path), "XDG_STATE_HOME": "/x", "XDG_RUNTIME_DIR": "/y"}
    places = [
        paths.runtime_dir(env),
        paths.state_dir(env),
        paths.cache_dir(env),
        paths.config_path(env),
        paths.socket_path(env),
        paths.log_path(env),
    ]
    assert all(place == str(tmp_path) or place.startswith(f"{tmp_path}/") for place in places)


def test_a_relative_home_becomes_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert paths.runtime_dir({"FREEZEFRAME_HOME": "here/"}) == str(tmp_path / "here")


def test_the_runtime_directory_is_xdgs_if_that_is_ours(tmp_path: Path) -> None:
    assert paths.runtime_dir({"XDG_RUNTIME_DIR": str(tmp_path)}) == str(tmp_path / "freezeframe")
    fallback = f"/tmp/freezeframe-{os.geteuid()}"
    assert paths.runtime_dir({"XDG_RUNTIME_DIR": str(tmp_path / "gone")}) == fallback
    assert paths.runtime_dir({}) == fallback


def test_the_others_follow_xdg_and_ignore_relative_values(tmp_path: Path) -> None:
    env = {"HOME": "/home/me", "XDG_CONFIG_HOME": "/etc/me", "XDG_STATE_HOME": "relative"}
    assert paths.config_path(env) == "/etc/me/freezeframe/config.toml"
    assert paths.state_dir(env) == "/home/me/.local/state/freezeframe"
    assert paths.cache_dir(env) == "/home/me/.cache/freezeframe"


def test_a_directory_is_made_for_us_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = paths.secure(str(tmp_path / "a" / "b"))
    finally:
        os.umask(before)
    assert os.stat(made).st_mode & 0o777 == 0o700


def test_one_of_ours_that_others_may_enter_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    paths.secure(str(tmp_path))
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(Insecure, match="is a link to real"):
        paths.secure(str(tmp_path / "link"))


def test_a_dangling_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(Insecure, match="is a link"):
        paths.secure(str(tmp_path / "link"))
    assert not (tmp_path / "nowhere").exists()


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Insecure, match="is not a directory"):
        paths.secure(str(tmp_path / "file"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's directory")
def test_another_users_directory_is_refused_and_not_changed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    os.chown(tmp_path, 12345, 12345)
    with pytest.raises(Insecure, match="belongs to user 12345"):
        paths.secure(str(tmp_path))
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Insecure, match="cannot be made"):
        paths.secure(str(tmp_path / "file" / "below"))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc, whose modes nobody can change")
def test_one_of_ours_that_cannot_be_closed_is_refused() -> None:
    with pytest.raises(Insecure, match="open to others and cannot be closed") as error:
        paths.secure("/proc/self/task")
    assert error.value.next == "FREEZEFRAME_HOME=~/.freezeframe dbg status"
