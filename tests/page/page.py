# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of `hostrace report` in a real browser: what it shows is what the commands print as JSON, its charts can be
brushed, searched and used by keyboard, hostile names stay text, and nothing is requested. TAP."""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

from browser import LIMIT, Browser, Failed

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOSTRACE = os.environ.get("HOSTRACE") or os.path.join(ROOT, "build", "hostrace")
BYTES_MAX = 5 << 20


class Tap:
    def __init__(self):
        self.n = 0
        self.failed = 0

    def ok(self, good, name, detail=""):
        self.n += 1
        print("%s %d - %s" % ("ok" if good else "not ok", self.n, name), flush=True)
        if not good:
            self.failed += 1
            print("# " + str(detail)[:1500].replace("\n", "\n# "))

    def same(self, found, expected, name):
        self.ok(found == expected, name, "found    %s\nexpected %s" % (json.dumps(found), json.dumps(expected)))


tap = Tap()


def hostrace(*arguments):
    return subprocess.run([HOSTRACE, *arguments], check=True, capture_output=True, timeout=600).stdout


def answer(trace, *words):
    return json.loads(hostrace(*words, "-i", trace, "-f", "json"))


def column(browser, table, index):
    """The exact values of a table's column."""
    return browser.run("[...document.querySelectorAll('#%s tbody tr')].map(r => r.cells[%d].dataset.v)" % (table, index))


def heads(browser, table):
    return browser.run("[...document.querySelectorAll('#%s th')].map(h => h.textContent)" % table)


def compare_table(browser, table, rows, head, key):
    if not rows:
        tap.same(heads(browser, table), [], "%s: there is no table without rows" % table)
        return
    index = heads(browser, table).index(head)
    tap.same(column(browser, table, index), [str(r[key]) for r in rows], "%s: the column %s is the command's" % (table, head))


def region(browser, chart="region"):
    return int(browser.run("document.querySelector('#%s .region').dataset.v" % chart))


def cells_sum(heatmap, x0, x1, y0, y1):
    return sum(sum(row[x0:x1 + 1]) for row in heatmap["cells"][y0:y1 + 1])


def test_numbers(browser, trace):
    exits = answer(trace, "exits")["rows"]
    ports = answer(trace, "ports")["rows"]
    for head, key in (("count", "count"), ("total", "total_ns"), ("p99", "p99_ns"), ("max", "max_ns")):
        compare_table(browser, "t-exits", exits, head, key)
    compare_table(browser, "t-ports", ports, "count", "count")
    compare_table(browser, "t-causes", answer(trace, "blame")["causes"], "time", "time_ns")
    slowest = answer(trace, "blame", "--limit", "40")["rows"]
    tap.same(browser.run("[...document.querySelectorAll('#slowest details b')].map(b => Number(b.dataset.v))"),
             [r["latency_ns"] for r in slowest], "the slowest exits are those of blame")


def test_requests(browser, trace):
    totals = [r["total_ns"] for r in answer(trace, "requests", "--waterfall", "--limit", "20")["rows"]]
    tap.same(browser.run("[...document.querySelectorAll('#slowest-requests details b')].map(b => Number(b.dataset.v))"), totals,
             "the slowest requests are those of requests --waterfall")
    for stage, row in zip(column(browser, "t-virtio-stages", 1), [s for r in answer(trace, "virtio")["rows"] for s in r["stages"]]):
        tap.same(stage, row, "the stage %s of virtio is there" % row)


def test_flame(browser, work):
    """A call tree: searched, zoomed and left by keyboard."""
    trace = os.path.join(ROOT, "tests/cases/profile-linux/guest.txt")
    page = os.path.join(work, "flame.html")
    hostrace("report", "-i", trace, "-o", page)
    browser.open(page)
    tree = answer(trace, "prof-wait")["rows"][0]
    frames = "[...document.querySelectorAll('#flame-off_cpu-0 button')].map(b => b.textContent.split(' < ')[0])"
    named = browser.run(frames)
    tap.same(named[0], tree["name"], "flame graph: the root is on top")
    tap.same(sorted(n for n in named if n in [c["name"] for c in tree["children"]]), sorted(c["name"] for c in tree["children"]),
             "flame graph: it has the command's nodes")
    child = tree["children"][0]["name"]
    left, top, width, height = browser.box("#flame-off_cpu-0 button:nth-child(2)")
    browser.click(left + width / 2, top + height / 2)
    tap.same(browser.run(frames)[0], child, "flame graph: a click zooms")
    browser.key("Escape")
    tap.same(browser.run(frames), named, "flame graph: Escape zooms out")
    browser.run("document.querySelectorAll('#flame-off_cpu-0 button')[1].focus()")
    browser.key("Enter")
    tap.same(browser.run(frames)[0], child, "flame graph: Enter zooms")
    browser.key("Escape")
    browser.run("(i => { i.value = %s; i.dispatchEvent(new Event('input')); })(document.querySelector('#flame-off_cpu-0')"
                ".previousSibling.querySelector('input'))" % json.dumps(child))
    tap.ok(browser.run("document.querySelectorAll('#flame-off_cpu-0 .hit').length") >= 1, "flame graph: the search marks frames")
    tap.same(browser.complaints(), [], "flame graph: no exception, no console message, no request")


def test_sorting(browser, trace):
    counts = [r["count"] for r in answer(trace, "exits")["rows"]]
    index = heads(browser, "t-exits").index("count")
    left, top, width, height = browser.box("#t-exits th:nth-child(%d) button" % (index + 1))
    browser.click(left + width / 2, top + height / 2)
    tap.same(column(browser, "t-exits", index), [str(c) for c in sorted(counts, reverse=True)], "a click sorts a table")
    browser.click(left + width / 2, top + height / 2)
    tap.same(column(browser, "t-exits", index), [str(c) for c in sorted(counts)], "a second click sorts it the other way")


def test_heatmap(browser, trace):
    heatmap = answer(trace, "heatmap", "exit-latency")["result"]
    columns, rows = len(heatmap["cells"][0]), len(heatmap["rows"])
    y = next(i for i, r in enumerate(heatmap["cells"]) if sum(r))
    x = next(i for i, v in enumerate(heatmap["cells"][y]) if v)
    left, top, width, height = browser.box("#heatmap-exits .u-over")

    def at(column_nr, row_nr):
        return left + (column_nr + 0.5) * width / columns, top + height - (row_nr + 0.5) * height / rows

    browser.click(*at(x, y))
    tap.same(region(browser), heatmap["cells"][y][x], "a click selects one cell of the heat map")
    browser.drag(*at(0, rows - 1), *at(columns // 2, 0))
    tap.same(region(browser), cells_sum(heatmap, 0, columns // 2, 0, rows - 1), "a brush selects what lies in it")
    browser.drag(*at(0, rows - 1), *at(columns - 1, 0))
    tap.same(region(browser), sum(map(sum, heatmap["cells"])), "a brush over all selects all spans")
    causes = {}
    for c in answer(trace, "blame")["causes"]:
        causes[c["cause"]] = causes.get(c["cause"], 0) + c["time_ns"]
    tap.same(sorted(browser.run("[...document.querySelectorAll('#region-causes [data-v]')].map(e => Number(e.dataset.v))")),
             sorted(v for v in causes.values() if v), "the causes of all spans are those of blame")
    latencies = [r["latency_ns"] for r in answer(trace, "blame", "--limit", "3")["rows"]]
    tap.same(column(browser, "t-region", heads(browser, "t-region").index("latency"))[:3], [str(v) for v in latencies],
             "the longest spans of the region are the slowest exits")
    browser.run("document.getElementById('heatmap-exits').focus()")
    browser.key("Escape")
    tap.same(browser.run("document.querySelectorAll('#region .region').length"), 0, "Escape clears the selection")
    browser.key("ArrowRight")
    tap.same(region(browser), heatmap["cells"][0][0], "an arrow key selects the first cell")
    browser.key("ArrowRight", 8)
    tap.same(region(browser), cells_sum(heatmap, 0, min(1, columns - 1), 0, 0), "Shift and an arrow key extend it")
    t0, step = heatmap["t0_ns"], heatmap["column_ns"]
    browser.run("location.hash = '#t=%d-%d'" % (t0 + step, t0 + 3 * step))
    browser.wait("document.querySelector('#region .region')?.dataset.v === '%d'" %
                 cells_sum(heatmap, 1, min(2, columns - 1), 0, rows - 1))
    tap.ok(True, "a link to a time window selects its columns")


def test_offsets(browser, trace):
    """The exits by offset within a second: all of them, and none that list-spans does not have there."""
    spans = answer(trace, "list-spans", "exit-latency")["rows"]
    left, top, width, height = browser.box("#offsets .u-over")
    browser.drag(left + 1, top + 1, left + width - 1, top + height / 2 - 1)
    tap.same(browser.run("document.getElementById('offsets').dataset.from"), "0", "exits within a second: time begins at 0 s")
    tap.same(region(browser, "offset-region"), sum(1 for s in spans if s["time_ns"] % 10**9 >= 5 * 10**8),
             "exits in the second half of a second")


def test_timeline(browser, trace):
    rows = answer(trace, "timeline")["rows"]
    names = sorted({r["track"] for r in rows})
    left, top, width, height = browser.box("#timeline-bands .u-over")
    browser.mouse("mouseMoved", left + width / 2, top + 9)
    shown = browser.run("document.querySelector('#timeline-bands + p').textContent").split(": ")[0].split("/")[-1]
    tap.ok(shown in names, "the timeline names the track under the mouse", "%s is not one of %s" % (shown, names))
    slowest = answer(trace, "blame", "--limit", "1")["rows"][0]
    left, top, width, height = browser.box("#closeups .u-over")
    spans = [r for r in rows if r["start_ns"] <= slowest["time_ns"] + slowest["latency_ns"] / 2 < r["start_ns"] + r["duration_ns"]]
    browser.mouse("mouseMoved", left + width / 2, top + 9)
    about = browser.run("document.querySelector('#closeups p').textContent")
    tap.ok(any("%s (%s, " % (r["name"], r["kind"]) in about for r in spans), "it names the slice under the mouse", [about, spans])
    browser.box("#timeline-bands .u-over")
    left, top, width, height = browser.box("#timeline-bands .u-over")
    browser.click(left + 2, top + 9)
    browser.wait("/^#t=/.test(location.hash) && !!document.querySelector('#region .region')")
    tap.ok(True, "a click on the timeline selects the time in the heat map")


def test_legends(browser, colors):
    """All states that are drawn have a colour, the same everywhere, and are in the legend beside them."""
    legends = "[...document.querySelectorAll('.legend')].flatMap(l => [...l.children].map(s => " \
              "[s.textContent, getComputedStyle(s.firstChild).backgroundColor]))"
    found = browser.run(legends)
    for state, fill in colors.items():
        expected = "rgb(%d, %d, %d)" % tuple(int(fill[i:i + 2], 16) for i in (1, 3, 5))
        other = [f for s, f in found if s == state and f != expected]
        if other:
            tap.same(other, [expected], "the legend's colour of %s" % state)
    tap.same(sorted({s for s, _ in found} - set(colors)), [], "all states of legends are in src/output/palette.def")
    missing = browser.run("[...document.querySelectorAll('#blame .bar i')].map(i => i.title.split(': ')[0])"
                          ".filter(c => !document.querySelector('#blame .legend').textContent.includes(c))")
    tap.same(missing, [], "all causes of bars are in the legend")


def test_empty(browser, work):
    """What a recording has no data for is one line, with the reasons unfolded."""
    page = os.path.join(work, "empty.html")
    hostrace("report", "-i", os.path.join(ROOT, "tests/cases/blame-regions/trace.txt"), "-o", page)
    browser.open(page)
    tap.same(browser.run("document.querySelectorAll('main > .nodata').length"), 1, "sections without data are one line")
    tap.same(browser.run("[...document.querySelectorAll('main > section + section')].filter(s => !s.querySelector('h3, table, ol')).map(s => s.id)"), [],
             "no other section is without data")
    names = [r["what"] for r in answer(os.path.join(ROOT, "tests/cases/blame-regions/trace.txt"), "ports")["rows"]]
    tap.same(column(browser, "t-ports", heads(browser, "t-ports").index("what")), names, "ports: what they are")


def palette():
    with open(os.path.join(ROOT, "src/output/palette.def")) as f:
        return dict(re.findall(r'^STATE\("([^"]*)", "(#[0-9a-f]{6})"\)', f.read(), re.M))


def test_layout(browser, page):
    for width in (400, 1400):
        browser.open(page, width)
        tap.ok(browser.run("document.documentElement.scrollWidth") <= width, "%d px: nothing is wider than the window" % width,
               browser.run("[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && "
                           "!e.closest('.scroll, nav')).map(e => e.tagName + '.' + e.className + '#' + e.id).slice(0, 9)"))
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        dark = browser.run("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        tap.ok(dark == (scheme == "dark"), "the %s colour scheme is followed" % scheme)
    browser.size(720, 900)  # A4 with margins
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    tap.ok(browser.run("document.documentElement.scrollWidth") <= 720, "on paper nothing is wider than the page",
           browser.run("[...document.querySelectorAll('table')].filter(t => t.getBoundingClientRect().right > 720).map(t => t.id)"))
    folded = "[...document.querySelectorAll('.notes, #closeups details')].filter(d => !d.open).length"
    tap.same(browser.run(folded), 0, "on paper notes and timelines are unfolded")
    tap.same(browser.run("[...document.querySelectorAll('h2, h3')].filter(h => getComputedStyle(h).breakAfter !== 'avoid').length"), 0,
             "on paper no heading is the last of its page")
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    tap.ok(browser.run(folded) > 0, "after printing they are folded again")
    browser.call("Emulation.setEmulatedMedia", media="")
    pdf = browser.call("Page.printToPDF")["data"]
    tap.ok(len(pdf) > 20000, "it can be printed", len(pdf))


def test_page(browser, name, trace, work):
    page = os.path.join(work, name + ".html")
    hostrace("report", "-i", trace, "-o", page)
    size = os.path.getsize(page)
    tap.ok(size < BYTES_MAX, "%s: the page is smaller than 5 MB" % name, size)
    browser.open(page)
    test_numbers(browser, trace)
    test_heatmap(browser, trace)
    test_offsets(browser, trace)
    test_timeline(browser, trace)
    test_requests(browser, trace)
    test_sorting(browser, trace)
    test_legends(browser, palette())
    test_layout(browser, page)
    tap.same(browser.complaints(), [], "%s: no exception, no console message, no request" % name)
    return page


def test_hostile(browser, page):
    browser.open(page)
    names = ["<script>", "<img", "<svg", "</td>", "</li>"]
    text = browser.run("document.body.innerText + document.title")
    tap.same([n for n in names if n not in text and n != "</td>"], [], "hostile names are shown as text")
    tap.same(browser.run("[document.scripts.length, document.images.length, document.querySelectorAll('svg').length]"), [2, 0, 0],
             "hostile names are no elements")
    tap.same(browser.run("[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on/.test(a.name))).length"), 0,
             "no element has a handler as an attribute")
    browser.run("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"document.title = 1\">')")
    until = time.time() + LIMIT
    while not any("Content Security Policy" in c for c in browser.complaints()) and time.time() < until:
        browser.run("new Promise(done => setTimeout(done, 50))")  # what is logged comes later
    tap.ok(any("Content Security Policy" in c for c in browser.complaints()) and browser.run("document.title") != "1",
           "the policy blocks a handler and a request, should markup get in", browser.complaints())


def write_big(path):
    """More of everything than fits: VMs, vCPUs, ports, addresses, devices, threads and leaks, all names to be escaped."""
    with open(path, "w") as f:
        vms = ",".join('{"pid":%d,"name":"%s%d"}' % (1000 * v, "<" * 60, v) for v in range(1, 41))
        f.write('# hostrace text 1\n# meta {"hostrace":"test","vms":[%s]}\n' % vms)
        for v in range(1, 41):
            for d in range(20):
                f.write("0.5 virtio_device pid=%d tid=%d vdev=0x%x path=/machine/peripheral/%s%d/virtio-backend\n"
                        % (1000 * v, 1000 * v, 0x100 * d + 0x100, "<&>" * 20, d))
        t = 1.0
        for i in range(60000):
            pid, vcpu = 1000 * (1 + i % 40), i // 40 % 8
            who = "pid=%d tid=%d cpu=%d vcpu=%d" % (pid, pid + 1 + vcpu, i % 64, vcpu)
            t += 0.0005 + 0.0001 * (i % 7)
            f.write("%.9f kvm_exit %s reason=%d isa=1 rip=0x%x\n" % (t, who, i % 60, 0x1000 + 64 * (i % 9000)))
            if i % 3 == 0:
                f.write("%.9f sched_switch %s prev_tid=%d prev_state=0 next_tid=%d next_comm=%s%d\n"
                        % (t + 1e-6, who, pid + 1 + vcpu, 500000 + i, "<" * 10, i % 9999))
                f.write("%.9f sched_switch %s prev_tid=%d prev_comm=x next_tid=%d next_comm=vcpu\n"
                        % (t + 2e-6, who, 500000 + i, pid + 1 + vcpu))
            f.write("%.9f kvm_pio %s port=0x%x size=1 count=1 write=%d\n" % (t + 3e-6, who, i % 65536, i & 1))
            f.write("%.9f kvm_mmio %s gpa=0x%x size=4 type=1\n" % (t + 4e-6, who, 4096 * (i % 20000)))
            f.write("%.9f virtqueue_pop pid=%d tid=%d vdev=0x%x vq=0x%x elem=0x%x head=%d queue=0\n"
                    % (t + 5e-6, pid, pid, 0x100 * (i // 40 % 20) + 0x100, 0x9000 * (i // 40 % 20) + 0x9000, 0x100000 + i * 64, i % 256))
            f.write("%.9f kvm_entry %s\n" % (t + 1e-5 * (1 + i % 1000), who))
            t += 1e-5 * (1 + i % 1000) / 40


def test_big(browser, work):
    trace, page = os.path.join(work, "big.txt"), os.path.join(work, "big.html")
    write_big(trace)
    hostrace("report", "-i", trace, "-o", page)
    tap.ok(os.path.getsize(page) < BYTES_MAX, "big: the page is smaller than 5 MB", os.path.getsize(page))
    browser.open(page)
    notes = browser.run("[...document.querySelectorAll('.note')].map(e => e.textContent)")
    tap.ok(any("rows" in n for n in notes), "big: what is cut is counted", notes)
    tap.same(browser.complaints(), [], "big: no exception, no console message, no request")


def test_losses(browser, work):
    trace, page = os.path.join(ROOT, "tests/cases/exits-lost/trace.txt"), os.path.join(work, "lost.html")
    hostrace("report", "-i", trace, "-o", page)
    browser.open(page)
    lost = answer(trace, "info")["result"]["lost"]
    tap.same(dict(zip(column(browser, "t-lost", 0), map(int, column(browser, "t-lost", 1)))), lost, "lost events are counted by name")
    tap.ok("%d events were lost" % sum(lost.values()) in browser.run("document.getElementById('summary').textContent"),
           "the summary mentions lost events")


def test_library():
    """The committed copy of uPlot is the one that its page names."""
    folder = os.path.join(ROOT, "src/output/report/uplot")
    with open(os.path.join(folder, "README.md")) as f:
        named = re.findall(r"`(uPlot[\w.]*)` \| ([0-9a-f]{64})", f.read())
    for name, digest in named:
        with open(os.path.join(folder, name), "rb") as f:
            tap.same(hashlib.sha256(f.read()).hexdigest(), digest, name + " is the file of the npm package")


def main():
    traces = sys.argv[1:]
    test_library()
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as work:
            for i, trace in enumerate(traces):
                page = test_page(browser, os.path.basename(os.path.dirname(trace)) + str(i), trace, work)
                if "hostile" in trace:
                    test_hostile(browser, page)
            test_flame(browser, work)
            test_losses(browser, work)
            test_empty(browser, work)
            test_big(browser, work)
    except (Failed, subprocess.CalledProcessError) as e:
        tap.ok(False, "the page could be tested", getattr(e, "stderr", None) or e)
    finally:
        browser.close()
    print("1..%d" % tap.n)
    return tap.failed != 0


if __name__ == "__main__":
    sys.exit(main())
