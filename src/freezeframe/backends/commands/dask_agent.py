"""Hands runs of a command to a Dask cluster; a program of its own, beside the daemon.

Imports nothing of this package. Reads one JSON object per line: first the cluster and the command,
then a number and the environment of each run. Writes one JSON object per line: which workers there
are and what keeps one from being used, and how each run ended. Output travels once for each way in
which a worker sees the command fail.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
from typing import Any

_CHECK_S = 1.0
_lock = threading.Lock()


def write(**record: Any) -> None:
    with _lock:
        sys.stdout.write(json.dumps(record) + "\n")
        sys.stdout.flush()


# --- executed by the workers; pickled by value, so each imports what it needs ---------------------


def check(root: str, command: str) -> Any:
    """Return what a worker has: the folder, the command, a hash of the sources, the debugger."""
    import hashlib
    import importlib.util
    import os
    import shutil

    found = hashlib.sha256()
    suffixes = (
        ".py",
        ".go",
        ".rs",
        ".js",
        ".ts",
        ".c",
        ".cc",
        ".cpp",
        ".h",
        ".java",
        ".rb",
        ".php",
    )
    skipped = ("node_modules", "target", "__pycache__", "venv", "build", "dist")
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in skipped and f[:1] != ".")
        for name in sorted(names):
            if name.endswith(suffixes):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found.update(os.path.relpath(path, root).encode() + b"\0" + file.read() + b"\0")
    has_command = os.path.exists(os.path.join(root, command)) or shutil.which(command) is not None
    return {
        "folder": os.path.isdir(root),
        "command": has_command,
        "sources": found.hexdigest(),
        "debugger": importlib.util.find_spec("freezeframe") is not None,
    }


def run_once(root: str, argv: Any, limit_s: float, number: int, variation: Any) -> Any:
    """Run the command once on a worker."""
    import hashlib
    import importlib
    import os
    import re
    import signal
    import subprocess
    import time as clock

    worker = importlib.import_module("distributed").get_worker()
    seen = worker.__dict__.setdefault("_freezeframe_seen", set())
    began = clock.monotonic()
    process = subprocess.Popen(
        list(argv),
        cwd=root,
        env={**os.environ, **variation},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        out, _ = process.communicate(timeout=limit_s)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        status = None
    result = {
        "number": number,
        "status": status,
        "took_s": clock.monotonic() - began,
        "worker": worker.address,
    }
    if status != 0:
        text = out[-16_000:].decode("utf-8", "replace")
        plain = re.sub(r"0x[0-9a-fA-F]+|\d+", "#", text)
        key = hashlib.sha256(plain.encode()).hexdigest()[:16]
        result["kind"] = key
        if key not in seen:
            seen.add(key)
            result["output"] = text
    return result


# --- beside the daemon ----------------------------------------------------------------------------


class Cluster:
    """The workers of a scheduler: which are used, and why others are not."""

    def __init__(self, client: Any, request: Any) -> None:
        self._client, self._request = client, request
        self._own = check(request["root"], request["argv"][0])["sources"]
        self.usable: set[str] = set()
        self._known: set[str] = set()

    def look(self) -> None:
        """Check workers that are new, and report those that are gone."""
        info = self._client.scheduler_info(n_workers=-1)
        threads = {address: each["nthreads"] for address, each in info["workers"].items()}
        for address in sorted(self.usable - threads.keys()):
            self.usable.discard(address)
            write(worker=address, problem="it ended; its unfinished runs were given to others")
        new = sorted(threads.keys() - self._known)
        if not new:
            return
        self._known |= set(new)
        root, command = self._request["root"], self._request["argv"][0]
        answers = self._client.run(check, root, command, workers=new, on_error="return")
        for address in new:
            self._judge(address, answers.get(address), threads[address])

    def _judge(self, address: str, found: Any, threads: int) -> None:
        if not isinstance(found, dict):
            write(worker=address, problem=f"it cannot be used: {found!r}"[:200])
            return
        problem = None
        if not found["folder"]:
            problem = f"it has no folder {self._request['root']}"
        elif found["sources"] != self._own:
            problem = "it has another version of the sources"
        elif not found["command"]:
            problem = f"it has no command {self._request['argv'][0]}"
        if problem is None:
            self.usable.add(address)
        write(worker=address, problem=problem, debugger=found["debugger"], threads=threads)


def main() -> None:
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError:
        write(error="missing")
        return
    request = json.loads(sys.stdin.readline())
    try:
        client = distributed.Client(
            request["address"], timeout=request["connect_s"], set_as_default=False
        )
    except Exception as error:
        write(error=f"{type(error).__name__}: {error}"[:300])
        return
    cluster = Cluster(client, request)
    cluster.look()
    write(ready=len(cluster.usable))
    threading.Thread(target=_watch, args=(cluster,), daemon=True).start()
    for line in sys.stdin:
        run = json.loads(line)
        future = client.submit(
            run_once, request["root"], request["argv"], request["limit_s"], run["number"],
            run["env"], workers=sorted(cluster.usable), pure=False, retries=2,
        )  # fmt: skip
        futures[run["number"]] = future
        future.add_done_callback(_ended(run["number"]))
    client.close(timeout=2)


#: held until they have ended: Dask cancels a run that nobody waits for
futures: dict[int, Any] = {}


def _watch(cluster: Cluster) -> None:
    never = threading.Event()
    while not never.wait(_CHECK_S):
        try:
            cluster.look()
        except Exception as error:
            write(error=f"{type(error).__name__}: {error}"[:300])
            return


def _ended(number: int) -> Any:
    """Return what writes how a run ended."""

    def report(future: Any) -> None:
        try:
            write(**future.result(timeout=10))
        except Exception as error:
            write(number=number, lost=f"{type(error).__name__}: {error}"[:300])
        futures.pop(number, None)

    return report


if __name__ == "__main__":
    main()
