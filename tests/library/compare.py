#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares every event and field that libhostrace returns with `hostrace list -f jsonl`: compare.py FILE [GUEST] <JSONL"""
import ctypes
import json
import sys


class Event(ctypes.Structure):
    _fields_ = [("time_ns", ctypes.c_uint64), ("name", ctypes.c_char_p), ("source", ctypes.c_char_p),
                ("thread", ctypes.c_char_p), ("pid", ctypes.c_uint32), ("tid", ctypes.c_uint32),
                ("cpu", ctypes.c_int32), ("vcpu", ctypes.c_int32), ("nr_fields", ctypes.c_uint32)]


lib = ctypes.CDLL("libhostrace.so.0")
for name in ("error", "field_name", "field_text", "note"):
    getattr(lib, "hostrace_" + name).restype = ctypes.c_char_p
for name in ("field_number", "lost"):
    getattr(lib, "hostrace_" + name).restype = ctypes.c_uint64
for name in ("open", "open_with_guest"):
    getattr(lib, "hostrace_" + name).restype = ctypes.c_void_p
KINDS = UNSIGNED, SIGNED, TEXT = 0, 1, 2


def value(trace, i, like):
    """A field in the form of `like`, the value in JSON."""
    number = lib.hostrace_field_number(trace, i)
    kind = lib.hostrace_field_kind(trace, i)
    assert kind in KINDS
    if isinstance(like, int):
        return ctypes.c_int64(number).value if kind == SIGNED else number
    if like.startswith("0x") and kind == UNSIGNED and lib.hostrace_field_text(trace, i).decode() != like:
        return hex(number)
    return lib.hostrace_field_text(trace, i).decode()


def row(trace, event, like):
    known = {lib.hostrace_field_name(trace, i).decode(): i for i in range(event.nr_fields)}
    for field, i in known.items():
        assert lib.hostrace_field(trace, field.encode()) == i, field
    got = {"source": event.source.decode(), "cpu": event.cpu if event.cpu >= 0 else None, "vcpu": event.vcpu if event.vcpu >= 0 else None,
           "tid": event.tid, "comm": event.thread.decode(), "event": event.name.decode(),
           "fields": {k: value(trace, known[k], v) for k, v in like["fields"].items()}}
    got["time_ticks" if lib.hostrace_in_ticks(trace) else "time_ns"] = event.time_ns
    return got


def main():
    files = [name.encode() for name in sys.argv[1:]]
    opened = lib.hostrace_open(files[0]) if len(files) == 1 else lib.hostrace_open_with_guest(*files)
    if not opened:
        sys.exit(lib.hostrace_error().decode())
    trace, event = ctypes.c_void_p(opened), ctypes.POINTER(Event)()
    assert lib.hostrace_field(trace, b"reason") == -1 and lib.hostrace_field_name(trace, 0) is None
    lines = [json.loads(line) for line in sys.stdin]
    for number, like in enumerate(lines[:-1], 1):
        more = lib.hostrace_next(trace, ctypes.byref(event))
        if more != 1:
            sys.exit(f"event {number}: returned {more}: {lib.hostrace_error().decode()}")
        like.pop("vm", None)
        got = row(trace, event.contents, like)
        if got != like:
            sys.exit(f"event {number}:\n  {got}\nlist:\n  {like}")
        assert lib.hostrace_field_name(trace, event.contents.nr_fields) is None
    for _ in range(2):  # the end is returned again
        if lib.hostrace_next(trace, ctypes.byref(event)) != 0:
            sys.exit(f"more than {len(lines) - 1} events, or {lib.hostrace_error().decode()}")
    lost = sum(i["lost"] for i in lines[-1]["inputs"])
    if lib.hostrace_lost(trace) != lost:
        sys.exit(f"{lib.hostrace_lost(trace)} lost, list has {lost}")
    notes = []
    while (note := lib.hostrace_note(trace, len(notes))) is not None:
        notes.append(note.decode())
    missing = [n for n in notes if n not in lines[-1]["caveats"]]
    if missing:
        sys.exit(f"notes that list has not: {missing}; list has {lines[-1]['caveats']}")
    lib.hostrace_close(trace)
    print(f"{len(lines) - 1} events, {lost} lost, {len(notes)} notes")


main()
