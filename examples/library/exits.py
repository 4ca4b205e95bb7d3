#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the VM-exits of a trace by reason, with libhostrace and ctypes."""
import collections
import ctypes
import sys

class Event(ctypes.Structure):
    _fields_ = [("time_ns", ctypes.c_uint64), ("name", ctypes.c_char_p), ("source", ctypes.c_char_p)]

lib = ctypes.CDLL("libhostrace.so.0")
lib.hostrace_open.restype = ctypes.c_void_p
lib.hostrace_field_text.restype = lib.hostrace_error.restype = ctypes.c_char_p
trace = ctypes.c_void_p(lib.hostrace_open(sys.argv[1].encode()))
event, more, reasons = ctypes.POINTER(Event)(), 1 if trace else -1, collections.Counter()
while more > 0 and (more := lib.hostrace_next(trace, ctypes.byref(event))) > 0:
    if event.contents.name == b"kvm_exit":
        reasons[lib.hostrace_field_text(trace, lib.hostrace_field(trace, b"reason")).decode()] += 1
lib.hostrace_close(trace)
for reason, count in reasons.most_common():
    print(count, reason)
sys.exit(lib.hostrace_error().decode() if more < 0 else 0)
