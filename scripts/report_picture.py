#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""report_picture.py REPORT.html PICTURE.png: the summary of a page of `hostrace report`, and a selected region of its heat
map with what these exits went into, as a browser shows them. Needs Chromium. Prints what the region has."""
import base64
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/page"))
from browser import Browser  # noqa: E402

def main(page, picture):
    browser = Browser()
    try:
        browser.open(page, 1100, 1290)
        browser.run("document.querySelector('#exits').hidden = true")
        left, top, width, height = browser.box("#heatmap-exits .u-over")
        # the right half, without the fastest exits and the slowest ones
        browser.drag(left + width * 0.6, top + height * 0.18, left + width * 0.96, top + height * 0.92)
        browser.run("scrollTo(0, 0)")
        image = browser.call("Page.captureScreenshot", format="png")["data"]
        print(browser.run("document.querySelector('#region').innerText.split('\\n')[0]"))
    finally:
        browser.close()
    with open(picture, "wb") as f:
        f.write(base64.b64decode(image))


main(*sys.argv[1:])
