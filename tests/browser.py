"""A headless Chromium, driven by its DevTools protocol over a pipe: what a page of this project really does.

`Browser` starts one, `Browser.open` gives a `Page` of it. Tests take it from the session fixture `browser`, which skips
where there is no Chromium. With the environment variable `CI` set it fails instead, so that a pipeline never passes by
leaving pages out.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 120
"""Seconds without a word from the browser after which it is given up: no test waits that long unless it has failed."""
KEYS = {
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "Home": 36,
    "End": 35,
    "Escape": 27,
    "Enter": 13,
    "PageUp": 33,
    "PageDown": 34,
}


class BrowserError(RuntimeError):
    """The browser said no, or nothing."""


class Browser:
    """A running Chromium."""

    def __init__(self, program: str) -> None:
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--force-color-profile=srgb",
            "--remote-debugging-pipe",
            f"--user-data-dir={self._folder.name}",
        ]
        # The protocol speaks on the descriptors 3 and 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        self._process = subprocess.Popen(  # noqa: S603 - a browser of this machine
            ["bash", "-c", script, "bash", program, *flags, "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._rest = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Return what a command answers."""
        self._number += 1
        told: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if session is not None:
            told["sessionId"] = session
        self._send(told)
        while True:
            heard = self._hear()
            if heard.get("id") == self._number:
                if "error" in heard:
                    raise BrowserError(f"{method}: {heard['error']}")
                result: dict[str, Any] = heard["result"]
                return result
            self.events.append(heard)

    def wait(self, method: str, session: str) -> None:
        """Wait until the browser has told an event of a page."""
        seen = 0
        while True:
            for event in self.events[seen:]:
                if event.get("method") == method and event.get("sessionId") == session:
                    self.events.remove(event)
                    return
            seen = len(self.events)
            self.events.append(self._hear())

    def open(self, file: Path, *, dark: bool = False, width: int = 1280, height: int = 800) -> Page:
        """Open a file as a page of its own."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable", session)
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", session, **metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, features=[scheme])
        self.call("Page.navigate", session, url=file.resolve().as_uri())
        self.wait("Page.loadEventFired", session)
        return Page(self, target, session)

    def close(self) -> None:
        """End the browser."""
        with suppress(BrowserError, OSError):
            self.call("Browser.close")
        os.close(self._out)
        os.close(self._in)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def _send(self, told: dict[str, Any]) -> None:
        data = json.dumps(told).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]

    def _hear(self) -> dict[str, Any]:
        parts = [self._rest]
        while b"\0" not in parts[-1]:
            if not select.select([self._in], [], [], PATIENCE)[0]:
                raise BrowserError("the browser says nothing")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise BrowserError("the browser is gone")
            parts.append(data)
        heard, _, self._rest = b"".join(parts).partition(b"\0")
        message: dict[str, Any] = json.loads(heard)
        return message


class Page:
    """A page that is open."""

    def __init__(self, browser: Browser, target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page, which goes through JSON."""
        wrapped = f"JSON.stringify(await ({script}) ?? null)"
        result = self._browser.call(
            "Runtime.evaluate",
            self._session,
            expression=f"(async () => {wrapped})()",
            awaitPromise=True,
            returnByValue=True,
        )
        if "exceptionDetails" in result:
            raise BrowserError(result["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        return json.loads(result["result"]["value"])

    def press(self, *keys: str) -> None:
        """Press keys, one after another."""
        for key in keys:
            how: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, 0)}
            text = {} if key in KEYS else {"text": key}
            self._browser.call("Input.dispatchKeyEvent", self._session, type="keyDown", **how, **text)
            self._browser.call("Input.dispatchKeyEvent", self._session, type="keyUp", **how)

    def click(self, selector: str) -> None:
        """Click in the middle of an element, once the frames that are due are drawn: they may move or replace it."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
        box = self.run(f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().toJSON()")
        self.click_at(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def click_at(self, x: float, y: float) -> None:
        """Click at a place of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": x, "y": y, "button": "left", "clickCount": 1}
            self._browser.call("Input.dispatchMouseEvent", self._session, type=kind, **where)

    def picture(self, kind: str = "png") -> bytes:
        """Return what the page looks like."""
        return base64.b64decode(self._browser.call("Page.captureScreenshot", self._session, format=kind)["data"])

    def complaints(self) -> list[str]:
        """Return what the page's scripts raised, what its policy refused and what it wrote to the console."""
        found = [event for event in self._browser.events if event.get("sessionId") == self._session]
        methods = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(event["params"]) for event in found if event["method"] in methods]

    def close(self) -> None:
        """Close the page."""
        self._browser.call("Target.closeTarget", targetId=self._target)
        self._browser.events.clear()


def program() -> str | None:
    """Return where Chromium is on this machine, if it is."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start a browser for the whole session."""
    found = program()
    if found is None:
        message = "Chromium is not installed (Debian: apt-get install chromium)"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    started = Browser(found)
    yield started
    started.close()
