"""A headless Chromium, driven over WebDriver as its own driver speaks it."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

DRIVER, CHROMIUM = shutil.which("chromedriver"), shutil.which("chromium")
INSTALLED = DRIVER is not None and CHROMIUM is not None
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """One window of a given width, dark or light."""

    def __init__(self, folder: Path, width: int = 1280, height: int = 800, *, dark: bool = False) -> None:
        self._folder, self._size, self._dark = folder, (width, height), dark

    def __enter__(self) -> Browser:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        quiet = subprocess.DEVNULL
        self._driver = subprocess.Popen([str(DRIVER), f"--port={self._port}"], stdout=quiet, stderr=quiet)
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        flags += [f"--user-data-dir={self._folder}", f"--window-size={self._size[0]},{self._size[1]}"]
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        until = time.monotonic() + 30
        while True:
            try:
                made = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}}, top=True)
                break
            except (urllib.error.URLError, ConnectionError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)
        self._session = made["sessionId"]
        self._pid = int(made["capabilities"]["goog:processID"])
        scheme = {"name": "prefers-color-scheme", "value": "dark" if self._dark else "light"}
        self.cdp("Emulation.setEmulatedMedia", features=[scheme])
        width, height = self._size
        self.cdp(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError, AssertionError):  # it may have been killed
            self._call("DELETE", "")
        self._driver.terminate()
        self._driver.wait()

    def kill(self) -> None:
        """Kill the browser, as a crash of it."""
        os.kill(self._pid, signal.SIGKILL)

    def open(self, address: str) -> None:
        self._call("POST", "/url", {"url": address})

    def run(self, script: str, *arguments: Any) -> Any:
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self, selector: str = "body") -> str:
        return str(self.run("const e = document.querySelector(arguments[0]); return e ? e.innerText : ''", selector))

    def until(self, text: str, selector: str = "body", seconds: float = 20) -> None:
        ends = time.monotonic() + seconds
        while text not in (shown := self.text(selector)):
            assert time.monotonic() < ends, f"{text!r} never came. There is: {shown}"
            time.sleep(0.05)

    def gone(self, text: str, selector: str = "body", seconds: float = 20) -> None:
        ends = time.monotonic() + seconds
        while text in (shown := self.text(selector)):
            assert time.monotonic() < ends, f"{text!r} is still there: {shown}"
            time.sleep(0.05)

    def click(self, label: str, selector: str = "button, a") -> None:
        """Click what has this text, as a person does."""
        found = self.run(
            "return [...document.querySelectorAll(arguments[0])].find(e => e.innerText.includes(arguments[1]) && e.offsetParent)",
            selector,
            label,
        )
        assert found, f"There is no {label!r}: {self.text()}"
        self.run("arguments[0].scrollIntoView({block: 'center'})", found)
        self._call("POST", f"/element/{found[_ELEMENT]}/click", {})

    def type(self, selector: str, text: str) -> None:
        found = self._call("POST", "/element", {"using": "css selector", "value": selector})
        self._call("POST", f"/element/{found[_ELEMENT]}/value", {"text": text})

    def picture(self, file: Path) -> None:
        file.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def log(self) -> list[str]:
        """What the console of the browser says: errors, and what the page's policy refused."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def cdp(self, command: str, **given: Any) -> Any:
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": given})

    def tree(self) -> list[tuple[str, str]]:
        """What a screen reader has: roles and names, without the ones it skips."""
        nodes = self.cdp("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
        ]

    def _call(self, method: str, path: str, body: Any = None, *, top: bool = False) -> Any:
        place = path if top else f"/session/{self._session}{path}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}{place}", data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(error.read().decode()[:2000]) from None
