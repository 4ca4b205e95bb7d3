#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints how often, and for how long, a VM left guest mode, by reason: exits.py FILE"""
import sys

import hostrace

rows = hostrace.Trace(sys.argv[1]).report("exits")
for row in rows:
    print(f"{row['count']:>8} {row['total_ns'] / 1e6:>10.3f} ms  {row['reason']}")
for note in rows.notes:
    print(note, file=sys.stderr)  # without kvm_exit, what is counted in its place, or why nothing is
sys.exit(not rows)
