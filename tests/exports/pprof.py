#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares a pprof profile, as protoc decodes it, with folded stacks, whose lines must mean the same to flamegraph.pl and
to speedscope. Its importer is not run: its npm package is one script for browsers, which draws what it reads.

pprof.py FOLDED UNIT <TEXT      UNIT: count, nanoseconds
"""
import collections
import re
import sys

from protobuf_text import message_read

# A line of flamegraph.pl: stack, blanks, number; a stack that ends in another number is a difference. And of speedscope.
LINE = re.compile(r"^(.*)\s+?(\d+(?:\.\d*)?)$")
SPEEDSCOPE = re.compile(r"^(.*) (\d+)$")


def folded(line):
    stack, value = LINE.match(line).groups()
    assert SPEEDSCOPE.match(line).groups() == (stack, value), f"speedscope reads {line!r} otherwise"
    assert not LINE.match(stack), f"flamegraph.pl reads {line!r} as a difference"
    assert all(stack.split(";")), f"{line!r} has a frame without a name"
    return stack, int(value)


def main():
    profile = message_read(sys.stdin)
    text = profile["string_table"]
    assert text[0] == "", "the first string is not empty"
    kind = profile["sample_type"][0]
    assert text[kind["unit"][0]] == sys.argv[2], text[kind["unit"][0]]
    functions = {f["id"][0]: text[f["name"][0]] for f in profile["function"]}
    locations = {loc["id"][0]: functions[loc["line"][0]["function_id"][0]] for loc in profile["location"]}
    assert 0 not in functions and len(functions) == len(profile["function"])
    got = collections.Counter()
    for sample in profile["sample"]:
        got[";".join(locations[i] for i in reversed(sample["location_id"]))] += sample["value"][0]
    wanted = collections.Counter()
    for line in open(sys.argv[1], encoding="utf-8"):
        stack, value = folded(line.rstrip("\n"))
        wanted[stack] += value
    if got != wanted or not wanted:
        sys.exit(f"pprof: {got}\nfolded: {wanted}")
    print(len(wanted), "stacks,", len(functions), "functions,", profile["duration_nanos"])


main()
