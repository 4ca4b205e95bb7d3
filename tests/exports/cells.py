#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""cells.py CSV JSON: has `export csv`, read by Python's csv, every event of `export json`, each field in its column?"""
import csv
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as f:
        lines = list(csv.DictReader(f))
    with open(sys.argv[2], encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    assert len(lines) == len(rows) > 0, f"{len(lines)} lines, {len(rows)} events"
    for line, row in zip(lines, rows):
        assert None not in line, f"a line has more cells than the heading: {line}"
        fields = row.pop("fields")
        own = {key: value for key, value in row.items() if key in line}
        cells = {**{key if key not in own else f"fields.{key}": value for key, value in fields.items()}, **own}
        for key, value in cells.items():
            text = "" if value is None else str(value)
            cell = line[key].lstrip("'")  # a cell that a spreadsheet would take for a formula
            assert cell == text or int(cell, 0) == int(text, 0), f"{key}: {line[key]!r}, not {text!r}"


main()
