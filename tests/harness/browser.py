"""A headless Chromium, driven over its DevTools pipe."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import waits

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
_ANSWER_S = 60.0


def find() -> str:
    """Return the path of Chromium; skip the test where there is none."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        why = "there is no chromium: apt-get install chromium"
        pytest.fail(why, pytrace=False) if os.environ.get("CI") else pytest.skip(why)
    return found


class Browser:
    """One process for many pages, each with its own cookies."""

    def __init__(self, profile: Path) -> None:
        to_read, self._writing = os.pipe()
        self._reading, to_write = os.pipe()

        def give_descriptors() -> None:
            # 3 and 4 are the browser's; either pipe may have one of these numbers already.
            reading, writing = os.dup(to_read), os.dup(to_write)
            for wanted, have in ((3, reading), (4, writing)):
                spare = os.dup2(have, 100 + wanted)
                os.dup2(spare, wanted)

        self._process = subprocess.Popen(
            [find(), *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(3, 4, to_read, to_write),
            preexec_fn=give_descriptors,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **params: object) -> dict[str, Any]:
        """Send a command of the DevTools protocol and return its result."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + _ANSWER_S
        while True:
            answer = self._read(deadline)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _read(self, deadline: float) -> dict[str, Any]:
        import select

        while b"\0" not in self._buffer:
            ready = select.select([self._reading], [], [], max(0.0, deadline - time.monotonic()))[0]
            chunk = os.read(self._reading, 1 << 20) if ready else b""
            assert chunk, "the browser did not answer"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    @contextlib.contextmanager
    def page(self, address: str, width: int = 1400, height: int = 900) -> Iterator[Page]:
        """Open *address* with cookies of its own."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        page = self.tab(address, context, width, height)
        try:
            yield page
        finally:
            self.send("Target.disposeBrowserContext", browserContextId=context)

    def tab(self, address: str, context: str, width: int = 1400, height: int = 900) -> Page:
        """Open another tab with the cookies of *context*."""
        made = self.send("Target.createTarget", url="about:blank", browserContextId=context)
        attached = self.send("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        page = Page(self, attached["sessionId"], context, made["targetId"])
        page.resize(width, height)
        for domain in ("Page", "Runtime", "Log"):
            page.send(f"{domain}.enable")
        page.send("Page.navigate", url=address)
        return page

    def close(self) -> None:
        with contextlib.suppress(AssertionError, OSError):
            self.send("Browser.close")
        self._process.wait()
        os.close(self._reading)
        os.close(self._writing)


class Page:
    """A tab of a browser."""

    def __init__(self, browser: Browser, session: str, context: str, target: str) -> None:
        self._browser, self._session, self._target = browser, session, target
        self.context = context

    def send(self, method: str, **params: object) -> dict[str, Any]:
        return self._browser.send(method, self._session, **params)

    def run(self, code: str) -> Any:
        """Return the value of an expression, a promise's once it has one."""
        result = self.send(
            "Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def wait(self, condition: str, why: str = "") -> None:
        """Wait until an expression is true."""
        waits.wait_until(
            lambda: self._holds(condition),
            lambda: f"{why or condition}\n{self.problems()}\n{self._text()}",
        )

    def _holds(self, condition: str) -> bool:
        result = self.send(
            "Runtime.evaluate", expression=f"Boolean({condition})", returnByValue=True
        )
        return bool(result["result"].get("value"))

    def _text(self) -> str:
        return str(self.run("document.body.innerText"))[:3000]

    def key(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            extra = text if kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, **extra)

    def type(self, text: str) -> None:
        self.send("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click with the mouse in the middle of the first element."""
        # An element itself has no value outside of the page.
        self.wait(f"document.querySelector({selector!r}) !== null")
        place = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'nearest'}}); const b = e.getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })"
            f"(document.querySelector({selector!r}))"
        )
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", type=kind, **where)

    def resize(self, width: int, height: int) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def screenshot(self, path: Path) -> None:
        data = self.send("Page.captureScreenshot")["data"]
        path.write_bytes(base64.b64decode(data))

    def problems(self) -> list[str]:
        """Return the errors that the browser reported for this page."""
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(str(details.get("exception", {}).get("description", details)))
            elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(str(params["entry"]["text"]))
        return found

    def close(self) -> None:
        self._browser.send("Target.closeTarget", targetId=self._target)
