# SPDX-License-Identifier: Apache-2.0
"""`baton view` and a page in a browser: headless Chromium, which is too large for core. The least viewer is view_page.html."""

from __future__ import annotations

import base64
import io
import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import baton
import numpy as np
import pytest
from baton_record.view_reduction import Reduction
from PIL import Image
from support.build import needs_package
from support.processes import LOG, Programs
from support.waiting import until
from view_client import shown
from view_messages import image
from websockets.sync.client import connect

CHROMIUM = shutil.which("chromium")
pytestmark = [needs_package(), pytest.mark.skipif(not CHROMIUM, reason="no chromium: scripts/setup.sh viewers")]
PAGE = Path(__file__).with_name("view_page.html")
LIMIT_S = 120


class Page:
    """A page, by https://chromedevtools.github.io/devtools-protocol/."""

    def __init__(self, socket) -> None:
        self._socket, self._number = socket, 0

    def ask(self, method: str, **parameters):
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv(LIMIT_S))).get("id") != self._number:
            pass  # events
        return answer["result"]

    def title(self) -> str:
        return self.ask("Runtime.evaluate", expression="document.title")["result"]["value"]

    def has_text(self, element: str, *parts: str) -> bool:
        wanted = f"document.getElementById('{element}')?.textContent ?? ''"
        text = self.ask("Runtime.evaluate", expression=wanted)["result"]["value"]
        return all(part in text for part in parts)

    def screenshot(self) -> Image.Image:
        return Image.open(io.BytesIO(base64.b64decode(self.ask("Page.captureScreenshot")["data"]))).convert("RGB")


@contextmanager
def opened(folder: Path, address: str):
    """The page in a browser whose profile is in the folder."""
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    flags += [f"--user-data-dir={folder}", "--remote-debugging-port=0", "--disable-background-networking"]
    with Programs({"PATH": "/usr/bin:/bin", "HOME": str(folder)}) as programs:
        browser = programs.start([CHROMIUM, *flags, address], stderr=LOG)
        port_file = folder / "DevToolsActivePort"
        until(
            lambda: browser.poll() is not None or (port_file.exists() and port_file.read_text().count("\n")),
            browser.log,
        )
        assert browser.poll() is None, browser.log()
        port, path = port_file.read_text().split()
        with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as whole:
            pages = [each for each in Page(whole).ask("Target.getTargets")["targetInfos"] if each["type"] == "page"]
        with connect(f"ws://127.0.0.1:{port}/devtools/page/{pages[0]['targetId']}", max_size=None) as socket:
            yield Page(socket)
        browser.terminate()
        browser.wait(LIMIT_S)


def test_a_page_in_a_browser_shows_each_picture(tmp_path):
    node = baton.Node("robot")
    images = node.advertise("camera", "sensor_msgs/Image", baton.QoS(1, durability="transient_local"))
    pixels = np.zeros((120, 160, 3), np.uint8)
    pixels[:, :80], pixels[:, 80:] = (255, 0, 0), (0, 0, 255)
    with shown(reduction=Reduction(jpeg=("*",), quality=95)) as view:
        with opened(tmp_path, f"{PAGE.as_uri()}#{view.port}/camera") as page:
            for number, each in enumerate((pixels, pixels[:, ::-1])):
                images.publish(image("rgb8", np.ascontiguousarray(each)))
                until(lambda number=number: page.title() == str(number + 1))
            assert page.has_text("topics", "/camera  sensor_msgs/msg/CompressedImage")
            picture = page.screenshot()
            picture.save(tmp_path / "screenshot.png")  # to be looked at
            seen = np.asarray(picture).astype(int)
            left, right = seen[60, 40], seen[60, 140]  # the canvas begins at the page's margin of 8 pixels
            assert np.abs(left - (0, 0, 255)).max() < 40 and np.abs(right - (255, 0, 0)).max() < 40
        until(lambda: images.matched == 0)
    assert view.said == []
