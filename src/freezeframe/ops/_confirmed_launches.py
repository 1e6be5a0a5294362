"""What a person or an agent has confirmed to run: launch configurations of a workspace, by content.

A file of a workspace may come from anybody. What it would run is shown before the first time, and
again after each change of the file or of an envFile that it names.
"""

from __future__ import annotations

import hashlib
import json
import os

from freezeframe import files, paths
from freezeframe.errors import UserError

_FILE = "confirmed-launches.json"
#: the oldest are forgotten
_MOST = 1000
_MAX_BYTES = 1 << 20


def digest(name: str, contents: dict[str, bytes]) -> str:
    """Return the digest of a configuration and of the files, by path, that it consists of."""
    found = hashlib.sha256(name.encode())
    for path, content in sorted(contents.items()):
        for part in (path.encode("utf-8", "surrogateescape"), content):
            found.update(b"%d:" % len(part) + part)
    return found.hexdigest()


def is_confirmed(digest: str) -> bool:
    return digest in _read()


def confirm(digest: str) -> None:
    """Remember that what has this digest may run. Raises UserError."""
    known = _read()
    if digest in known:
        return
    directory = paths.secure(paths.state_dir())
    data = json.dumps([*known, digest][-_MOST:]).encode()
    try:
        files.write_bytes(os.path.join(directory, _FILE), data, replace=True)
    except OSError as error:
        raise UserError(
            f"{directory} cannot be written: {error.strerror}.",
            code="unconfirmed",
            next="dbg doctor",
        ) from None


def _read() -> list[str]:
    try:
        found = json.loads(files.read_bytes(os.path.join(paths.state_dir(), _FILE), _MAX_BYTES))
    except (OSError, ValueError):
        return []
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
