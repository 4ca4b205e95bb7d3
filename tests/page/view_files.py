# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of `hostrace view`: notes next to a recording, what the page saves. Part of view.py."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import threading
import time
import zlib

from page import HOSTRACE, ROOT, tap
from view import View, detail, foreign, page_open, press, ready


def notes_shown(browser):
    return browser.run("[...document.querySelectorAll('#marks-list li')].map(l => l.dataset.note + ' ' + l.childNodes[1].textContent.trim())")


def note_save(browser, text):
    browser.run("(i => { i.value = %s; i.form.requestSubmit(); })(document.getElementById('note-text'))" % json.dumps(text))
    browser.wait("document.getElementById('note-form').hidden")
    ready(browser)


def start_of(trace):
    return json.loads(subprocess.run([HOSTRACE, "info", trace, "-f", "json"], capture_output=True, check=True).stdout)["result"]["start_ns"]


def test_notes(browser, trace, work):
    """Made by key and by click, listed, kept in a file, linked, deleted; whatever they say is text."""
    path = shutil.copy(trace, os.path.join(work, "<b>noted.txt"))
    kept = path + ".notes"
    view = View(path, "--no-browser")
    page_open(browser, view)
    tap.ok(browser.run("document.getElementById('marks').hidden") and not os.path.exists(kept), "page: no notes, no file of them")
    hostile = "<img src=x onerror=alert(1)> \x1b[31m\u202e\u00fc"
    press(browser, "ArrowDown")
    press(browser, "]")
    press(browser, "Enter")
    item = [int(detail(browser, k)) for k in ("from", "until")]
    press(browser, "n")
    tap.same(browser.run("document.activeElement.id"), "note-text", "page: the key n asks for a note's text")
    note_save(browser, hostile)
    tap.same(notes_shown(browser), ["%d-%d %s" % (*item, hostile)], "page: a note of the selected item is listed as it was typed")
    start = start_of(path)
    tap.same(json.load(open(kept)), {"hostrace_notes": 1, "notes": [{"from_ns": start + item[0], "to_ns": start + item[1], "text": hostile}]},
             "... and kept, with the times of the trace's clock")
    tap.ok(os.stat(kept).st_mode & 0o777 == 0o600 and all(b < 127 and b != 27 for b in open(kept, "rb").read()),
           "... for its user only, with nothing that controls a terminal", oct(os.stat(kept).st_mode))
    left, top, width, height = browser.box("#plot")
    x, y = left + width * 0.7, top + 60
    for kind, buttons in (("mousePressed", 1), ("mouseReleased", 0)):
        browser.mouse(kind, x, y, modifiers=1, button="left", buttons=buttons, clickCount=1)
    browser.wait("!document.getElementById('note-form').hidden")
    note_save(browser, "a mark")
    tap.same([n.split(" ", 1)[1] for n in notes_shown(browser)], [hostile, "a mark"], "page: Alt and a click make a mark")
    mark = notes_shown(browser)[1].split()[0]
    since, until = [int(n) for n in mark.split("-")]
    tap.same(until, since + 1, "... of one moment")
    press(browser, "m")
    browser.run("document.getElementById('note-text').dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))")
    tap.ok(browser.run("document.getElementById('note-form').hidden") and len(notes_shown(browser)) == 2, "page: m asks for a mark, Escape ends that")
    found = browser.run("[...document.querySelectorAll('img, b, iframe')].length")
    tap.same(found, 0, "page: a note makes no elements")
    again = View(path, "--no-browser")
    page_open(browser, again)
    tap.same([n.split(" ", 1)[1] for n in notes_shown(browser)], [hostile, "a mark"], "page: another view of the file has them")
    browser.run("document.querySelectorAll('#marks-list a')[1].click()")
    time.sleep(0.3)
    ready(browser)
    link = browser.run("location.hash")
    shown = [int(n) for n in re.match(r"#t=(\d+)-(\d+)&note=" + mark, link).groups()]
    tap.ok(shown[0] <= since < shown[1], "page: its link shows it", link)
    tap.same(browser.run("document.querySelector('#marks-list .chosen')?.dataset.note"), mark, "... and selects it")
    page_open(browser, again, more=link)
    tap.same([browser.run("location.hash"), browser.run("document.querySelector('#marks-list .chosen')?.dataset.note")], [link, mark],
             "page: the address of another one shows it, too")
    again.stop()
    page_open(browser, view)
    browser.run("document.querySelector('#marks-list button').click()")
    browser.wait("document.querySelectorAll('#marks-list li').length === 1")
    tap.same([n["text"] for n in json.load(open(kept))["notes"]], ["a mark"], "page: a note is deleted, also from the file")
    tap.same(foreign(browser, view), [], "... without an exception")
    add = "notes/add?from=5&to=9&text=more"
    for what, status in ((add + "x" * 1000, 400), ("notes/add?from=5&to=9&text=%ff", 400), ("notes/add?from=9&to=5&text=a", 400),
                         ("notes/add?from=5&to=9", 400), ("notes/add?from=5&to=9&text=a%00b", 400), ("notes/delete?from=5&to=9&text=none", 409), ("tracks", 405)):
        tap.same(view.ask(view.path + what, method="POST")[0].status, status, "POST %s: %d" % (what[:40], status))
    for number in range(999):
        view.ask(view.path + add + str(number), method="POST")
    r, text = view.ask(view.path + add, method="POST")
    tap.ok(r.status == 409 and b"delete some" in text and len(json.load(open(kept))["notes"]) == 1000, "notes are bounded", text)
    tap.same(view.ask(view.path + add)[0].status, 404, "GET changes nothing")
    tap.same(view.ask("/" + "0" * 32 + "/" + add, method="POST")[0].status, 403, "nothing is changed without the token")
    view.stop()
    test_notes_foreign(path, kept, add)
    test_notes_of_two(path, kept)
    test_notes_times(browser, path)


def test_notes_times(browser, path):
    """A note stays at its moment beside another input that begins earlier; one that is outside is counted; order does not matter."""
    kept, start = path + ".notes", start_of(path)
    earlier = path + ".earlier.txt"
    subprocess.run(["rm", "-f", kept], check=True)
    with open(earlier, "w") as out:
        out.write("# hostrace text 1\n%d.%09d thread pid=1 tid=1 cpu=0 comm=x\n" % divmod(start - 700_000, 10 ** 9))
    view = View(path, "--no-browser")
    view.ask(view.path + "notes/add?from=5000&to=5001&text=here", method="POST")
    view.stop()
    view = View("-i", path, "-i", earlier, "--no-browser")
    tap.same([n["from_ns"] for n in view.get("notes")["notes"]], [705_000], "a note stays at its moment beside an input that begins earlier")
    view.ask(view.path + "notes/add?from=100&to=200&text=before", method="POST")
    view.stop()
    view = View(path, "--no-browser")
    answer = view.get("notes")
    tap.same([[n["text"] for n in answer["notes"]], answer["outside"]], [["here"], 1], "one from before the recording is counted")
    page_open(browser, view)
    tap.ok("1 of the file are outside" in browser.run("document.getElementById('marks-about').textContent"), "... and the page says so")
    by_hand = [{"from_ns": start + n, "to_ns": start + n + 1, "text": "at %d" % n} for n in (900, 30, 500)]
    with open(kept, "w") as out:
        json.dump({"hostrace_notes": 1, "notes": by_hand}, out)
    tap.same([n["from_ns"] for n in view.get("notes")["notes"]], [30, 500, 900], "notes that were written by hand are sorted")
    r, _ = view.ask(view.path + "notes/delete?from=500&to=501&text=at%20500", method="POST")
    tap.same([r.status, len(json.load(open(kept))["notes"])], [200, 2], "... and deleted")
    tap.same(view.ask(view.path + "notes/add?from=30&to=31&text=at%2030", method="POST")[0].status, 409, "... and not added twice")
    view.stop()


def test_notes_foreign(path, kept, add):
    """What is there and is not a file of notes stays as it is."""
    def link():
        os.symlink(path, kept)

    def text(what):
        return lambda: open(kept, "w").write(what)

    note = '{"from_ns": 5, "to_ns": 9, "text": "a"}'
    view = View(path, "--no-browser")
    for name, make in (("a link", link), ("a pipe", lambda: os.mkfifo(kept)), ("a folder", lambda: os.mkdir(kept)), ("a text", text("mine")),
                       ("another JSON", text('{"notes": [%s]}' % note)), ("a wrong note", text('{"hostrace_notes": 1, "notes": [{"from_ns": -1}]}')),
                       ("two lists", text('{"hostrace_notes": 1, "notes": [%s], "notes": []}' % note)),
                       ("too many", text('{"hostrace_notes": 1, "notes": [%s]}' % ", ".join([note] * 1001))),
                       ("too long", text('{"hostrace_notes": 1, "notes": [%s]}' % note + " " * (8 << 20)))):
        subprocess.run(["rm", "-rf", kept], check=True)
        make()
        before = os.lstat(kept)
        r, answer_text = view.ask(view.path + add, method="POST")
        now = os.lstat(kept)
        tap.ok(r.status == 409 and (now.st_ino, now.st_size, now.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
               and view.get("notes")["error"], "%s in the place of notes: refused" % name, (r.status, answer_text))
    view.stop()
    subprocess.run(["rm", "-rf", kept], check=True)


def test_notes_of_two(path, kept):
    """Two views of a recording lose no note; a file that may not be written keeps neither from starting."""
    views = [View(path, "--no-browser") for _ in range(2)]
    threads = [threading.Thread(target=lambda v=view, n=n: [v.ask(v.path + "notes/add?from=%d&to=9000&text=%d" % (i, n), method="POST")
                                                            for i in range(100)]) for n, view in enumerate(views)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.same(len(json.load(open(kept))["notes"]), 200, "two views add 100 notes each: none is lost")
    for view in views:
        view.stop()
    if os.getuid():
        return
    os.makedirs(os.path.dirname(path) + "/sticky", 0o700)
    sticky = os.path.dirname(path) + "/sticky/a.hrt"
    shutil.copy(path, sticky)
    shutil.move(kept, sticky + ".notes")
    os.chown(sticky + ".notes", 65534, -1)
    os.chmod(os.path.dirname(sticky), 0o1777)
    view = View(sticky, "--no-browser")
    r, _ = view.ask(view.path + "notes/add?from=5&to=9&text=a", method="POST")
    tap.ok(r.status == 409 and view.get("notes")["error"], "another user's file of notes in a folder of all: the page has the reason", r.status)
    view.stop()


def test_reports_with_guest(*words):
    """Also of windows in which nothing matches: a guest's own clock is not that of the window."""
    view = View(*words, "--no-browser")
    tracks = view.get("tracks")
    to = tracks["to_ns"]
    for since, until in ((0, to), (to // 3, to // 2), (5_000_000, 5_000_500), (1_002_000, 1_002_001), (5_900_000, 5_970_000)):
        for report in ("exits", "blame", "sched", "virtio", "requests", "interrupts", "info"):
            found = view.get("report/" + report, **{"from": since, "to": until})
            window = (["--since", "%dns" % since] if since else []) + (["--until", "%dns" % until] if until < to else [])
            run = subprocess.run([HOSTRACE, report, *words, "-f", "json", *window], capture_output=True, text=True, timeout=60)
            expected = json.loads(run.stdout) if run.returncode == 0 else {"error": run.stderr}
            same = found["error"] in run.stderr if "error" in found else found == expected
            tap.ok(same, "with a guest: %s from %d to %d is the command's" % (report, since, until), (found.get("caveats"), expected.get("caveats")))
    view.stop()


def follows(schema, answers, work):
    """Answers follow a schema of doc/schema."""
    paths = []
    for number, value in enumerate(answers):
        paths.append(os.path.join(work, "answer-%d.json" % number))
        with open(paths[-1], "w") as f:
            json.dump(value, f)
    run = subprocess.run([sys.executable, os.path.join(ROOT, "tests/exports/schemas.py"), schema, *paths], capture_output=True, text=True, timeout=60)
    tap.ok(run.returncode == 0 and answers, "%d answers follow %s.json" % (len(answers), schema), run.stdout + run.stderr)


def test_schemas(trace, lost, requests, recording, work):
    folder = os.path.join(work, "schemas")
    os.makedirs(folder)
    views = [View(path, "--no-browser") for path in (trace, lost, recording)] + [View(*requests, "--no-browser")]
    tracks = [v.get("tracks") for v in views]
    follows("view-tracks", tracks, folder)
    follows("view-window", [v.get("window", **w) for v in views for w in ({}, {"width": 8192}, {"from": 1000, "to": 90_000, "width": 7})], folder)
    follows("view-found", [v.get("find", text=t) for v in views for t in ("guest", "kernel", "no such item")], folder)
    follows("view-flows", [views[3].get("flows", **{"track": t["id"], "from": 1_000_000, "to": 4_000_000}) for t in tracks[3]["tracks"]], folder)
    path = shutil.copy(trace, folder)
    noted = View(path, "--no-browser")
    answers = [noted.get("notes")]
    answers.append(json.loads(noted.ask(noted.path + "notes/add?from=5&to=9&text=a", method="POST")[1]))
    with open(path + ".notes", "w") as f:
        f.write("foreign")
    answers.append(noted.get("notes"))
    follows("view-notes", answers, folder)
    for v in [*views, noted]:
        v.stop()


def events(path):
    """Of a recording, without its random identifier and name."""
    return subprocess.run([HOSTRACE, "export", "text", path], check=True, capture_output=True, timeout=60).stdout


def download(browser, button, folder):
    """The file that the browser saves, and its name."""
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
    browser.run("document.getElementById(%s).click()" % json.dumps(button))
    until = time.time() + 60
    while time.time() < until:
        found = [n for n in os.listdir(folder) if not n.endswith(".crdownload") and not n.startswith(".")]
        if found:
            time.sleep(0.2)
            ready(browser)
            path = os.path.join(folder, found[0])
            content = open(path, "rb").read()
            os.remove(path)
            return found[0], content
        time.sleep(0.05)
    return None, b""


def test_recording(browser, trace, long_trace, work):
    """The window as a recording is what import writes, from the server and saved by the page."""
    folder, expected, found = (os.path.join(work, n) for n in ("saved", "expected.hrt", "found.hrt"))
    os.makedirs(folder)
    for name, path, options in (("text", trace, ()), ("text with filters", trace, ("--vcpu", "0", "--until", "700us")), ("a recording", long_trace, ())):
        view = View(path, "--no-browser", *options)
        tracks = view.get("tracks")
        to = tracks["to_ns"]
        for since, until in ((0, to), (to // 5, to // 2), (to // 2, to // 2 + 1)):
            r, content = view.ask(view.path + "window.hrt?from=%d&to=%d" % (since, until))
            with open(found, "wb") as f:
                f.write(content)
            window = (["--since", "%dns" % since] if since else []) + (["--until", "%dns" % until] if until < to else [])
            given = [o for o in options if not window[2:] or o not in ("--until", "700us")]
            subprocess.run([HOSTRACE, "import", path, "-q", "-o", expected, *given, *window], check=True, timeout=60)
            tap.ok(r.status == 200 and events(found) == events(expected), "%s: window.hrt from %d to %d is what import writes" % (name, since, until),
                   (r.status, content[:200]))
        page_open(browser, view, more="#t=%d-%d" % (to // 5, to // 2))
        saved, content = download(browser, "hrt", folder)
        with open(found, "wb") as f:
            f.write(content)
        given = [o for o in options if o not in ("--until", "700us")]
        subprocess.run([HOSTRACE, "import", path, "-q", "-o", expected, *given, "--since", "%dns" % (to // 5), "--until", "%dns" % (to // 2)],
                       check=True, timeout=60)
        tap.ok(content and events(found) == events(expected), "page: %s: the saved recording is what import writes" % name, saved)
        tap.ok(re.fullmatch(r"[a-z]+-[0-9.]+s-[0-9.]+s\.hrt", saved or ""), "... named for file and window", saved)
        tap.same([c for c in foreign(browser, view) if "request: blob:" not in c], [], "... without an exception")
        view.stop()


def pixels(png):
    """Width, height and rows of an 8-bit RGBA picture without interlace."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", png[at + 8:at + 18])
        if kind == b"IDAT":
            data += png[at + 8:at + 8 + length]
        at += length + 12
    assert (depth, colour) == (8, 6), (depth, colour)
    raw, rows, before = zlib.decompress(data), [], bytes(4 * width)
    for y in range(height):
        kind, line = raw[y * (4 * width + 1)], bytearray(raw[y * (4 * width + 1) + 1:(y + 1) * (4 * width + 1)])
        for i in range(4 * width):
            a, b, c = line[i - 4] if i >= 4 else 0, before[i], before[i - 4] if i >= 4 else 0
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, nearest)[kind]) & 255
        before = bytes(line)
        rows.append(before)
    return width, height, rows


def test_png(browser, work):
    """The picture has the page's canvas, pixel by pixel, and what is around it."""
    path, folder = os.path.join(work, "half red.txt"), os.path.join(work, "pictures")
    os.makedirs(folder)
    who = "pid=10 tid=11 vcpu=0 cpu=0"
    with open(path, "w") as f:
        f.write("# hostrace text 1\n1.000000000 kvm_exit %s isa=1 reason=12 rip=0x1\n1.000500000 kvm_entry %s rip=0x1\n"
                "1.001000000 kvm_exit %s isa=1 reason=12 rip=0x1\n" % (who, who, who))
    view = View(path, "--no-browser")
    page_open(browser, view)
    saved, content = download(browser, "png", folder)
    tap.ok(saved and re.fullmatch(r"half red-0s-0\.001000001s\.png", saved), "page: a picture is saved", saved)
    width, height, rows = pixels(content)
    size = browser.run("[document.getElementById('tracks').width, document.getElementById('tracks').height]")
    tap.ok(width == size[0] and size[1] < height < size[1] + 150, "... as wide as the page's, with a head", (width, height, size))
    canvas = browser.run("""(c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data].reduce(
        (text, v) => text + v.toString(16).padStart(2, '0'), ''))(document.getElementById('tracks'))""")
    drawn = bytes.fromhex(canvas)
    top = height - 8 - size[1]
    differ = sum(1 for y in range(size[1]) for x in range(width)
                 if drawn[4 * (y * width + x) + 3] == 255 and drawn[4 * (y * width + x):4 * (y * width + x) + 4] != rows[top + y][4 * x:4 * x + 4])
    opaque = sum(1 for i in range(3, len(drawn), 4) if drawn[i] == 255)
    tap.ok(opaque > 1000 and differ == 0, "... whose pixels are the canvas's", (opaque, differ))
    colours = {tuple(rows[y][4 * x:4 * x + 3]) for y in range(top) for x in range(width)}
    wanted = {tuple(int(k[1][i:i + 2], 16) for i in (1, 3, 5)) for k in view.get("tracks")["kinds"] if re.fullmatch("#[0-9a-f]{6}", k[1])}
    tap.ok(wanted and wanted <= colours, "... with the colours of all states", wanted - colours)
    tap.same([c for c in foreign(browser, view) if "request: blob:" not in c], [], "... without an exception")
    view.stop()
