#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""perfetto_sql.py PAGE DECODED ROWS: runs the queries of a page of documentation on a trace, as `protoc --decode` prints it.

The tables have the names and columns of Perfetto's trace processor, as far as the queries use them, and are made by the
rules of perfetto.py. The second query gives the time of each track by kind, which must be that of `timeline -f json`.
Each query must have a row."""
import collections
import json
import re
import sqlite3
import sys

from perfetto import events_read
from protobuf_text import message_read

TABLES = """
CREATE TABLE process (upid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE thread (utid INTEGER, tid INTEGER, upid INTEGER, name TEXT);
CREATE TABLE track (id INTEGER, name TEXT);
CREATE TABLE process_track (id INTEGER, name TEXT, upid INTEGER);
CREATE TABLE thread_track (id INTEGER, name TEXT, utid INTEGER);
CREATE TABLE counter_track (id INTEGER, name TEXT);
CREATE TABLE slice (id INTEGER, ts INTEGER, dur INTEGER, track_id INTEGER, category TEXT, name TEXT);
CREATE TABLE flow (slice_out INTEGER, slice_in INTEGER);
CREATE TABLE counter (id INTEGER, ts INTEGER, track_id INTEGER, value REAL);
"""


def tracks_insert(db, packets):
    found = {d["uuid"][0]: d for p in packets for d in p["track_descriptor"]}
    upids = {int(d["process"][0]["pid"][0]): n for n, d in enumerate(found.values()) if d["process"]}
    for uuid, d in found.items():
        name, track = d["name"][0], int(uuid)
        db.execute("INSERT INTO track VALUES (?, ?)", (track, name))
        if d["counter"]:
            db.execute("INSERT INTO counter_track VALUES (?, ?)", (track, name))
        if d["process"]:
            pid = int(d["process"][0]["pid"][0])
            db.execute("INSERT INTO process VALUES (?, ?, ?)", (upids[pid], pid, name))
        elif d["thread"]:
            t = d["thread"][0]
            db.execute("INSERT INTO thread VALUES (?, ?, ?, ?)",
                       (track, int(t["tid"][0]), upids[int(t["pid"][0])], t["thread_name"][0]))
            db.execute("INSERT INTO thread_track VALUES (?, NULL, ?)", (track, track))
        elif d["parent_uuid"] and found[d["parent_uuid"][0]]["process"]:
            pid = int(found[d["parent_uuid"][0]]["process"][0]["pid"][0])
            db.execute("INSERT INTO process_track VALUES (?, ?, ?)", (track, name, upids[pid]))


def events_insert(db, packets):
    open_slices, last = collections.defaultdict(list), {}
    for number, (ns, e, name) in enumerate(sorted(events_read(packets), key=lambda event: event[0])):
        track, kind = int(e["track_uuid"][0]), e["type"][0]
        if kind in ("TYPE_SLICE_BEGIN", "TYPE_INSTANT"):
            db.execute("INSERT INTO slice VALUES (?, ?, ?, ?, ?, ?)",
                       (number, ns, -1 if kind == "TYPE_SLICE_BEGIN" else 0, track, e["categories"][0], name))
        if kind == "TYPE_SLICE_BEGIN":
            open_slices[track].append((number, ns))
        elif kind == "TYPE_SLICE_END":
            begun, begin = open_slices[track].pop()
            db.execute("UPDATE slice SET dur = ? WHERE id = ?", (ns - begin, begun))
        elif kind == "TYPE_COUNTER":
            db.execute("INSERT INTO counter VALUES (?, ?, ?, ?)", (number, ns, track, float(e["counter_value"][0])))
        for id_ in e["flow_ids"] + e["terminating_flow_ids"]:
            if id_ in last:
                db.execute("INSERT INTO flow VALUES (?, ?)", (last[id_], number))
            last[id_] = number


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        queries = re.findall(r"```sql\n(.*?)```", f.read(), re.S)
    with open(sys.argv[2], encoding="utf-8") as f:
        packets = message_read(iter(f))["packet"]
    with open(sys.argv[3], encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    db = sqlite3.connect(":memory:")
    db.executescript(TABLES)
    tracks_insert(db, packets)
    events_insert(db, packets)
    want = collections.Counter()
    for r in rows:
        want[(r["group"], r["track"], r["kind"])] += r["duration_ns"]
    failed = len(queries) < 2
    for i, query in enumerate(queries):
        have = db.execute(query).fetchall()
        print(query, *have[:3], sep="\n")
        failed |= i > 0 and not have
        failed |= i == 1 and {row[:3]: row[4] for row in have} != dict(want)
    sys.exit(failed)


main()
