#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""view_picture.py RECORDING PICTURE.png [FROM_NS TO_NS]: the page of `hostrace view` in a time window after the recording's
start, as a browser shows it. Needs Chromium."""
import base64
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "tests/page"))
from browser import Browser  # noqa: E402

READY = "document.documentElement?.dataset.ready === '1'"


def main(recording, picture, *window):
    view = subprocess.Popen([os.environ.get("HOSTRACE") or os.path.join(ROOT, "build/hostrace"), "view", "--no-browser", recording],
                            stdout=subprocess.PIPE, text=True)
    url = view.stdout.readline().strip() + ("#t=%s-%s" % window if window else "")
    browser = Browser()
    try:
        browser.size(1100, 900)
        browser.call("Page.navigate", url=url)
        browser.wait("location.protocol === 'http:' && " + READY)
        image = browser.call("Page.captureScreenshot", format="png")["data"]
    finally:
        browser.close()
        view.terminate()
        view.wait()
    with open(picture, "wb") as f:
        f.write(base64.b64decode(image))


main(*sys.argv[1:])
