# SPDX-License-Identifier: GPL-2.0-or-later
"""The pictures that are files of their own, in a real browser: their figures are those of -f json, they zoom and search,
they are as wide as the window, hostile names stay text, and all are below 1 MB. TAP."""
import json
import os
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from random import Random

from browser import Browser, Failed
from page import ROOT, answer, hostrace, tap, write_big

BYTES_MAX = 1 << 20
SVG = "{http://www.w3.org/2000/svg}"


def draw(trace, work, name, *words):
    picture = os.path.join(work, name + ".svg")
    hostrace(*words, "-i", trace, "-f", "svg", "-o", picture)
    size = os.path.getsize(picture)
    tap.ok(size < BYTES_MAX, "%s: smaller than 1 MB" % name, size)
    return picture


def data_of(picture):
    return json.loads(ElementTree.parse(picture).find(SVG + "metadata").text)


def sums_of_picture(data):
    """Time and number of slices by track and kind."""
    sums = {}
    for track in data["tracks"]:
        for list_of, length, ns, kind, count in (("slices", 4, 1, 2, None), ("bands", 6, 1, 2, 3)):
            flat = track[list_of]
            for i in range(0, len(flat), length):
                key = (track["group"], track["name"], data["kinds"][flat[i + kind]][0])
                one = sums.setdefault(key, [0, 0])
                one[0] += flat[i + ns]
                one[1] += flat[i + count] if count else 1
    return sums


def sums_of_rows(rows):
    sums = {}
    for r in rows:
        one = sums.setdefault((r["group"], r["track"], r["kind"]), [0, 0])
        one[0] += r["duration_ns"]
        one[1] += 1
    return sums


def status(browser):
    return browser.run("document.querySelector('.status').textContent")


def labels(browser):
    return browser.run("[...document.querySelectorAll('.plot text')].map(t => t.textContent)")


def test_widths(browser, picture, name):
    for width in (390, 1400):
        browser.open(picture, width)
        found = browser.run("[document.documentElement.getBoundingClientRect().width - innerWidth, document.documentElement.viewBox.baseVal.width]")
        tap.ok(abs(found[0]) <= 1 and found[1] <= width, "%s: laid out for a window of %d px" % (name, width), found)
        over = browser.run("[...document.querySelectorAll('text')].filter(t => { const r = t.getBoundingClientRect();"
                           "return r.right > innerWidth + 1 || r.left < -1; }).map(t => t.textContent)")
        tap.same(over, [], "%s: no text is cut at %d px" % (name, width))


def test_timeline(browser, trace, work, name):
    picture = draw(trace, work, name, "timeline")
    data = data_of(picture)
    rows = answer(trace, "timeline")["rows"]
    drawn = {(t["group"], t["name"]) for t in data["tracks"]}
    expected = {k: v for k, v in sums_of_rows(rows).items() if k[:2] in drawn}
    tap.ok(sums_of_picture(data) == expected and expected, "%s: time and number of slices are those of -f json" % name,
           [i for i in sums_of_picture(data).items() if expected.get(i[0]) != i[1]][:5])
    test_widths(browser, picture, name)
    browser.open(picture)
    before = labels(browser)
    browser.run("document.querySelector('.controls button').click()")
    tap.ok(" from " in status(browser), "%s: a button zooms in" % name, status(browser))
    middle = status(browser)
    browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=700, y=130, deltaX=0, deltaY=-100)
    browser.wait("document.querySelector('.status').textContent !== %s" % json.dumps(middle))
    tap.ok(True, "%s: the wheel zooms in" % name)
    browser.drag(700, 130, 500, 130)
    browser.key("ArrowRight")
    browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: '0'}))")
    tap.same(labels(browser), before, "%s: the key 0 shows everything again" % name)
    word = data["names"][1]
    browser.run("(f => { f.value = %s; f.dispatchEvent(new Event('input')); })(document.querySelector('input'))"
                % json.dumps(word))
    tap.ok("match" in status(browser) and browser.run("!!document.querySelector('.plot path[fill=\"#e6007e\"]')"),
           "%s: what was searched for is highlighted" % name, [word, status(browser)])
    tap.same(browser.complaints(), [], "%s: no exception, no console message, no request" % name)
    return picture, data, rows


def test_slices(browser, trace, work):
    """The whole of a short recording: each slice can be pointed at."""
    picture, data, rows = test_timeline(browser, trace, work, "a short timeline")
    tap.same(data["resolution_ns"], 0, "a short timeline has no bands")
    row = max((r for r in rows if r["kind"] != "instant"), key=lambda r: r["duration_ns"])
    browser.open(picture)
    place = browser.run("""((name, text) => {
        const label = [...document.querySelectorAll('.track')].find(t => t.textContent === name).getBoundingClientRect();
        const bar = [...document.querySelectorAll('.plot text')].map(t => [t.textContent, t.getBoundingClientRect()])
            .find(([t, r]) => t === text && Math.abs(r.top - label.top) < 6)[1];
        return [bar.left + bar.width / 2, bar.top + bar.height / 2];
    })(%s, %s)""" % (json.dumps(row["track"]), json.dumps(row["name"])))
    browser.mouse("mouseMoved", *place)
    shown = browser.run("[...document.querySelectorAll('.box text')].map(t => t.textContent)")
    tap.ok(len(shown) == 3 and row["track"] in shown[0] and row["name"] in shown[1], "what is under the mouse is named", shown)
    browser.click(*place)
    browser.wait("/ from /.test(document.querySelector('.status').textContent)")
    tap.ok(True, "a click on a slice zooms to it")
    since = data["origin_ns"] + data["span_ns"] // 4
    browser.open(picture + "#t=%d-%d" % (since, since + data["span_ns"] // 2))
    browser.wait("/ from /.test(document.querySelector('.status').textContent)")
    tap.ok(True, "a link shows a time window")


def write_long(path):
    """1,000 requests, and exits so many that they are summed up; each hundredth request is slow."""
    with open(path, "w") as f:
        f.write("# hostrace text 1\n")
        lines = []
        for i in range(1000):
            t = 1 + i * 0.01
            for k in range(20):
                at = t + k * 0.0005
                lines.append((at, "kvm_exit pid=10 tid=11 vcpu=0 cpu=0 isa=1 reason=%d rip=0x1" % (k % 7 + 28)))
                lines.append((at + 0.0001, "kvm_entry pid=10 tid=11 vcpu=0 cpu=0 rip=0x1"))
            end = t + (0.008 if i % 100 == 0 else 0.0003)
            queue = "pid=10 tid=13 cpu=1 vdev=0x500 vq=0x700 queue=0"
            lines += [(t + 0.0001, "virtio_queue_notify " + queue), (t + 0.0002, "virtqueue_pop %s elem=0x90 head=0" % queue),
                      (end, "virtqueue_fill %s head=0 elem=0x90" % queue), (end + 1e-5, "virtio_notify " + queue)]
        for at, line in sorted(lines):
            f.write("%.9f %s\n" % (at, line))


def test_bands(browser, work):
    """A long recording: bands at first, slices and arrows as one zooms in."""
    trace = os.path.join(work, "long.txt")
    write_long(trace)
    picture, data, rows = test_timeline(browser, trace, work, "a long timeline")
    slow = [r for r in rows if r["kind"] == "request" and r["duration_ns"] > 7000000]
    kept = [t["slices"][i + 1] for t in data["tracks"] for i in range(0, len(t["slices"]), 4)]
    tap.ok(data["resolution_ns"] > 0 and len(slow) == 10 and all(r["duration_ns"] in kept for r in slow),
           "it has bands, and its long slices one by one", data["resolution_ns"])
    browser.open(picture)
    tap.same(browser.run("document.querySelectorAll('.plot .arrow').length"), 0, "there are no arrows while they are a blob")
    browser.mouse("mouseMoved", 800, 125)
    browser.wait("!!document.querySelector('.box text')")
    shown = browser.run("[...document.querySelectorAll('.box text')].map(t => t.textContent)")
    tap.ok(any("slices, longest" in s for s in shown) and any("--since" in s for s in shown), "a band says what is in it", shown)
    at = slow[5]["start_ns"]
    browser.open(picture + "#t=%d-%d" % (at - 2000000, at + 10000000))
    browser.wait("document.querySelectorAll('.plot .arrow').length > 0")
    tap.ok("head 0" in labels(browser), "zoomed in, there are slices and arrows", labels(browser))


def test_flame(browser, picture, name, folded):
    """The frames' counts are those of the folded stacks; click, search, keys."""
    counts = {}
    for line in folded.decode().splitlines():
        stack, n = line.rsplit(" ", 1)
        for depth in range(1, len(stack.split(";")) + 1):
            key = tuple(stack.split(";")[:depth])
            counts[key] = counts.get(key, 0) + int(n)
    total = sum(n for key, n in counts.items() if len(key) == 1)
    drawn = ElementTree.parse(picture).find(SVG + "svg")
    rows = [(float(r.get("y")), int(r.get("data-n")), r.find(SVG + "title").text.rsplit(": ", 1)[0]) for r in drawn]
    bottom = max(y for y, _, _ in rows)
    found = sorted((round((bottom - y) / 17) + 1, n, text) for y, n, text in rows if text != "(narrow frames)")
    expected = sorted((len(k), n, k[-1]) for k, n in counts.items() if n > total // 16384)
    tap.ok(found == expected and found, "%s: the frames are those of the folded stacks" % name, (found[:3], expected[:3]))
    test_widths(browser, picture, name)
    browser.open(picture)
    wide = browser.run("(r => [r.left + r.width / 2, r.top + 8])([...document.querySelectorAll('.plot rect')].at(-1).getBoundingClientRect())")
    shown = "document.querySelectorAll('.plot rect:not([style*=none])').length"
    before = browser.run(shown)
    key, n = min((kn for kn in counts.items() if kn[1] > total / 50), key=lambda kn: kn[1])
    browser.run("(f => { f.value = %s; f.dispatchEvent(new Event('input')); })(document.querySelector('input'))" % json.dumps(key[-1]))
    matched = sum(c for k, c in ((tuple(s.rsplit(" ", 1)[0].split(";")), int(s.rsplit(" ", 1)[1])) for s in folded.decode().splitlines())
                  if any(key[-1].lower() in f.lower() for f in k))
    tap.ok("%.2f %% match" % (100 * matched / total) in status(browser), "%s: a search tells its share" % name, [key[-1], matched / total, status(browser)])
    browser.mouse("mouseMoved", *wide)
    browser.wait("!!document.querySelector('.box text')")
    browser.click(*wide)
    browser.wait("/of all/.test(document.querySelector('.status').textContent) || %s === %d" % (shown, before))
    browser.key("Escape")
    browser.wait("%s === %d" % (shown, before))
    tap.ok(True, "%s: a click zooms in, Escape shows everything" % name)
    tap.same(browser.complaints(), [], "%s: no exception, no console message, no request" % name)


def test_flames(browser, work):
    for name, trace, words, picture in (
            ("a flame graph of blame", "page/hostile.txt", ("blame",), "flame"),
            ("a flame graph of samples", "cases/osv-reports/tracefile", ("prof-flame", "-x"), "svg"),
            ("a flame graph of waits", "cases/osv-reports/tracefile", ("prof-wait", "-x"), "svg")):
        trace = os.path.join(ROOT, "tests", trace)
        path = os.path.join(work, "flame.svg")
        hostrace(*words, "-i", trace, "-f", picture, "-o", path)
        tap.ok(os.path.getsize(path) < BYTES_MAX, "%s: smaller than 1 MB" % name, os.path.getsize(path))
        test_flame(browser, path, name, hostrace(*words, "-i", trace, "-f", "folded"))


def test_heatmap(browser, trace, work, name):
    picture = os.path.join(work, "heatmap.svg")
    hostrace("heatmap", "exit-latency", "-i", trace, "-f", "svg", "--link", "a&b.html", "-o", picture)
    tap.ok(os.path.getsize(picture) < BYTES_MAX, "%s: smaller than 1 MB" % name, os.path.getsize(picture))
    result = answer(trace, "heatmap", "exit-latency")["result"]
    root = ElementTree.parse(picture)
    joined, columns = 0, []
    for link in root.iter(SVG + "a"):
        columns.append(sum(int(t.text.split()[0]) for t in link.iter(SVG + "title")))
        if not joined:
            since, until = map(int, link.get("href").split("#t=")[1].split("-"))
            joined = (until - since) // result["column_ns"]
            tap.same([link.get("href").split("#")[0], since], ["a&b.html", result["t0_ns"]], "%s: a column links to its time" % name)
    expected = [sum(row[x] for row in result["cells"]) for x in range(len(result["cells"][0]))]
    expected = [sum(expected[x:x + joined]) for x in range(0, len(expected), joined)]
    tap.ok(joined == (2 if "many" in name else 1), "%s: columns are joined where cells are too many" % name, joined)
    tap.same(columns, expected, "%s: the counts are those of -f json" % name)
    browser.open(picture, ready="document.querySelectorAll('a rect').length > 0")
    tap.same(browser.run("(w => [...document.querySelectorAll('text')].filter(t => t.getBoundingClientRect().right > w)"
                         ".map(t => t.textContent))(document.documentElement.width.baseVal.value)"), [], "%s: no text is cut" % name)
    tap.same(browser.complaints(), [], "%s: no exception, no console message, no request" % name)


def write_spread(path):
    """Latencies of 1 ns to 2 s at any time: nearly all cells of a heat map have something, so that columns are joined."""
    random = Random(7)
    with open(path, "w") as f:
        f.write("# hostrace text 1\n")
        lines = []
        for i in range(120000):
            who, at = "pid=10 tid=%d cpu=0 vcpu=%d" % (11 + i % 997, i % 997), 1 + i // 997 * 2.1 + random.random() * 0.1
            lines += [(at, "kvm_exit %s isa=1 reason=1" % who), (at + 2 ** random.uniform(0, 30.9) * 1e-9, "kvm_entry " + who)]
        for at, line in sorted(lines):
            f.write("%.9f %s\n" % (at, line))


def main():
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as work:
            test_slices(browser, os.path.join(ROOT, "tests/cases/timeline/trace.txt"), work)
            test_bands(browser, work)
            test_timeline(browser, os.path.join(ROOT, "tests/page/hostile.txt"), work, "hostile names")
            big = os.path.join(work, "big.txt")
            write_big(big)
            draw(big, work, "a timeline of more tracks than fit", "timeline")
            test_flames(browser, work)
            spread = os.path.join(work, "spread.txt")
            write_spread(spread)
            test_heatmap(browser, os.path.join(ROOT, "tests/cases/heatmap/trace.txt"), work, "a heat map")
            test_heatmap(browser, spread, work, "a heat map of many cells")
    except Failed as e:
        tap.ok(False, "the browser answers", e)
    finally:
        browser.close()
    print("1..%d" % tap.n)
    sys.exit(tap.failed > 0)


main()
