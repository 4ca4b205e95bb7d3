#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the rows of every report that libhostrace runs with `hostrace NAME -f json`, twice in one process: reports.py"""
import ctypes
import json
import os
import subprocess
import sys

NONE, INTEGER, REAL, TEXT, BOOLEAN, JSON = range(6)
GUEST = "cases/requests/host.txt --guest cases/requests/guest.trace"
# NAME FILE [OPTION...], in tests/
RUNS = """
info cases/export/trace.txt
info golden/v1.4-columns.hrt
list cases/export/trace.txt
list cases/osv-wakeup/wakeup.tracefile
list golden/v1.4-columns.hrt --where vcpu==1 --columns time_ns,event
exits golden/v1.4-columns.hrt
exits oracles/exits.data --by vcpu,reason
exits cases/exits-symbols/trace.txt --by =rip --symbols cases/exits-symbols/kallsyms
blame cases/blame-causes/trace.txt
blame cases/blame-holder/trace.txt --by vcpu --min-latency 1us
sched cases/sched/trace.txt
sched cases/sched/trace.txt --by task
interrupts cases/interrupts/trace.txt
interrupts cases/interrupts/trace.txt --timers
downtime cases/downtime/trace.txt
boot cases/boot/trace.txt --by phase
ports cases/ports/trace.txt
mmio cases/mmio/trace.txt --exact
msrs cases/msrs/trace.txt
leaks cases/leak-devices/balloon.txt
heap cases/heap/trace.txt --by function
faults cases/faults/trace.txt --by vma
syscalls cases/syscalls/trace.txt --by tid
virtio cases/virtio-in-flight/trace.txt
profile golden/v1.4-columns.hrt --host
profile cases/profile-linux/guest.txt
sync cases/sync-osv/host.hrt --guest cases/sync-osv/tracefile
timeline cases/timeline/trace.txt
requests {0}
requests {0} --stages
diff golden/v1.4-columns.hrt golden/v1.4-zstd.hrt
diagnose cases/blame-causes/trace.txt
diagnose golden/v1.4-columns.hrt --threshold 1%
report cases/export/trace.txt
summary pio cases/export/trace.txt
summary cases/osv-reports/tracefile
count exit-latency golden/v1.4-columns.hrt
histogram exit-latency oracles/exits.data
heatmap exit-latency cases/export/trace.txt
list-spans sched-out cases/analyzers/trace.txt
exits cases/export/trace.txt --where tid==99
""".format(GUEST)
SQL = ["SELECT reason, count(*) n, quantile(duration_ns, .99) FROM exits GROUP BY reason",
       "SELECT json_object('a', 1), NULL, 2.5, 9223372036854775807"]
BAD = [("exits", "cases/export/trace.txt", ["--no-such-option"], "no-such-option"),
       ("exits", "cases/export/trace.txt", ["--by"], "--by"),
       ("exits", "cases/export/trace.txt", ["--by", "vcpu", "--by", "tid"], "given twice"),
       ("exits", "cases/export/trace.txt", ["-f", "csv"], "given twice"),
       ("exits", "cases/export/trace.txt", ["-o", "/nonexistent/x"], "not possible"),
       ("exits", "cases/export/trace.txt", ["--where", "ns >"], ""),
       ("exits", "cases/missing.txt", [], "No such file"),
       ("list", "cases/export/trace.txt", ["--follow"], "not possible"),
       ("diff", "golden/v1.4-columns.hrt", [], "two recordings"),
       ("sql", "cases/export/trace.txt", [], "no query"),
       ("sql", "cases/export/trace.txt", ["SELECT nothing FROM exits"], "nothing"),
       ("exists", "cases/export/trace.txt", [], "unknown report"),
       ("record", "cases/export/trace.txt", [], "unknown report"),
       ("exits", "../LICENSE", [], "unrecognized trace format")]


class Value(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("integer", ctypes.c_int64), ("real", ctypes.c_double), ("text", ctypes.c_char_p)]


class Column(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("unit", ctypes.c_char_p), ("explanation", ctypes.c_char_p), ("kind", ctypes.c_int)]


lib = ctypes.CDLL("libhostrace.so.0")
for name in ("name", "summary", "note", "failure", "json"):
    getattr(lib, "hostrace_report_" + name).restype = ctypes.c_char_p
lib.hostrace_error.restype = ctypes.c_char_p
lib.hostrace_report_run.restype = ctypes.c_void_p
lib.hostrace_report_run.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p]
lib.hostrace_report_rows.restype = ctypes.c_uint64
lib.hostrace_report_column.restype = ctypes.POINTER(Column)
lib.hostrace_report_value.restype = ctypes.POINTER(Value)
lib.hostrace_report_value.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32]


def number(text):
    """A whole number above 2^63 - 1 is a text."""
    return text if int(text) > 2**63 - 1 else int(text)


def load(text):
    return json.loads(text, parse_int=number)


def run(name, path, options):
    words = (ctypes.c_char_p * (len(options) + 1))(*[o.encode() for o in options], None)
    opened = lib.hostrace_report_run(path.encode(), name.encode(), ctypes.cast(words, ctypes.c_void_p))
    return ctypes.c_void_p(opened) if opened else None


def value(v):
    v = v.contents
    return {NONE: lambda: None, INTEGER: lambda: v.integer, REAL: lambda: v.real, TEXT: lambda: v.text.decode(),
            BOOLEAN: lambda: bool(v.integer), JSON: lambda: json.loads(v.text)}[v.kind]()


def table(report):
    """Its rows, without what was not recorded, and its columns."""
    columns = [lib.hostrace_report_column(report, i).contents for i in range(lib.hostrace_report_columns(report))]
    names = [c.name.decode() for c in columns]
    rows = []
    for row in range(lib.hostrace_report_rows(report)):
        got = {n: value(lib.hostrace_report_value(report, row, i)) for i, n in enumerate(names)}
        rows.append({k: v for k, v in got.items() if v is not None})
    assert not lib.hostrace_report_value(report, len(rows), 0) and not lib.hostrace_report_column(report, len(names))
    return rows, columns


def expected(answer):
    rows = answer["rows"] if "rows" in answer else [answer.get("result", answer)]
    return [{k: v for k, v in row.items() if v is not None} for row in rows]


def command(name, path, options):
    done = subprocess.run([os.environ["HOSTRACE"], name, *options[:-1 if name == "sql" else None], "-i", path, "-f", "json",
                           *options[-1:] * (name == "sql")], capture_output=True, text=True)
    return done.stdout, done.returncode


def compare(name, path, options):
    text, status = command(name, path, options)
    report = run(name, path, options)
    assert report, f"{lib.hostrace_error().decode()} (status {status})"
    answer = load(text)
    got, columns = table(report)
    assert got == expected(answer), f"rows differ:\n  {got}\n  {expected(answer)}"
    assert lib.hostrace_report_json(report).decode() == text, "the JSON differs"
    assert lib.hostrace_report_status(report) == status, f"status {lib.hostrace_report_status(report)}, not {status}"
    assert (lib.hostrace_report_failure(report) != b"") == (status == 1)
    for c in columns:
        assert not c.name.endswith(b"_ns") or c.unit == b"ns", c.name
        kinds = {type(row.get(c.name.decode())) for row in got} - {type(None)}
        assert c.kind or len(kinds) != 1 or not kinds, c.name
    notes = []
    while (note := lib.hostrace_report_note(report, len(notes))) is not None:
        notes.append(note.decode())
    assert [n for n in answer.get("caveats", []) if n not in notes] == []
    lib.hostrace_report_close(report)
    return len(got), sum(1 for c in columns if c.explanation)


def reject(name, path, options, words):
    assert run(name, path, options) is None, "it is no error"
    assert words in lib.hostrace_error().decode(), lib.hostrace_error().decode()


def main():
    runs = [(w[0], w[2], [w[1], *w[3:]]) if w[0] in ("histogram", "heatmap", "count", "list-spans") or w[1] == "pio"
            else (w[0], w[1], w[2:]) for w in map(str.split, RUNS.strip().splitlines())]
    runs += [("sql", "golden/v1.4-columns.hrt", [query]) for query in SQL]
    reports = [lib.hostrace_report_name(i).decode() for i in range(lib.hostrace_report_count())]
    missing = set(reports) - {name for name, _, _ in runs}
    assert not missing and lib.hostrace_report_name(len(reports)) is None, f"not tried: {missing}"
    wrong = rows = explained = 0
    for again in range(2):
        for one in runs:
            try:
                counts = compare(*one)
                rows, explained = rows + counts[0], explained + counts[1]
            except (AssertionError, ValueError) as error:
                wrong += 1
                print(f"{'second: ' * again}{one}: {error}"[:2000])
        for one in BAD:
            try:
                reject(*one)
            except AssertionError as error:
                wrong += 1
                print(f"{one}: {error}")
    print(f"{len(runs)} runs twice: {rows} rows, {explained} columns with an explanation, {wrong} wrong")
    sys.exit(wrong > 0 or not rows or not explained)


main()
