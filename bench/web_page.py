"""What the live page costs a session, and how soon a stop is on it.

The page is played by a client of its events: what a browser adds is drawing.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from urllib.parse import urlsplit

from environment import line_of
from measures import Figure, Measure, Probe, Taken

WATCHED, ALONE = "dbg next, watched", "dbg next, not watched"
SHOWN = "until a stop is on the page, after its answer"


class Watcher:
    """Receives the events of one run and notes when each stop came."""

    def __init__(self, link: str, run: int) -> None:
        parts = urlsplit(link)
        host, port = str(parts.hostname), parts.port
        first = http.client.HTTPConnection(host, port, timeout=60)
        first.request("GET", f"{parts.path}?{parts.query}")
        cookie = first.getresponse().headers["Set-Cookie"].partition(";")[0]
        self._events = http.client.HTTPConnection(host, port, timeout=60)
        self._events.request(
            "GET", f"{parts.path}events?page=benchbench&run={run}", headers={"Cookie": cookie}
        )
        self.stops = 0
        self.at_s = 0.0
        self._changed = threading.Condition()
        self._lines = self._events.getresponse()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._lines:
            if not line.startswith(b"data: "):
                continue
            run = json.loads(line[6:]).get("run")
            if run and run["stops"]:
                with self._changed:
                    self.stops, self.at_s = run["before"] + len(run["stops"]), time.monotonic()
                    self._changed.notify_all()

    def wait(self, stops: int) -> float:
        """Return when the page had so many stops."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.stops >= stops, timeout=20):
                raise RuntimeError(f"stop {stops} is not on the page")
            return self.at_s


class WebPage(Measure):
    """A step with its whole report, watched and not, each by a daemon of its own."""

    name = "web"

    def open(self) -> dict[str, Probe]:
        self._alone = self.lab.home("alone")
        where = f"steps.py:{line_of('steps.py', 'stop')}"
        start = ("start", "steps.py", "--interpreter", self.lab.python, "--name", "web")
        self.lab.run(*start, "-b", where)
        self.lab.run(*start, "-b", where, env=self._alone)
        link = json.loads(self.lab.run("web", "--json"))["data"]["link"]
        runs = json.loads(self.lab.run("sessions", "--all", "--json"))["data"]["recorded"]
        number = max(run["number"] for run in runs if run["name"] == "web")
        self._watcher = Watcher(link, number)
        self._watcher.wait(1)
        self._shown_s = 0.0
        return {WATCHED: self._watched, ALONE: self._unwatched, SHOWN: lambda: self._shown_s}

    def _watched(self) -> float:
        stops = self._watcher.stops
        took_s, _ = self.lab.timed("next", "-s", "web")
        answered_s = time.monotonic()
        self._shown_s = max(1e-6, self._watcher.wait(stops + 1) - answered_s)
        return took_s

    def _unwatched(self) -> float:
        return self.lab.timed("next", "-s", "web", env=self._alone)[0]

    def figures(self, taken: Taken) -> list[Figure]:
        return [
            Figure("dbg next, watched / not", taken[WATCHED] / taken[ALONE], "×", 1.1),
            Figure(SHOWN, taken[SHOWN] * 1000, "ms", 50.0),
        ]

    def close(self) -> None:
        self.lab.run("stop", "-s", "web")
        self.lab.run("stop", "-s", "web", env=self._alone)


PAGES = (WebPage,)
