# SPDX-License-Identifier: GPL-2.0-or-later
"""`hostrace view`: who may ask, what the server answers, and its page in a real browser; view_files.py
has what is kept in files, view_flows.py the paths of requests. Its figures are those of
`timeline -f json` and of the reports in the same window, also of a recording that is longer than the index. TAP."""
import atexit
import csv
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlencode, urlsplit

from browser import Browser, Failed
from page import HOSTRACE, ROOT, answer, tap

REPORTS = ["exits", "ports", "mmio", "msrs", "blame", "sched", "virtio", "requests", "interrupts", "downtime", "leaks", "info"]
KNOWN_NS, KNOWN_LENGTH = 1_300_000_123, 3457  # the only exit for its reason


class View:
    def __init__(self, *words, env=None, wrapper=(), program=HOSTRACE):
        self.process = subprocess.Popen([*wrapper, program, "view", *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(env or {})))
        atexit.register(self.process.kill)  # if a test fails
        self.url = self.process.stdout.readline().strip()
        parts = urlsplit(self.url)
        self.host, self.path = parts.netloc, parts.path

    def stop(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(60)

    def ask(self, path, method="GET", version=11, **headers):
        c = http.client.HTTPConnection(self.host, timeout=120)
        c._http_vsn, c._http_vsn_str = version, "HTTP/%d.%d" % (version // 10, version % 10)
        c.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        for name, value in headers.items():
            c.putheader(name, value)
        c.endheaders()
        r = c.getresponse()
        text = r.read()
        c.close()
        return r, text

    def get(self, what, **parameters):
        return json.loads(self.ask(self.path + what + ("?" + urlencode(parameters) if parameters else ""))[1])


def case(name):
    return os.path.join(ROOT, "tests/cases", name)


def without_lane(track):
    return re.sub(r" #\d+$", "", track)


def sums_of_window(view, window):
    tracks = {t["id"]: t for t in view.get("tracks")["tracks"]}
    kinds = [k[0] for k in view.get("tracks")["kinds"]]
    sums = {}
    for t in window["tracks"]:
        track = tracks[t["id"]]
        for i in range(0, len(t["sums"]), 3):
            key = (track["group"], without_lane(track["name"]), kinds[t["sums"][i]])
            sums[key] = sums.get(key, 0) + t["sums"][i + 1]
    return {k: v for k, v in sums.items() if v}


def sums_of_timeline(trace, *windows):
    """Of each window, after the trace's start: what the whole timeline has in it. None: all of it."""
    start = answer(trace, "info")["result"]["start_ns"]
    all_sums = [{} for _ in windows]
    with subprocess.Popen([HOSTRACE, "timeline", trace, "-f", "csv"], stdout=subprocess.PIPE, text=True) as p:
        for r in csv.DictReader(line for line in p.stdout if not line.startswith("#")):
            begin, length = int(r["start_ns"]) - start, int(r["duration_ns"])
            for window, sums in zip(windows, all_sums):
                since, until = window or (0, begin + length)
                inside = min(begin + length, until) - max(begin, since)
                if inside > 0:
                    key = (r["group"], without_lane(r["track"]), r["kind"])
                    sums[key] = sums.get(key, 0) + inside
    return all_sums


def differences(a, b):
    return [(k, a.get(k), b.get(k)) for k in sorted(set(a) | set(b)) if a.get(k) != b.get(k)][:8]


def write_long(path):
    """More slices than the index keeps: short exits of two vCPUs, requests, a thread that runs now and then."""
    lines = []
    for i in range(300_000):
        t = i * 7000 + i * 37 % 1000
        for vcpu in (0, 1):
            at, length = t + vcpu * 2000, 600 + i * 131 % 1100
            who = "pid=10 tid=%d vcpu=%d cpu=%d" % (11 + vcpu, vcpu, vcpu)
            lines.append((at, "kvm_exit %s isa=1 reason=%d rip=0x1" % (who, i % 7 + 28)))
            lines.append((at + length, "kvm_entry %s rip=0x1" % who))
        if i % 100 == 0:
            queue = "pid=10 tid=13 cpu=2 vdev=0x500 vq=0x700 queue=0"
            end = t + (4_000_000 if i % 10_000 == 0 else 50_000 + i % 777)
            lines += [(t + 50, "virtqueue_pop %s elem=0x%x head=%d" % (queue, 0x90 + i, i % 200)),
                      (end, "virtqueue_fill %s head=%d elem=0x%x" % (queue, i % 200, 0x90 + i))]
        if i % 500 == 0:
            lines += [(t + 10, "sched_switch pid=10 tid=13 cpu=2 next_tid=0 prev_state=1"),
                      (t + 90_000 + i, "sched_switch tid=0 cpu=2 next_tid=13")]
    who = "pid=10 tid=15 vcpu=3 cpu=3"
    lines += [(KNOWN_NS, "kvm_exit %s isa=1 reason=10 rip=0x2" % who), (KNOWN_NS + KNOWN_LENGTH, "kvm_entry %s rip=0x2" % who)]
    with open(path, "w") as f:
        f.write('# hostrace text 1\n# meta {"vms":[{"pid":10,"name":"web"}]}\n')
        for at, text in sorted(lines):
            f.write("%d.%09d %s\n" % (1 + at // 10**9, at % 10**9, text))


def test_who_may_ask(trace):
    view = View(trace, "--no-browser")
    tap.ok(re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{32}/", view.url), "the address is of this host, with a token", view.url)
    other = View(trace, "--no-browser")
    tap.ok(other.path != view.path, "each one has another token")
    other.stop()
    for path in ("/", "/tracks", "/window", "/" + "0" * 32 + "/", view.path[:-1] + "0/", view.path[:-2] + "/", "//" + view.path, view.path[:-1]):
        r, text = view.ask(path)
        tap.ok(r.status == 403 and b"vCPU" not in text, "%s: forbidden" % re.sub("[0-9a-f]{20,}", "TOKEN", path), r.status)
    for host, status in (("evil.example", 421), ("localhost", 200), ("127.0.0.1:1", 200), ("127.0.0.1.evil.example", 421)):
        tap.same(view.ask(view.path + "tracks", Host=host)[0].status, status, "Host: %s" % host)
    tap.same(view.ask(view.path + "tracks", version=10)[0].status, 200, "HTTP/1.0 without Host")
    for method in ("POST", "PUT", "DELETE"):
        tap.same(view.ask(view.path, method=method)[0].status, 405, method)
    r, _ = view.ask(view.path)
    tap.ok("default-src 'none'" in r.getheader("Content-Security-Policy", "") and r.getheader("Referrer-Policy") == "no-referrer"
           and not r.getheader("Access-Control-Allow-Origin"), "scripts are its own, and the token is not passed on", r.getheaders())
    for path, status in (("nothing", 404), ("window?from=x", 400), ("window?from=9&to=3", 400), ("window?width=0", 400),
                         ("window?to=99999999999999999999", 400), ("report/nothing", 404), ("report/", 404), ("find", 400),
                         ("window?from=" + "9" * 200000, 400)):
        r, text = view.ask(view.path + path)
        tap.ok(r.status in (status, 414, 431) if len(path) > 1000 else r.status == status, "%s: %d" % (path[:40], status), (r.status, text[:100]))
    tap.same([view.ask(view.path + "tracks")[0].status for _ in range(40)], [200] * 40, "it answers again and again")
    port = int(view.host.split(":")[1])
    for address in ("127.0.0.2", socket.gethostbyname(socket.gethostname())):
        if address != "127.0.0.1":
            with socket.socket() as s:
                tap.ok(s.connect_ex((address, port)) != 0, "nobody listens on another address")
    tap.same(view.stop(), 0, "^C ends it")
    tap.same(View(trace, "--no-browser").stop(signal.SIGTERM), 0, "SIGTERM ends it")


def test_options(trace, work):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    view = View(trace, "--no-browser", "--port", str(port))
    tap.same(view.host, "127.0.0.1:%d" % port, "--port")
    taken = subprocess.run([HOSTRACE, "view", trace, "--no-browser", "--port", str(port)], capture_output=True, text=True, timeout=60)
    tap.ok(taken.returncode == 1 and "ddress already in use" in taken.stderr, "a port that is taken", taken)
    view.stop()
    path = os.path.join(work, "view.sock")
    view = View(trace, "--socket", path)
    url, where = view.url.split(" on ")
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(("GET %stracks HTTP/1.0\r\n\r\n" % urlsplit(url).path).encode())
        head = s.recv(100)
    tap.ok(where == "unix:" + path and b" 200 " in head and os.stat(path).st_mode & 0o007 == 0, "--socket", (where, head))
    tap.ok(view.stop() == 0 and not os.path.exists(path), "... whose file is removed")


def test_ended_by_signal(trace, work):
    """While a report is made, which takes much longer."""
    for how in (signal.SIGINT, signal.SIGTERM):
        path = os.path.join(work, "ended.sock")
        view = View(trace, "--socket", path)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(("GET %sreport/blame HTTP/1.0\r\n\r\n" % view.path.split()[0]).encode())
            time.sleep(0.3)
            begun = time.time()
            status = view.stop(how)
        tap.ok(status == 0 and time.time() - begun < 1 and not os.path.exists(path), "%s during a report: it ends at once" % how.name,
               (status, time.time() - begun, os.path.exists(path)))


def test_opener(trace, work):
    """xdg-open gets a file that only the user can read, not the token. Root opens no browser."""
    opened = os.path.join(work, "opened")
    os.makedirs(os.path.join(work, "bin"))
    os.makedirs(os.path.join(work, "run"))
    script = os.path.join(work, "bin/xdg-open")
    with open(script, "w") as f:
        f.write("#!/bin/sh\nstat -c %%a \"$1\" >%s.mode\ncat \"$1\" >%s.page\nprintf '%%s' \"$*\" >%s.part && mv %s.part %s\n"
                % ((opened,) * 5))
    os.chmod(script, 0o755)
    wrapper, program = [], HOSTRACE
    if os.geteuid() == 0:  # the other user may not reach the build's folder, nor the recording's
        program = os.path.join(work, "bin/hostrace")
        for name in ("hostrace", "hostrace-httpd"):
            shutil.copy(os.path.join(os.path.dirname(HOSTRACE), name), os.path.join(work, "bin"))
        trace = shutil.copy(trace, work)
        subprocess.run(["chown", "-R", "65534", work], check=True)
        wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    for folder in (work, os.path.dirname(work)):
        os.chmod(folder, 0o755)
    env = {"PATH": os.path.join(work, "bin") + ":" + os.environ["PATH"], "DISPLAY": ":9", "XDG_RUNTIME_DIR": os.path.join(work, "run")}
    for options, found in (((), True), (("--no-browser",), False)):
        view = View(trace, *options, env=env, wrapper=wrapper, program=program)
        until = time.time() + (60 if found else 1)
        while not os.path.exists(opened) and time.time() < until:
            time.sleep(0.05)
        tap.same(os.path.exists(opened), found, "%s: the browser is %sopened" % (" ".join(options) or "a display", "" if found else "not "))
        if found:
            page, argument = open(opened + ".page").read(), open(opened).read()
            tap.ok(view.url in page and view.path.strip("/") not in argument and open(opened + ".mode").read() == "600\n",
                   "the token is not on the command line", argument)
        tap.same(view.stop(), 0, "it ends")
        time.sleep(0.3)
        tap.same(os.listdir(os.path.join(work, "run")), [], "nothing is left")
        if found:
            os.remove(opened)
    if wrapper:
        View(trace, env=env).stop()
        tap.ok(not os.path.exists(opened), "root's browser is not opened")


def test_answers(trace, name):
    view = View(trace, "--no-browser")
    tracks = view.get("tracks")
    start, span = tracks["from_ns"], tracks["to_ns"] - tracks["from_ns"]
    parts = [(0, 10), (0, 1), (3, 7), (5, 6)]
    windows = [(start + span * a // 10, start + span * b // 10) for a, b in parts]
    for part, (since, until), expected in zip(parts, windows, sums_of_timeline(trace, *windows)):
        window = view.get("window", **{"from": since, "to": until, "width": 77})
        tap.same(differences(sums_of_window(view, window), expected), [],
                 "%s: times of %d/10 to %d/10 are those of timeline" % (name, *part))
        for report in REPORTS:
            found = view.get("report/" + report, **{"from": since, "to": until})
            options = (["--since", "%dns" % since] if since else []) + (["--until", "%dns" % until] if until < tracks["to_ns"] else [])
            run = subprocess.run([HOSTRACE, report, trace, "-f", "json", *options],
                                 capture_output=True, text=True, timeout=100)
            expected = json.loads(run.stdout) if run.returncode == 0 else {"error": run.stderr}
            same = found["error"] in run.stderr if "error" in found else found == expected
            tap.ok(same, "%s: %s of %d/10 to %d/10 is the command's" % (name, report, *part),
                   json.dumps(found)[:600] + "\n" + json.dumps(expected)[:600])
    view.stop()


def test_opened_since(trace):
    """What is asked for without a time is what the view was opened with."""
    view = View(trace, "--no-browser", "--since", "85s")
    expected = answer(trace, "exits", "--since", "85s")["rows"]
    tap.same(view.get("report/exits")["rows"], expected, "a report without from= begins where the view does")
    tap.same(view.get("window")["from_ns"], 85_000_000_000, "... and a window")
    view.stop()


def test_picture(trace, work):
    """The saved window is the command's picture."""
    view = View(trace, "--no-browser")
    to = view.get("tracks")["to_ns"]
    path = os.path.join(work, "window.svg")
    for since, until in ((0, to), (to // 4, to // 2)):
        r, text = view.ask(view.path + "timeline.svg?from=%d&to=%d" % (since, until))
        options = (["--since", "%dns" % since] if since else []) + (["--until", "%dns" % until] if until < to else [])
        subprocess.run([HOSTRACE, "timeline", trace, "-f", "svg", "-o", path, *options], check=True, timeout=60)
        tap.ok(r.getheader("Content-Type") == "image/svg+xml" and text == open(path, "rb").read(), "timeline.svg from %d to %d" % (since, until))
    view.stop()


def test_far_times(work):
    path = os.path.join(work, "far.txt")
    with open(path, "w") as f:
        f.write("# hostrace text 1\n1.0 kvm_entry pid=1 tid=1 vcpu=0 cpu=0 rip=0x1\n"
                "18446744073.5 kvm_exit pid=1 tid=1 vcpu=0 cpu=0 reason=1 isa=1 rip=1\n")
    run = subprocess.run([HOSTRACE, "view", path, "--no-browser"], capture_output=True, text=True, timeout=60)
    tap.ok(run.returncode == 1 and "--until" in run.stderr, "times that JSON's readers cannot have", run)


def test_losses(trace):
    view = View(trace, "--no-browser")
    lost = view.get("window")["lost"]
    tap.same(sum(l[2] or 0 for l in lost), answer(trace, "info")["inputs"][0]["lost"], "losses are those of info")
    view.stop()


def test_long(trace):
    view = View(trace, "--no-browser")
    tracks = view.get("tracks")
    column, span = tracks["resolution_ns"], tracks["to_ns"]
    tap.ok(column > 0 and tracks["slices"] > 600_000, "a long recording is summed up", tracks["slices"])
    whole = view.get("window", width=1000)
    items = sum(len(t["slices"]) // 4 + sum(t["bands"][3::6]) for t in whole["tracks"])
    tap.same(items, tracks["slices"], "each slice is in one item of the whole")
    tap.ok(not whole["exact"], "the whole is from the index")
    windows = [whole]
    for since in (0, span // 7, span * 3 // 7, span * 5 // 7):
        for columns, exact in ((5, True), (100, True), (span // 4 // column, False)):
            window = view.get("window", **{"from": since, "to": since + columns * column, "width": 400})
            tap.same(window["exact"], exact, "%d columns: %s" % (columns, "read" if exact else "from the index"))
            tap.same(window["not_drawn"], 0, "... with all of its tracks")
            windows.append(window)
    for since, until in ((KNOWN_NS - 9000, KNOWN_NS + 1000), (KNOWN_NS + 1000, KNOWN_NS + 9000)):
        window = view.get("window", **{"from": since, "to": until, "width": 1000})
        found = [t["slices"][i:i + 2] for t in window["tracks"] for i in range(0, len(t["slices"]), 4)]
        tap.ok([KNOWN_NS, KNOWN_LENGTH] in found and column > KNOWN_LENGTH, "an exit that crosses the window's end has its whole time", found)
    for window, expected in zip(windows, sums_of_timeline(trace, *[(w["from_ns"], w["to_ns"]) for w in windows])):
        tap.same(differences(sums_of_window(view, window), expected), [],
                 "from %d to %d: the times of timeline" % (window["from_ns"], window["to_ns"]))
    view.stop()


def test_replaced(trace, other, work):
    """Another recording in the place of the one that is shown: no answer mixes the two."""
    for how in ("replaced", "rewritten"):
        path = os.path.join(work, "now.trace")
        shutil.copy(trace, path)
        view = View(path, "--no-browser")
        asked = ("report/exits", "timeline.svg", "window?from=1000000&to=2000000&width=900", "find?text=access&after=5000000")
        tap.same([view.ask(view.path + what)[0].status for what in asked], [200] * len(asked), "%s: answers before" % how)
        if how == "replaced":
            shutil.copy(other, path + ".new")
            os.rename(path + ".new", path)
        else:
            shutil.copy(other, path)
        for what in asked:
            r, text = view.ask(view.path + what)
            tap.ok(r.status == 500 and b"was replaced or changed" in text, "%s: %s says so" % (how, what), (r.status, text[:200]))
        tap.same(view.ask(view.path + "window?width=900")[0].status, 200, "%s: what needs no file is answered" % how)
        view.stop()


def test_opened_until(trace):
    """The window ends where the view was opened until: an event of that moment is not in it."""
    view = View(trace, "--no-browser", "--until", "300us")
    tap.same(view.get("tracks")["to_ns"], 300_000, "the view ends at --until")
    tap.same(view.get("report/exits")["rows"], answer(trace, "exits", "--until", "300us")["rows"], "... and a report without to=")
    view.stop()


def items_named(trace, text, *options):
    """Where the items begin whose state or name has the text, in timeline's answer. After the trace's start."""
    start = answer(trace, "info")["result"]["start_ns"]
    return sorted({r["start_ns"] - start for r in answer(trace, "timeline", *options)["rows"]
                   if text in r["kind"].lower() or text in r["name"].lower()})


def test_find(trace, text, *options, limit=40):
    """/find goes from item to item, from the recording's start on."""
    view = View(trace, "--no-browser")
    found, after = [], {}
    while len(found) < limit:
        item = view.get("find", text=text, **after)["found"]
        if not item:
            break
        found.append(item["from_ns"])
        after = {"after": item["from_ns"]}
    tap.ok(len(found) > 2, "%s: found several times" % text, found)
    tap.same(found, items_named(trace, text, *options)[:limit], "%s: each search goes to the next item" % text)
    for after in (2**63, 2**64 - 1):
        tap.same(view.ask(view.path + "find?text=%s&after=%d" % (text, after))[0].status, 400, "%s: nothing is after %d" % (text, after))
    view.stop()


def ready(browser):
    browser.wait("document.documentElement?.dataset.ready === '1'")


def page_open(browser, view, width=1200, more=""):
    browser.size(width, 900)
    browser.events = []
    browser.call("Page.navigate", url="about:blank")
    browser.wait("location.protocol === 'about:' && document.readyState === 'complete'")
    browser.call("Page.navigate", url=view.url + more)
    browser.wait("location.protocol === 'http:' && document.readyState === 'complete'")
    ready(browser)


def window_shown(browser):
    return [int(n) for n in re.fullmatch(r"#t=(\d+)-(\d+)", browser.run("location.hash")).groups()]


def figures(browser):
    rows = browser.run("[...document.querySelectorAll('#figures tbody tr')].map(r => [...r.cells].map(c => c.dataset.v))")
    sums = {}
    for group, track, kind, ns, _, _ in rows:
        key = (group, without_lane(track), kind)
        sums[key] = sums.get(key, 0) + int(ns)
    return {k: v for k, v in sums.items() if v}


def column(browser, table, head):
    return browser.run("(t => { const i = [...t.querySelectorAll('th')].findIndex(h => h.textContent === %s);"
                       "return [...t.querySelectorAll('tbody tr')].map(r => r.cells[i].dataset.v); })(document.getElementById(%s))"
                       % (json.dumps(head), json.dumps(table)))


def press(browser, key, target="plot"):
    browser.run("document.getElementById(%s).focus()" % json.dumps(target))
    browser.run("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: %s, bubbles: true, cancelable: true}))" % json.dumps(key))
    ready(browser)


def search(browser, text):
    browser.run("document.getElementById('details').hidden = true")
    browser.run("(i => { i.value = %s; i.form.requestSubmit(); })(document.getElementById('text'))" % json.dumps(text))
    browser.wait("document.documentElement.dataset.ready === '1' && !document.getElementById('details').hidden")


def detail(browser, name):
    return browser.run("document.querySelector('#item dd[data-name=\"%s\"]').dataset.v" % name)


def foreign(browser, view):
    return [c for c in browser.complaints() if not c.startswith("request: " + view.url)]


def test_page(browser, trace):
    view = View(trace, "--no-browser")
    page_open(browser, view)
    tap.same(differences(figures(browser), sums_of_timeline(trace, None)[0]), [], "page: the figures are those of timeline")
    since, until = window_shown(browser)
    left, top, width, height = browser.box("#plot")
    x = left + width * 0.6
    browser.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=top + 20, deltaX=0, deltaY=-600)
    browser.wait("location.hash !== '#t=%d-%d'" % (since, until))
    ready(browser)
    shown = window_shown(browser)
    tap.ok(shown[0] > since and shown[1] < until, "page: the wheel zooms in", shown)
    expected = sums_of_timeline(trace, shown)[0]
    tap.same(differences(figures(browser), expected), [], "page: the figures of that window are those of timeline")
    browser.drag(x, top + 20, x - 100, top + 20)
    ready(browser)
    tap.ok(window_shown(browser)[0] > shown[0], "page: dragging moves it", window_shown(browser))
    for key, sign in (("a", -1), ("d", 1), ("ArrowLeft", -1), ("ArrowRight", 1)):
        before = window_shown(browser)[0]
        press(browser, key)
        tap.ok((window_shown(browser)[0] - before) * sign > 0, "page: the key %s moves it" % key)
    for key, sign in (("w", 1), ("s", -1), ("+", 1), ("-", -1)):
        before = window_shown(browser)
        press(browser, key)
        after = window_shown(browser)
        tap.ok(((before[1] - before[0]) - (after[1] - after[0])) * sign > 0, "page: the key %s zooms" % key)
    press(browser, "0")
    tap.same(window_shown(browser), [since, until], "page: the key 0 shows everything")
    press(browser, "ArrowDown")
    press(browser, "]")
    press(browser, "Enter")
    state = detail(browser, "state")
    tap.ok(state in [r["kind"] for r in answer(trace, "timeline")["rows"]] and not browser.run("document.getElementById('details').hidden"),
           "page: an item's details by keys", state)
    a, b = left + width * 0.4, left + width * 0.8
    for kind, at, buttons in (("mousePressed", a, 1), ("mouseMoved", (a + b) / 2, 1), ("mouseMoved", b, 1), ("mouseReleased", b, 0)):
        browser.mouse(kind, at, top + 20, modifiers=8, **({} if kind == "mouseMoved" and not buttons else {"button": "left", "buttons": buttons, "clickCount": 1}))
    browser.wait("!!document.getElementById('r-exits') || /[a-z]/.test(document.querySelector('#tables p')?.textContent || '')")
    ready(browser)
    times = [int(n) for n in re.findall(r"(\d+)ns", browser.run("document.getElementById('range-about').textContent"))]
    tap.ok(since < times[0] < times[1] < until, "page: shift and drag select a range", times)
    window = ["--since", "%dns" % times[0], "--until", "%dns" % times[1]]
    for table, key, expected in (("r-exits", "total", [r["total_ns"] for r in answer(trace, "exits", *window)["rows"]]),
                                 ("r-causes", "time", [r["time_ns"] for r in answer(trace, "blame", *window)["causes"]])):
        tap.same(column(browser, table, key) if expected else [], [str(v) for v in expected], "page: %s of the range are the command's" % table)
    tap.same(foreign(browser, view), [], "page: no exception, no console message, no other request")
    for width in (360, 1200):
        page_open(browser, view, width)
        tap.ok(browser.run("document.documentElement.scrollWidth <= innerWidth"), "page: fits %d px" % width,
               browser.run("[document.documentElement.scrollWidth, innerWidth]"))
    browser.call("Emulation.setEmulatedMedia", media="print")
    tap.ok(browser.run("getComputedStyle(document.querySelector('.tools')).display") == "none", "page: printed without its buttons")
    browser.call("Emulation.setEmulatedMedia", media="")
    for theme in ("dark", "light"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        page_open(browser, view)
        tap.same(browser.run("document.documentElement.dataset.theme"), theme, "page: %s as the browser is" % theme)
    unnamed = browser.run("[...document.querySelectorAll('button, input')].filter(e => !(e.textContent || e.ariaLabel || e.closest('label'))).length")
    tap.same(unnamed, 0, "page: all controls have a name")
    view.stop()


def test_known_exit(browser, trace):
    """Of 600,000 exits the only one for a triple fault... by its reason."""
    view = View(trace, "--no-browser")
    page_open(browser, view)
    name = next(r["name"] for r in answer(trace, "timeline", "--since", "%dns" % (KNOWN_NS - 10), "--until", "%dns" % (KNOWN_NS + 10))["rows"]
                if r["track"] == "vCPU 3")
    search(browser, name)
    tap.same([detail(browser, k) for k in ("from", "duration", "name")], [str(KNOWN_NS), str(KNOWN_LENGTH), name],
             "page: a search zooms to a known exit")
    shown = window_shown(browser)
    tap.ok(shown[0] <= KNOWN_NS and KNOWN_NS + KNOWN_LENGTH <= shown[1] and shown[1] - shown[0] < 100_000_000, "... which the window shows", shown)
    tap.same(foreign(browser, view), [], "page: no exception, no console message, no other request")
    view.stop()


def test_search_next(browser, trace):
    """Next goes to each item of a recording whose items are summed up."""
    view = View(trace, "--no-browser")
    page_open(browser, view)
    found, name = [], answer(trace, "timeline", "--until", "1ms")["rows"][0]["name"]
    for _ in range(12):
        search(browser, name)
        found.append(int(detail(browser, "from")))
    tap.same(found, items_named(trace, name.lower(), "--until", "1ms")[:12], "page: a search finds each '%s'" % name)
    tap.same(foreign(browser, view), [], "page: no exception, no console message, no other request")
    view.stop()


def test_address(browser, trace):
    """A link into the open page."""
    view = View(trace, "--no-browser")
    page_open(browser, view)
    for since, until in ((100_000, 200_000), (300_000, 350_000)):
        browser.call("Page.navigate", url="%s#t=%d-%d" % (view.url, since, until))
        time.sleep(0.3)
        ready(browser)
        tap.same(browser.run("document.getElementById('svg').href").split("?")[1], "from=%d&to=%d" % (since, until),
                 "page: another link in the address shows its window")
        tap.same(window_shown(browser), [since, until], "... and stays in the address")
    tap.same(foreign(browser, view), [], "... without an exception")
    view.stop()


def test_key_after_click(browser, trace):
    view = View(trace, "--no-browser")
    page_open(browser, view)
    left, top, width, height = browser.box("#in")
    browser.click(left + width / 2, top + height / 2)
    ready(browser)
    before = window_shown(browser)
    browser.run("document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'w', bubbles: true, cancelable: true}))")
    ready(browser)
    after = window_shown(browser)
    tap.ok(after[1] - after[0] < before[1] - before[0], "page: a key after a click on a button", (before, after))
    view.stop()


def test_ended(browser, trace):
    """The page says that its server has ended, whatever it is asked."""
    view = View(trace, "--no-browser")
    page_open(browser, view)
    view.stop()

    def said(where):
        time.sleep(0.5)
        ready(browser)
        return browser.run("document.getElementById(%s).textContent" % json.dumps(where))

    press(browser, "w")
    tap.ok("hostrace view' does not answer" in said("status"), "page: zoom without a server", said("status"))
    browser.run("document.getElementById('status').textContent = ''")
    browser.run("(i => { i.value = 'kernel'; i.form.requestSubmit(); })(document.getElementById('text'))")
    tap.ok("hostrace view' does not answer" in said("status"), "page: search without a server", said("status"))
    press(browser, "r")
    tap.ok("hostrace view' does not answer" in said("tables"), "page: reports without a server", said("tables"))
    tap.same([c for c in foreign(browser, view) if "ERR_CONNECTION_REFUSED" not in c], [], "... no exception")


def test_far_page(browser, work):
    """Times whose last digits a number of the browser does not have."""
    path = os.path.join(work, "far.txt")
    with open(path, "w") as f:
        f.write("# hostrace text 1\n")
        for s in (1, 3_000_000_000, 9_000_000_000):
            who = "pid=10 tid=11 cpu=0 vcpu=0 rip=0x1000"
            f.write("%d.000000000 kvm_exit %s reason=120 isa=2\n%d.000003000 kvm_entry %s\n" % (s, who, s, who))
    view = View(path, "--no-browser")
    page_open(browser, view, more="#t=8999999999000000000-8999999999000004000")
    tap.same(browser.run("document.getElementById('status').textContent"), "", "page: a window of far times")
    page_open(browser, view)
    found = []
    for _ in range(3):
        search(browser, "hlt")
        found.append(int(detail(browser, "from")))
    tap.same(found, [0, 2_999_999_999_000_000_000, 8_999_999_999_000_000_000], "page: a search finds what is far")
    tap.same(foreign(browser, view), [], "... without an exception")
    view.stop()


def test_command_shown(browser):
    """The command above the tables prints what they have, whatever the view was opened with."""
    view = View(os.path.join(ROOT, "doc/tutorial/slow.hrt"), "--no-browser", "--since", "85s", "--until", "87s", "--vcpu", "0",
                "--reason", "*MMIO,*IO*")
    page_open(browser, view)
    press(browser, "r")
    browser.wait("!!document.getElementById('r-exits')")
    options = shlex.split(browser.run("document.getElementById('range-about').textContent").split(" print ")[1])
    found = column(browser, "r-exits", "total")
    run = subprocess.run([HOSTRACE, "exits", "-f", "json", *options], capture_output=True, text=True, timeout=60)
    expected = [str(r["total_ns"]) for r in json.loads(run.stdout or '{"rows": []}')["rows"]]
    tap.same(found, expected, "page: the command that it names prints its table: %s" % options[2:])
    view.stop()


def test_empty_places(browser):
    """A queue's further places take a line only in windows where they have requests, or while one is selected."""
    line = 20  # pixels
    view = View(os.path.join(ROOT, "doc/tutorial/slow.hrt"), "--no-browser")
    places = [t["id"] for t in view.get("tracks")["tracks"] if t["name"] != without_lane(t["name"])]

    def filled(since, until):
        return sum(t["id"] in places and bool(t["slices"] or t["bands"])
                   for t in view.get("window", **{"from": since, "to": until, "width": 1200})["tracks"])

    def height(since, until):
        page_open(browser, view, more="#t=%d-%d" % (since, until))
        return browser.run("document.getElementById('tracks').clientHeight")

    everything, some = (0, 88_763_000_000), (87_000_000_000, 87_500_000_000)
    tap.ok(0 < filled(*some) < filled(*everything), "fewer places have requests in a window", (filled(*some), filled(*everything)))
    tap.same(height(*everything) - height(*some), line * (filled(*everything) - filled(*some)), "... and the picture has fewer lines")
    tap.same(foreign(browser, view), [], "... without an exception")
    view.stop()


def test_hostile(browser):
    trace = os.path.join(ROOT, "tests/page/hostile.txt")
    view = View(trace, "--no-browser")
    page_open(browser, view)
    tap.ok("hostile" in browser.run("document.getElementById('figures').textContent"), "hostile names are shown as text")
    press(browser, "r")
    ready(browser)
    found = browser.run("[...document.querySelectorAll('script, img, svg, iframe, a')].map(e => e.outerHTML.slice(0, 100))")
    tap.same([f for f in found if 'id="svg"' not in f], ['<script src="view.js" defer=""></script>'], "they make no elements")
    tap.same(foreign(browser, view), [], "they do nothing")
    view.stop()


def main():
    import view_files  # which imports this file
    import view_flows
    browser = Browser()
    with tempfile.TemporaryDirectory() as work:
        long_trace = os.path.join(work, "long.txt")
        write_long(long_trace)
        recording = os.path.join(work, "long.hrt")  # a part of it is read in some ms
        subprocess.run([HOSTRACE, "import", long_trace, "-o", recording], check=True, timeout=100, stderr=subprocess.DEVNULL)
        timeline = case("timeline/trace.txt")
        requests = ("-i", case("requests-path/trace.txt"), "--guest", case("requests-path/guest.trace"))
        try:
            test_who_may_ask(timeline)
            test_ended_by_signal(long_trace, work)
            test_options(timeline, work)
            for name in ("timeline", "blame-causes", "virtio-stages", "sched"):
                test_answers(case(name + "/trace.txt"), name)
            test_picture(timeline, work)
            test_opened_since(os.path.join(ROOT, "doc/tutorial/slow.hrt"))
            test_opened_until(timeline)
            test_far_times(work)
            test_losses(case("exits-lost/trace.txt"))
            test_find(timeline, "kernel")
            test_find(recording, "access", "--until", "1ms")
            test_long(long_trace)
            view_flows.test_open_at_end(recording)
            test_replaced(recording, timeline, work)
            for name in ("timeline", "blame-causes"):
                test_page(browser, case(name + "/trace.txt"))
            test_known_exit(browser, long_trace)
            test_search_next(browser, recording)
            view_files.test_reports_with_guest(*requests)
            view_files.test_schemas(timeline, case("exits-lost/trace.txt"), requests, recording, work)
            view_flows.test_flows(*requests)
            view_flows.test_flows_wrong(timeline)
            view_flows.test_flows_page(browser, work)
            view_files.test_notes(browser, timeline, work)
            view_files.test_recording(browser, timeline, recording, work)
            view_files.test_png(browser, work)
            test_empty_places(browser)
            test_far_page(browser, work)
            test_ended(browser, timeline)
            test_key_after_click(browser, timeline)
            test_address(browser, timeline)
            test_command_shown(browser)
            test_hostile(browser)
            test_opener(timeline, os.path.join(work, "opener"))
        except Failed as e:
            tap.ok(False, "the browser", e)
        finally:
            browser.close()
    print("1..%d" % tap.n)
    sys.exit(1 if tap.failed else 0)


if __name__ == "__main__":
    main()
