#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""perfetto.py DECODED ROWS: does a Perfetto trace, as `protoc --decode` prints it, have the rows of `timeline -f json`?

Slices are put together as Perfetto's trace processor does it: events in order of time, a stack for each track."""
import collections
import json
import sys

from protobuf_text import message_read


def tracks_read(packets):
    """uuid -> (group, track); every parent is a track."""
    tracks = {}
    descriptors = {d["uuid"][0]: d for p in packets for d in p["track_descriptor"]}
    pids = {d["process"][0]["pid"][0]: d["name"][0] for d in descriptors.values() if d["process"]}
    for uuid, d in descriptors.items():
        if d["thread"]:
            group = pids[d["thread"][0]["pid"][0]]
        else:
            group = descriptors[d["parent_uuid"][0]]["name"][0] if d["parent_uuid"] else None
        tracks[uuid] = (group, d["name"][0])
    return tracks


def events_read(packets):
    names = {}
    for p in packets:
        for entry in (e for d in p["interned_data"] for e in d["event_names"]):
            names[entry["iid"][0]] = entry["name"][0]
        for e in p["track_event"]:
            name = names[e["name_iid"][0]] if e["name_iid"] else (e["name"] or [None])[0]
            yield int(p["timestamp"][0]), e, name


def slices_read(packets):
    tracks = tracks_read(packets)
    slices, open_slices = collections.Counter(), collections.defaultdict(list)
    flows = collections.defaultdict(lambda: [0, 0])
    for ns, e, name in sorted(events_read(packets), key=lambda event: event[0]):
        uuid, kind = e["track_uuid"][0], e["type"][0]
        where = tracks[uuid]
        for flow in e["flow_ids"]:
            flows[flow][0] += 1
        for flow in e["terminating_flow_ids"]:
            flows[flow][1] += 1
        if kind == "TYPE_SLICE_BEGIN":
            open_slices[uuid].append((ns, e["categories"][0], name))
        elif kind == "TYPE_SLICE_END":
            begin, category, name = open_slices[uuid].pop()
            slices[(*where, category, name, begin, ns - begin)] += 1
        elif kind == "TYPE_INSTANT":
            slices[(*where, e["categories"][0], name, ns, 0)] += 1
        elif kind == "TYPE_COUNTER" and int(e["counter_value"][0]) < 0:
            sys.exit(f"counter {where} is {e['counter_value'][0]} at {ns}")
    left = sum(len(stack) for stack in open_slices.values())
    if left:
        sys.exit(f"{left} slices do not end")
    lonely = [flow for flow, (begins, _) in flows.items() if not begins]
    if lonely:
        sys.exit(f"flows without a begin: {lonely[:5]}")
    return slices


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        packets = message_read(iter(f))["packet"]
    with open(sys.argv[2], encoding="utf-8") as f:
        rows = json.load(f)["rows"]
    want = collections.Counter(
        (r["group"], r["track"], r["kind"], r["name"], r["start_ns"], r["duration_ns"]) for r in rows)
    have = slices_read(packets)
    for slice_, n in list((want - have).items())[:5]:
        print(f"missing {n} x {slice_}")
    for slice_, n in list((have - want).items())[:5]:
        print(f"too many {n} x {slice_}")
    print(f"{sum(have.values())} slices, {sum(want.values())} rows")
    sys.exit(have != want or not want)


if __name__ == "__main__":
    main()
