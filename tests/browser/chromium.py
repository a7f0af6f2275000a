"""A headless Chromium over its DevTools protocol: open a page, run a script, look at it, note what it fetches."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--remote-debugging-port=0",
)
START_S = 60.0
ANSWER_S = 120.0


class Tab:
    """One open tab. ``requested``: the URLs that it asked for."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.requested: list[str] = []
        self._asked = 0

    async def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        self._asked += 1
        await self.socket.send_json({"id": self._asked, "method": method, "params": parameters})
        while True:
            message = await self._hear()
            if message.get("id") == self._asked:
                assert "error" not in message, message
                answer: dict[str, Any] = message["result"]
                return answer

    async def _hear(self) -> dict[str, Any]:
        message: dict[str, Any] = await self.socket.receive_json(timeout=ANSWER_S)
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(message["params"]["request"]["url"])
        return message

    async def open(self, url: str, width: int, height: int) -> None:
        """Opens a page at a size in CSS pixels, and waits until it has loaded."""
        await self.ask("Network.enable")
        await self.ask("Page.enable")
        await self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        await self.ask("Page.navigate", url=url)
        while (await self.run("document.readyState")) != "complete":
            await asyncio.sleep(0.05)

    async def run(self, script: str) -> Any:
        """The value of a script, promises awaited."""
        answer = await self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def picture(self, path: Path) -> None:
        """Writes what the tab shows as PNG."""
        answer = await self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    async def printed(self) -> bytes:
        """The page as PDF, as a printer would get it."""
        return base64.b64decode((await self.ask("Page.printToPDF"))["data"])


@asynccontextmanager
async def tab(chromium: str, folder: Path) -> AsyncIterator[Tab]:
    """A tab of a fresh browser, which ends with the context."""
    command = [chromium, *FLAGS, f"--user-data-dir={folder / 'profile'}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = await _port(folder / "profile" / "DevToolsActivePort", process)
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = json.loads(await answer.text())
            address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
            async with session.ws_connect(address, max_msg_size=0) as socket:
                yield Tab(socket)
    finally:
        process.kill()
        process.wait()


async def _port(file: Path, process: subprocess.Popen[bytes]) -> int:
    for _ in range(int(START_S / 0.1)):
        assert process.poll() is None, f"Chromium ended with code {process.returncode}"
        if file.exists() and file.read_text().strip():
            return int(file.read_text().splitlines()[0])
        await asyncio.sleep(0.1)
    raise TimeoutError(f"Chromium did not open its port within {START_S} s")
