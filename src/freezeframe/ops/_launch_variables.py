"""Variables in launch configurations: `${workspaceFolder}`, `${env:NAME}`, `$ZED_FILE`, …"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from freezeframe.errors import UsageError
from freezeframe.model import late_regex
from freezeframe.model.fast_dataclass import dataclass

from ._launch_files import Input, LaunchEntry
from ._suggestions import quoted

_VARIABLE = late_regex.compile(r"\$\{([^{}]+)\}|\$(ZED_\w+)")


@dataclass(frozen=True, slots=True)
class LaunchVariables:
    """Replaces the variables of one configuration."""

    configuration: LaunchEntry
    #: absolute path of the file that would be open in the editor; None: none was named
    file: str | None
    env: Mapping[str, str]
    #: values of inputs, by their ids
    inputs: Mapping[str, str]
    cwd: str
    home: str

    def replace(self, value: Any) -> Any:
        """Return *value* with the variables in all its strings replaced.

        Raises UsageError for one that has no value here.
        """
        if isinstance(value, str):
            return _VARIABLE.sub(lambda found: self._value(found[1] or found[2]), value)
        if isinstance(value, list):
            return [self.replace(each) for each in value]
        if isinstance(value, dict):
            return {name: self.replace(each) for name, each in value.items()}
        return value

    def _value(self, name: str) -> str:
        kind, colon, rest = name.partition(":")
        if colon and kind == "env":
            return self.env.get(rest, "")
        if colon and kind == "input":
            return self._input(rest)
        if colon and kind == "workspaceFolder":
            return self.configuration.folder
        if kind in _PLAIN:
            return _PLAIN[kind](self)
        if kind in _OF_FILE:
            return _OF_FILE[kind](self, self._file(name))
        raise self._refused(
            f"`${{{name}}}` has a value in an editor only",
            "dbg attach PID" if "pick" in rest.lower() and "proc" in rest.lower() else None,
        )

    def _file(self, name: str) -> str:
        if self.file is None:
            raise self._refused(
                f"it uses `${{{name}}}`, and no file was named",
                f"dbg start --config {quoted(self.configuration.name)} FILE",
            )
        return self.file

    def _input(self, id: str) -> str:
        if id in self.inputs:
            return self.inputs[id]
        known = self.configuration.inputs.get(id)
        if known is None:
            raise self._refused(f"it uses the input `{id}`, which the file does not describe", None)
        text = known.description or known.kind
        if known.options:
            text += f"; one of {', '.join(known.options)}"
        given = quoted(f"{id}={_proposed(known)}")
        raise self._refused(
            f"it needs the input `{id}` ({text})",
            f"dbg start --config {quoted(self.configuration.name)} --input {given}",
        )

    def _refused(self, why: str, next: str | None) -> UsageError:
        named = f"configuration {self.configuration.name!r}"
        return UsageError(f"{named}: {why}.", next=next or "dbg start PROGRAM")


def _proposed(known: Input) -> str:
    return known.default or next(iter(known.options), "VALUE")


def _relative(self: LaunchVariables, file: str) -> str:
    return os.path.relpath(file, self.configuration.folder)


_PLAIN: dict[str, Callable[[LaunchVariables], str]] = {
    "workspaceFolder": lambda self: self.configuration.folder,
    "workspaceRoot": lambda self: self.configuration.folder,
    "workspaceFolderBasename": lambda self: os.path.basename(self.configuration.folder),
    "userHome": lambda self: self.home,
    "cwd": lambda self: self.cwd,
    "pathSeparator": lambda self: os.sep,
    "/": lambda self: os.sep,
    "ZED_WORKTREE_ROOT": lambda self: self.configuration.folder,
}
_OF_FILE: dict[str, Callable[[LaunchVariables, str], str]] = {
    "file": lambda self, file: file,
    "fileBasename": lambda self, file: os.path.basename(file),
    "fileBasenameNoExtension": lambda self, file: os.path.splitext(os.path.basename(file))[0],
    "fileDirname": lambda self, file: os.path.dirname(file),
    "fileExtname": lambda self, file: os.path.splitext(file)[1],
    "fileWorkspaceFolder": lambda self, file: self.configuration.folder,
    "relativeFile": _relative,
    "relativeFileDirname": lambda self, file: os.path.dirname(_relative(self, file)) or ".",
    "ZED_FILE": lambda self, file: file,
    "ZED_FILENAME": lambda self, file: os.path.basename(file),
    "ZED_STEM": lambda self, file: os.path.splitext(os.path.basename(file))[0],
    "ZED_DIRNAME": lambda self, file: os.path.dirname(file),
    "ZED_RELATIVE_FILE": _relative,
    "ZED_RELATIVE_DIR": lambda self, file: os.path.dirname(_relative(self, file)) or ".",
}
