#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""chrome.py EVENTS ROWS: do trace events in Chrome's format have the rows of `timeline -f json`?"""
import collections
import decimal
import json
import sys


def ns(us):
    return int(us * 1000)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        events = json.load(f, parse_float=decimal.Decimal)["traceEvents"]
    with open(sys.argv[2], encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    names = {(e["name"], e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M"}
    have = collections.Counter(
        (names["process_name", e["pid"], 0], names["thread_name", e["pid"], e["tid"]], e["cat"], e["name"], ns(e["ts"]),
         ns(e["dur"]) if e["ph"] == "X" else 0) for e in events if e["ph"] in "Xi")
    want = collections.Counter(
        (r["group"], r["track"], r["kind"], r["name"], r["start_ns"], r["duration_ns"]) for r in rows)
    print("missing:", list(want - have)[:5], "too many:", list(have - want)[:5])
    sys.exit(have != want or not want or any(e["ph"] not in "MXiC" for e in events))


main()
