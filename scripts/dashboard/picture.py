#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""picture.py PAGE.html#FRAGMENT PICTURE.png: picture.sh's page as Chromium shows it. Prints which panels are empty."""
import base64
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/page"))
from browser import Browser  # noqa: E402


def main(page, picture):
    browser = Browser()
    try:
        browser.open(page, 1216, 2096)
        image = browser.call("Page.captureScreenshot", format="png")["data"]
        empty = browser.run("document.documentElement.dataset.empty")
        print("panels without data: " + (empty or "none"))
    except Exception:
        print(*browser.complaints(), browser.run("document.body.textContent")[:500], sep="\n", file=sys.stderr)
        raise
    finally:
        browser.close()
    with open(picture, "wb") as f:
        f.write(base64.b64decode(image))


main(*sys.argv[1:])
