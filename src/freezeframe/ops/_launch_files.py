"""Launch configurations of editors: `.vscode/launch.json` and `.zed/debug.json`, as written there.

Nothing is resolved here: `_launch_variables` replaces variables, `_launch_configurations` says what
a configuration starts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from freezeframe import files
from freezeframe.errors import BadConfig, NotFound
from freezeframe.model.fast_dataclass import dataclass, field

from ._config_edit import UnreadableConfig, read_json
from ._suggestions import nearest, quoted

#: where editors keep them, below the folder that was opened
VSCODE = os.path.join(".vscode", "launch.json")
ZED = os.path.join(".zed", "debug.json")
_MAX_BYTES = 1 << 20
#: sections of a configuration for one platform
_PLATFORMS = {"linux": "linux", "darwin": "osx", "win32": "windows"}


@dataclass(frozen=True, slots=True)
class Input:
    """A value that the editor would ask its user for."""

    id: str
    #: `promptString`, `pickString` or `command`
    kind: str
    description: str
    default: str | None = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchEntry:
    """One entry of a file."""

    name: str
    #: the file, and the folder that the editor has opened
    path: str
    folder: str
    fields: Mapping[str, Any]
    inputs: Mapping[str, Input]
    #: the content of the file
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Compound:
    """Several configurations that are started together."""

    name: str
    path: str
    members: tuple[str, ...]
    task: str | None = None


@dataclass(frozen=True, slots=True)
class LaunchFiles:
    """What the files of a project say."""

    paths: tuple[str, ...]
    configurations: Mapping[str, LaunchEntry]
    compounds: Mapping[str, Compound]

    def find(self, name: str) -> tuple[LaunchEntry, ...]:
        """Return the configuration of that name, or those of a compound. Raises NotFound."""
        if name in self.configurations:
            return (self.configurations[name],)
        compound = self.compounds.get(name)
        if compound is None:
            names = (*self.configurations, *self.compounds)
            close = nearest(name, names)
            hint = f"the nearest is {close[0]!r}" if close else "`--config` alone lists them"
            raise NotFound(
                f"there is no configuration {name!r}; {hint}.",
                next=f"dbg start --config {quoted(close[0])}" if close else "dbg start --config",
            )
        missing = [each for each in compound.members if each not in self.configurations]
        if missing or not compound.members:
            what = f"{missing[0]!r}, which is not there" if missing else "nothing"
            raise BadConfig(
                f"{compound.path}: the compound {name!r} names {what}.", next="dbg start --config"
            )
        return tuple(self.configurations[each] for each in compound.members)


def read_launch_files(cwd: str, root: str) -> LaunchFiles:
    """Return the configurations of *cwd* or the nearest folder above, up to *root*.

    Raises NotFound if there is no file, BadConfig for one that cannot be read.
    """
    folder = os.path.abspath(cwd)
    while True:
        found = [path for path in (VSCODE, ZED) if os.path.lexists(os.path.join(folder, path))]
        if found:
            return _read(folder, found)
        above = os.path.dirname(folder)
        if folder in (os.path.abspath(root), above):
            raise NotFound(
                f"there is neither {VSCODE} nor {ZED} in {root}.", next="dbg start PROGRAM"
            )
        folder = above


def _read(folder: str, names: list[str]) -> LaunchFiles:
    configurations: dict[str, LaunchEntry] = {}
    compounds: dict[str, Compound] = {}
    for name in names:
        path = os.path.join(folder, name)
        try:
            content = files.read_bytes(path, _MAX_BYTES)
            data = read_json(content.decode("utf-8"))
        except (OSError, UnicodeDecodeError, UnreadableConfig) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise BadConfig(f"{path} cannot be read: {why}.", next="dbg start PROGRAM") from None
        entries = data if name == ZED else _items(data, "configurations")
        inputs = {} if name == ZED else _inputs(data)
        for entry in entries if isinstance(entries, list) else ():
            title = entry.get("label" if name == ZED else "name") if _is_object(entry) else None
            if isinstance(title, str) and title not in configurations:
                fields = {**entry, **_of_platform(entry)}
                configurations[title] = LaunchEntry(title, path, folder, fields, inputs, content)
        for entry in () if name == ZED else _items(data, "compounds"):
            if _is_object(entry) and isinstance(title := entry.get("name"), str):
                members = [_member(each) for each in entry.get("configurations") or ()]
                task = entry.get("preLaunchTask")
                compounds[title] = Compound(title, path, tuple(members), task)
    return LaunchFiles(
        tuple(os.path.join(folder, each) for each in names), configurations, compounds
    )


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _items(data: Any, name: str) -> list[Any]:
    found = data.get(name) if isinstance(data, dict) else None
    return found if isinstance(found, list) else []


def _member(entry: Any) -> str:
    """Return the configuration that a compound names: its name, or an object with it."""
    return str(entry.get("name", "") if isinstance(entry, dict) else entry)


def _of_platform(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    found = entry.get(_PLATFORMS.get(sys.platform, ""))
    return found if isinstance(found, dict) else {}


def _inputs(data: Any) -> dict[str, Input]:
    found = {}
    for entry in _items(data, "inputs"):
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            continue
        options = [
            str(each.get("value", "")) if isinstance(each, dict) else str(each)
            for each in entry.get("options") or ()
        ]
        default = entry.get("default")
        found[entry["id"]] = Input(
            entry["id"],
            str(entry.get("type", "")),
            str(entry.get("description", "")),
            default if isinstance(default, str) else None,
            tuple(options),
        )
    return found
