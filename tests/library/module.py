#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The module for Python against the hostrace command, and the recipes of doc/python.md with their outputs: module.py"""
import contextlib
import io
import json
import os
import re
import subprocess
import tempfile
import threading

import hostrace

HOSTRACE = os.environ["HOSTRACE"]
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def command(*args):
    return json.loads(subprocess.run([HOSTRACE, *args, "-q"], capture_output=True, text=True).stdout)


def check_events(path, where=None):
    """Numbers are ints, also where the command prints a text of them."""
    rows = command("list", path, "-f", "json", *(["--where", where] if where else []))["rows"]
    events = list(hostrace.Trace(path).events(where))
    assert len(events) == len(rows) and rows, (path, len(events), len(rows))
    for e, row in zip(events, rows):
        assert (e.time_ns, e.name, e.source, e.thread, e.tid) == (row["time_ns"], row["event"], row["source"], row["comm"], row["tid"]), e
        assert (e.cpu, e.vcpu) == (row["cpu"], row["vcpu"]), e
        for key, value in row["fields"].items():
            got = e.fields[key]
            assert got == value or isinstance(got, int) and str(value).startswith("0x") and got == int(value, 16), (e, key, value)


def check_rows(path, name, *options, **named):
    rows = hostrace.Trace(path).report(name, *options, **named)
    want = command(name, *options, *[w for k, v in named.items() for w in ([f"--{k}", str(v)] if v is not True else [f"--{k}"])], "-i", path,
                   "-f", "json")
    expected = want["rows"] if "rows" in want else [want["result"]]
    names = [c.name for c in rows.columns]
    assert rows == [{n: row.get(n) for n in names} for row in expected], (name, rows, expected)
    assert set(names) >= {k for row in expected for k in row} and rows.answer == want
    assert all(note in rows.notes for note in want["caveats"])


def check_errors():
    trace = hostrace.Trace("golden/v1.4-columns.hrt")
    for wrong, words in ((lambda: hostrace.Trace("missing"), "No such file"), (lambda: hostrace.Trace(TOP + "/LICENSE"), "unrecognized"),
                         (lambda: trace.report("nothing"), "unknown report"), (lambda: trace.report("exits", by="nothing"), "nothing"),
                         (lambda: trace.report("exits", nothing=1), "nothing"), (lambda: trace.sql("SELECT"), "incomplete"),
                         (lambda: trace.sql("--schema"), "the query is empty"),
                         (lambda: trace.sql("golden/v1.4-columns.hrt"), ""), (lambda: next(trace.events("vcpu >")), "column"),
                         (lambda: hostrace.Trace("a\0b"), "zero"), (lambda: trace.report("exits", "a\0b"), "zero"),
                         (lambda: trace.report("exits\0x"), "zero"), (lambda: next(trace.events("vcpu == 0\0 && x")), "zero"),
                         (lambda: trace.report("exits", by=["vcpu\0", "tid"]), "zero"), (lambda: trace.sql("SELECT 1\0"), "zero"),
                         (lambda: hostrace.Trace("golden/v1.4-columns.hrt", "a\0b"), "zero")):
        try:
            wrong()
        except hostrace.Error as error:
            assert words in str(error), error
            continue
        raise AssertionError(f"no error: {words}")


def check_queries():
    """A comment is no option."""
    trace = hostrace.Trace("golden/v1.4-columns.hrt")
    assert trace.sql("-- a comment\nSELECT 1 AS x") == trace.sql("/* one */ SELECT 1 AS x") == [{"x": 1}]
    host, guest = "cases/requests/host.txt", "cases/requests/guest.trace"
    merged = hostrace.Trace(host, guest).sql("--\nSELECT count(*) AS n FROM events")
    assert merged[0]["n"] > hostrace.Trace(host).sql("SELECT count(*) AS n FROM events")[0]["n"]


def check_threads():
    """Two at once, and two iterators in turn."""
    trace, wrong = hostrace.Trace("golden/v1.4-columns.hrt"), []
    want, first = trace.report("exits"), list(trace.events())

    def work():
        for _ in range(5):
            if trace.report("exits") != want or list(trace.events()) != first:
                wrong.append("differs")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert list(zip(trace.events(), trace.events())) == list(zip(first, first))


def check_recipes():
    """Each block of Python prints what the block after it shows."""
    text = open(os.path.join(TOP, "doc", "python.md")).read()
    recipes = re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", text, re.S)
    assert len(recipes) >= 10, len(recipes)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, case in (("vm", "exits"), ("other", "exits-lost"), ("blame", "blame-causes")):
            subprocess.run([HOSTRACE, "-q", "import", f"cases/{case}/trace.txt", "-o", f"{folder}/{name}.hrt"], check=True)
        os.chdir(folder)
        try:
            for code, want in recipes:
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    exec(code, {"hostrace": hostrace, "trace": hostrace.Trace("vm.hrt")})
                assert out.getvalue() == want, f"{code}prints\n{out.getvalue()}not\n{want}"
        finally:
            os.chdir(before)
    return len(recipes)


check_events("golden/v1.4-columns.hrt")
check_events("cases/exits/trace.txt", 'reason == "io"')
check_events("cases/export/trace.txt")
check_events("oracles/exits.data")
check_rows("golden/v1.4-columns.hrt", "exits", by="vcpu", limit=2)
assert hostrace.Trace("golden/v1.4-columns.hrt").report("exits", by=["vcpu", "tid"], event=("kvm_*",), reason=[]).json == hostrace.Trace(
    "golden/v1.4-columns.hrt").report("exits", "--by", "vcpu,tid", "--event", "kvm_*").json
host = "cases/requests/host.txt"
assert hostrace.Trace(host).report("list", guest=["cases/requests/guest.trace"]) == hostrace.Trace(host, "cases/requests/guest.trace").report("list")
check_rows("cases/blame-causes/trace.txt", "blame")
check_rows("cases/mmio/trace.txt", "mmio", exact=True)
check_rows("golden/v1.4-columns.hrt", "histogram", "exit-latency")
check_rows("golden/v1.4-columns.hrt", "info")
check_rows("golden/v1.4-columns.hrt", "diff", "golden/v1.4-zstd.hrt")
check_errors()
check_queries()
check_threads()
assert list(hostrace.reports())[:2] == ["info", "list"] and hostrace.version() in subprocess.run([HOSTRACE, "--version"], capture_output=True,
                                                                                                 text=True).stdout
print(f"{check_recipes()} recipes")
