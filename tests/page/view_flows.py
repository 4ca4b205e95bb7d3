# SPDX-License-Identifier: GPL-2.0-or-later
"""The paths of requests in `hostrace view`: those of `requests --stages -f json`, as arrows and tables. Part of view.py."""
import json
import os
import subprocess

from page import HOSTRACE, answer, tap
from view import View, case, column, differences, foreign, page_open, ready, search, sums_of_timeline, sums_of_window

COLOUR = "(c => { const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 0; i < d.length; i += 4) " \
         "n += d[i] === 0x7a && d[i + 1] === 0x1f && d[i + 2] === 0xa2; return n; })(document.getElementById('tracks'))"


def paths_of(*words):
    """By the pop: the points of each request, after the trace's start."""
    def run(*command):
        return json.loads(subprocess.run([HOSTRACE, *command, *words, "-f", "json"], check=True, capture_output=True, timeout=60).stdout)

    start = run("info")["result"]["start_ns"]
    return {r["points_ns"]["pop"] - start: {k: v - start for k, v in r["points_ns"].items()}
            for r in run("requests", "--stages", "--limit", "1000")["rows"]}


def items(view, tracks, wanted):
    """The slices of tracks: (track, begin, end)."""
    window = view.get("window", width=8192)
    for t in window["tracks"]:
        if wanted(tracks[t["id"]]):
            for i in range(0, len(t["slices"]), 4):
                yield t["id"], t["slices"][i], t["slices"][i] + max(1, t["slices"][i + 1])


def test_open_at_end(recording):
    """What would last until the end of what is read, and is not in the whole timeline: the later events deny it."""
    view = View(recording, "--no-browser")
    windows = [(80_000, 95_000), (3_590_000, 3_600_000), (1_000_000_000, 1_002_000_000)]
    for (since, until), expected in zip(windows, sums_of_timeline(recording, *windows)):
        found = sums_of_window(view, view.get("window", **{"from": since, "to": until, "width": 1000}))
        tap.same(differences(found, expected), [], "a recording, from %d to %d: the times of timeline" % (since, until))
    view.stop()


def points(flow):
    return {p["point"]: p["ns"] for p in flow["points"]}


def test_flows(*words):
    expected = paths_of(*words)
    view = View(*words, "--no-browser")
    tracks = {t["id"]: t for t in view.get("tracks")["tracks"]}
    end = view.get("tracks")["to_ns"]
    found = {}
    for begin in expected:  # at a zoom that draws it as it is
        for t in view.get("window", **{"from": begin, "to": min(end, begin + 1000), "width": 1000})["tracks"]:
            for i in range(0, len(t["slices"]), 4):
                if t["slices"][i] == begin and tracks[t["id"]]["order"] >> 32 == 1:
                    flows = view.get("flows", track=t["id"], **{"from": begin, "to": begin + max(1, t["slices"][i + 1])})
                    found.update({begin: points(f) for f in flows["flows"] if points(f)["pop"] == begin})
    tap.ok(expected and found == expected, "%s: each request's path is that of requests --stages" % words[1], (found, expected))
    wrong = 0
    asked = 0
    for name, on in (("vCPU 0", ("kick", "inject")), ("IO io0 13", ("handler", "pop", "push", "notify", "raise"))):
        for track, begin, until in items(view, tracks, lambda t: t["name"] == name and not t["guest"]):
            flows = view.get("flows", track=track, **{"from": begin, "to": min(end, until)})["flows"]
            asked += len(flows)
            for path in expected.values():
                has = any(begin <= path[p] < until for p in on if p in path)
                if until - begin < 10**8 and has and path not in [points(f) for f in flows]:
                    wrong += 1
            for f in flows:
                wrong += not any(begin <= p["ns"] < until and p["track"] == track for p in f["points"])
    tap.ok(asked > 0 and not wrong, "%s: threads' items have the requests of which they have a point" % words[1], (asked, wrong))
    view.stop()


def test_flows_wrong(trace):
    view = View(trace, "--no-browser")
    for what in ("track=99999", "track=x", "track=-1", "", "track=4294967296&from=0&to=5", "track=0&from=9&to=3", "track=0&to=99999999999999"):
        tap.same(view.ask(view.path + "flows?" + what)[0].status, 400, "flows?%s: 400" % what)
    view.stop()


def test_flows_page(browser, work):
    """A request that is found is drawn with its arrows, and a table has its points; whatever its device is called is text."""
    folder = case("requests-path")
    path = os.path.join(work, "hostile device.txt")
    with open(os.path.join(folder, "trace.txt")) as f, open(path, "w") as to:
        to.write(f.read().replace("peripheral/disk/", "peripheral/<b>disk/"))
    words = ("-i", path, "--guest", os.path.join(folder, "guest.trace"))
    expected = paths_of(*words)
    view = View(*words, "--no-browser")
    page_open(browser, view, more="#t=900000-4100000")
    tap.same(browser.run(COLOUR), 0, "page: no arrows before a request is selected")
    search(browser, "254,0")
    ready(browser)
    browser.wait("!!document.getElementById('path-0')")
    path = next(p for p in expected.values() if "complete" in p)
    shown = dict(zip(column(browser, "path-0", "point"), map(int, column(browser, "path-0", "time"))))
    tap.same(shown, path, "page: the guest's request has the points of its path")
    tap.ok(browser.run(COLOUR) > 100, "... and arrows between them", browser.run(COLOUR))
    title = browser.run("document.querySelector('#paths h3').textContent")
    tap.same([title, browser.run("document.querySelectorAll('b').length")], ["Path of head 0 of <b>disk, queue 0", 0], "... and its device's name as text")
    names = browser.run("[...document.querySelectorAll('#path-0 tbody tr')].map(r => r.cells[4].textContent)")
    tap.ok(names[list(shown).index("kick")] == "vCPU 0" and names[list(shown).index("pop")].startswith("IO io0") and all(names),
           "... and the track of each", names)
    search(browser, "hlt")
    browser.wait("document.documentElement.dataset.ready === '1'")
    tap.same([c for c in foreign(browser, view) if "willReadFrequently" not in c], [], "... without an exception")
    view.stop()
