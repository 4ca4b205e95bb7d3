#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares every event and field of what another tool prints of an export with `hostrace export text`.

events.py ctf TEXT BABELTRACE        the output of babeltrace2 --clock-cycles
events.py tracedat TEXT REPORT       the output of trace-cmd report -R -t: the numbers, without names of fields and texts
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


def tracedat(path):
    line_of = re.compile(r"^.*-(\d+) +\[(\d+)\] +(\d+)\.(\d{9}): (\w+): +(.*)$")
    for line in open(path, encoding="utf-8", errors="surrogateescape"):
        if line.startswith("cpus=") or "EVENTS DROPPED" in line:
            continue
        tid, cpu, seconds, ns, name, fields = line_of.match(line.rstrip("\n")).groups()
        if name == "lost":
            continue
        values = [int(v, 0) for k, v in re.findall(r"(\w+)=(-?\d+|0x[0-9a-f]+)(?= |$)", fields) if k != "vcpu_id"]
        yield int(seconds) * 10**9 + int(ns), name, {"tid": int(tid), "cpu": int(cpu)}, values


def tracedat_lost(path):
    """In marks between pages, and in events."""
    text = open(path, encoding="utf-8", errors="surrogateescape").read()
    return sum(int(a or b) for a, b in re.findall(r"\[(\d+) EVENTS DROPPED\]|: lost: +count=(\d+) ", text))


def comparable(event):
    """An event of hostrace's as tracedat() has it: texts of digits, too; one of an unknown CPU is on CPU 0."""
    time, name, head, values = event
    numbers = [v if isinstance(v, int) else int(v) for k, v in values
               if isinstance(v, int) and k not in ("target", "vcpu_id") or isinstance(v, str) and v.isdigit()]
    state = {0x402: 0x80, 0x80: 0x10}
    if name == "sched_switch":
        numbers[0] = state.get(numbers[0], numbers[0])
    return time, name.split(":")[-1], {"tid": head["tid"], "cpu": head.get("cpu", 0)}, numbers


def by_cpu(event):
    return event[0], event[2]["cpu"]


def main():
    ours, theirs = list(hostrace(sys.argv[2])), list({"ctf": ctf, "tracedat": tracedat}[sys.argv[1]](sys.argv[3]))
    if sys.argv[1] == "tracedat":
        lost = sum(dict(e[3])["count"] for e in ours if e[1] == "lost")
        if lost != tracedat_lost(sys.argv[3]):
            sys.exit(f"{lost} lost events, the other tool reads {tracedat_lost(sys.argv[3])}")
        ours = sorted((comparable(e) for e in ours if e[1] != "lost"), key=by_cpu)
        theirs.sort(key=by_cpu)
    if len(ours) != len(theirs) or not ours:
        sys.exit(f"{len(ours)} events, the other tool reads {len(theirs)}")
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        if sys.argv[1] == "ctf":  # babeltrace2 2.0.4 prints an empty text as the one before it.
            b[3][:] = [(k, "" if ours == (k, "") else v) for ours, (k, v) in zip(a[3], b[3])] + b[3][len(a[3]):]
        wanted = {k: v for k, v in b[2].items() if k != "vcpu" or a[2]["vcpu"] != -1}
        if (a[0], a[1], {k: a[2].get(k, -1) for k in wanted}, a[3]) != (b[0], b[1], wanted, b[3]):
            sys.exit(f"event {number}:\n  {a}\nother tool:\n  {b}")
    print(f"{len(ours)} events")


main()
