#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares every event and field of what another tool prints of an export with `hostrace export text`.

events.py ctf TEXT BABELTRACE        the output of babeltrace2 --clock-cycles
"""
import re
import sys


def identifier(name):
    return re.sub(r"[^A-Za-z0-9]", "_", name)


def unescape(text):
    raw = re.sub(rb"\\(?:x([0-9a-fA-F]{2})|(.))",
                 lambda m: bytes([int(m[1], 16)]) if m[1] else m[2], text.encode())
    return raw.decode(errors="surrogateescape")


def pairs(text, equals):
    """NAME=VALUE of a line; numbers as numbers."""
    found = []
    for name, quoted, bare in re.findall(r'([^\s=,{}]+)' + equals + r'(?:"((?:[^"\\]|\\.)*)"|([^\s,"{}]+))', text):
        found.append((name, int(bare, 0) if bare else unescape(quoted)))
    return found


def hostrace(path):
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        if line.startswith("#") or not line.strip():
            continue
        time, name, rest = (line.rstrip("\n").split(" ", 2) + [""])[:3]
        seconds, _, fraction = time.partition(".")
        values = pairs(rest, "=")
        head = {"vcpu": -1}
        for key in ("pid", "tid", "cpu", "vcpu"):
            if values and values[0][0].lstrip(".") == key:
                head[key] = values.pop(0)[1]
        yield (int(seconds) * 10**9 + int(fraction.ljust(9, "0")), name, head,
               [(identifier(k), v) for k, v in values])


def ctf(path):
    line_of = re.compile(r"\[(\d+)\] \(\+[\d?]+\) (.*?): (\{ source = .*)$")
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        time, name, rest = line_of.match(line).groups()
        name = name.strip('"')
        context, _, fields = re.match(r'(\{ source = .*?comm = "(?:[^"\\]|\\.)*" \}), (\{(.*)\})$', rest).groups()
        head = {k: v for k, v in pairs(re.sub(r"source = \([^)]*\), ", "", context), " = ") if k != "comm"}
        yield int(time), name, head, pairs(fields, " = ")


def main():
    ours, theirs = list(hostrace(sys.argv[2])), list({"ctf": ctf}[sys.argv[1]](sys.argv[3]))
    if len(ours) != len(theirs) or not ours:
        sys.exit(f"{len(ours)} events, the other tool reads {len(theirs)}")
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        # babeltrace2 2.0.4 prints an empty text as the one before it.
        b[3][:] = [(k, "" if ours == (k, "") else v) for ours, (k, v) in zip(a[3], b[3])] + b[3][len(a[3]):]
        wanted = {k: v for k, v in b[2].items() if k != "vcpu" or a[2]["vcpu"] != -1}
        if (a[0], a[1], {k: a[2][k] for k in wanted}, a[3]) != (b[0], b[1], wanted, b[3]):
            sys.exit(f"event {number}:\n  {a}\nother tool:\n  {b}")
    print(f"{len(ours)} events")


main()
