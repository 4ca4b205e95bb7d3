#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How often is the first cause that `hostrace diagnose --vm` names the one that was made?

    bench.py BUILD [--hostrace PROGRAM] [--variations N] [--kinds A,B] [--seconds S] [-o DIR] [--recorded] [--views] [--tap]

Makes faults of known kinds (kinds.py) in running VMs, asks `hostrace diagnose`, which sees only the VM, and prints what was
named first and second for each kind: the confusion matrix, and how many are right. -o: matrix.md and trials.json. --tap: as a
test. --recorded: a recording with what `hostrace record` records by default is diagnosed instead. --views: what `hostrace
top` and `hostrace exporter` name first must be right, too. Status 1: one was wrong.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import urllib.request

from kinds import KINDS, STILL
from vm import ACCEL, Absent, Bench, Failed


CONTENDED = 0.3  # CPUs that processes of others use: then tasks of the host are a fault, too, that we did not make
STOLEN = 0.05  # of the time in which our own host, a VM as it may be, was busy: what diagnose calls wrong
TICK = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids):
    """CPU time of these processes and their children that have ended."""
    seconds = 0.0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                seconds += sum(int(n) for n in f.read().rsplit(")", 1)[1].split()[11:15]) / TICK
        except OSError:
            pass
    return seconds


class Contention:
    """What others than a trial do to its VM: they use CPUs, and our host may be a VM itself."""

    def __init__(self, bench):
        self.bench = bench
        self.begin = self.read()

    def read(self):
        with open("/proc/stat", encoding="utf-8") as f:
            n = [int(x) for x in f.readline().split()[1:]]
        ours = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (time.monotonic(), n[7] / TICK, sum(n[:3] + n[5:8]) / TICK,
                cpu_seconds(p.pid for p in self.bench.processes) + ours.ru_utime + ours.ru_stime)

    def causes(self):
        """What is a cause, too, besides the one that was made."""
        took, stolen, busy, ours = (b - a for a, b in zip(self.begin, self.read()))
        return (("cpu-host-task", "cpu-other-vm", "cpu-wait") if max(0.0, busy - ours) / took > CONTENDED else ()) + \
            (("cpu-host-steal",) if busy and stolen / busy > STOLEN else ())


def diagnose(program, vm, options):
    """(ids of what is wrong, share of the first, seconds until the answer)"""
    begin, of = time.monotonic(), ["--vm", str(vm.pid), "-d", f"{options.seconds}s", "-q"]
    if options.recorded:
        subprocess.run([program, "record", *of, "-o", "vm.hrt"], stdin=subprocess.DEVNULL, timeout=120, check=True)
        of = ["vm.hrt", "-q"]
    p = subprocess.run([program, "diagnose", *of, "-f", "json"],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
    took = time.monotonic() - begin
    if not p.stdout:
        return ["no answer: " + p.stderr.strip()], None, took
    result = json.loads(p.stdout)["result"]
    wrong = [c for c in result["causes"] if c["wrong"]]
    if result["verdict"] in ("unknown", "nothing-found"):
        return [result["verdict"]], None, took
    return [c["id"] for c in wrong] or ["healthy"], wrong[0]["share"] if wrong else 0, took


def top_first(program, vm, seconds):
    """What `hostrace top` names, of the last whole interval."""
    out = subprocess.run([program, "top", "--batch", "--vm", str(vm.pid), "--interval", f"{seconds}s",
                          "--duration", f"{2.5 * seconds}s"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                         timeout=120, check=False).stdout
    pages = out.split("hostrace top ")[1:]
    named = re.search(rf"^{vm.pid} \S+: (\S+) [0-9.]+ %", pages[1], re.M) if len(pages) > 1 else None
    return named.group(1) if named else "healthy"


def exporter_first(program, vm, seconds):
    """What `hostrace exporter` has counted most time for; it judges 10 s, for the first time 1 s after its start."""
    with subprocess.Popen([program, "exporter", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True,
                          stdin=subprocess.DEVNULL) as p:
        try:
            address = next(m[1] for m in (re.search(r"listening on ([^;\s]+)", line) for line in p.stderr) if m)
            time.sleep(max(2.5, seconds))
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=60) as f:
                page = f.read().decode()
        finally:
            p.terminate()
    lost = {m[1]: float(m[2]) for m in re.finditer(
        rf'^hostrace_vm_cause_seconds_total{{.*pid="{vm.pid}".*cause="(.*?)".*}} (\S+)', page, re.M)}
    return max(lost, key=lost.get) if lost else "healthy"


def view_wrong(view, program, vm, seconds, expected, contention):
    """What this view names first, where it is none of these. cpu-wait, which names nobody, will do beside others."""
    cause, beside = view(program, vm, seconds), contention.causes()
    return [] if cause in expected + beside and (cause != "cpu-wait" or beside) else [f"{view.__name__}: {cause}"]


def trial(options, name, variation):
    make, causes = KINDS[name]
    with tempfile.TemporaryDirectory(prefix="hostrace-bench.", dir="/var/tmp") as directory:
        bench = Bench(os.path.abspath(options.build), directory)
        cwd, program = os.getcwd(), os.path.abspath(options.hostrace or f"{options.build}/hostrace")
        os.chdir(directory)
        try:
            vm, lost = make(bench, variation)
            time.sleep(0.3)
            contention = Contention(bench)
            named, share, took = diagnose(program, vm, options)
            beside = contention.causes() if name not in STILL else ()
            expected = (causes or ("healthy",)) + beside
            views = [wrong for view in ((top_first, exporter_first) if options.views else ())
                     for wrong in view_wrong(view, program, vm, options.seconds, expected, Contention(bench))]
        except (Failed, OSError, subprocess.SubprocessError) as e:
            return {"kind": name, "variation": variation, "skipped": str(e), "absent": isinstance(e, Absent)}
        finally:
            bench.close()
            os.chdir(cwd)
    ids = list(dict.fromkeys(named))
    return {"kind": name, "variation": variation, "expected": list(expected), "named": ids, "contended": bool(beside),
            "lost": lost, "share": share, "seconds": round(took, 2),
            "views": views, "first": ids[0] in expected and not views,
            "second": bool(set(ids[:2]) & set(expected)),
            "attributed": None if lost in (None, 0) or share is None or beside else abs(share - lost) <= 0.1}


def percent(trials, key):
    known = [t for t in trials if t.get(key) is not None]
    right = sum(t[key] for t in known)
    return f"{right} of {len(known)}" + (f" ({100 * right / len(known):.1f} %)" if known else "")


def matrix(trials):
    """One row for each kind: what was named first, and how often."""
    lines = ["| kind | expected | named first | right | first two | share within 10 % | s |", "|---|---|---|---|---|---|---|"]
    for name in dict.fromkeys(t["kind"] for t in trials):
        mine = [t for t in trials if t["kind"] == name]
        ran = [t for t in mine if "named" in t]
        if not ran:
            lines.append(f"| {name} | | not run: {mine[0]['skipped']} | | | | |")
            continue
        first = {}
        for t in ran:
            first[t["named"][0]] = first.get(t["named"][0], 0) + 1
        named = ", ".join(f"{k} {n}" for k, n in sorted(first.items(), key=lambda x: -x[1]))
        shares = percent(ran, "attributed") if any(t["attributed"] is not None for t in ran) else ""
        expected = " or ".join(KINDS[name][1]) or "healthy"
        lines.append(f"| {name} | {expected} | {named} | {sum(t['first'] for t in ran)} of {len(ran)} | "
                     f"{sum(t['second'] for t in ran)} of {len(ran)} | {shares} | "
                     f"{sum(t['seconds'] for t in ran) / len(ran):.1f} |")
    return lines


def summary(trials):
    ran = [t for t in trials if "named" in t]
    healthy = [t for t in ran if t["expected"][0] == "healthy"]
    faults = [t for t in ran if t not in healthy]
    return [f"{len(ran)} trials, {len(trials) - len(ran)} not run, accelerator {ACCEL}",
            f"beside other work, or on a host with steal, which is right, too: {sum(t['contended'] for t in ran)}",
            f"first cause right: {percent(faults, 'first')}",
            f"one of the first two right: {percent(faults, 'second')}",
            f"healthy VMs accused: {sum(not t['first'] for t in healthy)} of {len(healthy)}",
            f"lost share within 10 %: {percent(faults, 'attributed')}"]


def trial_print(t, number, tap):
    named = t.get("skipped") or ", ".join(t["named"] + t["views"])
    if not tap:
        verdict = "not run" if "skipped" in t else "right" if t["first"] else "WRONG"
        print(f"{verdict:8} {t['kind']} {t['variation']}: {named}", flush=True)
        return
    fine = t["absent"] if "skipped" in t else t["first"]
    skip = f" # SKIP {named}" if t.get("absent") else ""
    print(f"{'' if fine else 'not '}ok {number} - {t['kind']}: {' or '.join(t.get('expected', []))}{skip}", flush=True)
    if not fine:
        print(f"# {json.dumps(t)}", flush=True)


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build")
    a.add_argument("--hostrace")
    a.add_argument("--variations", type=int, default=12)
    a.add_argument("--kinds", default="")
    a.add_argument("--seconds", type=float, default=2)
    a.add_argument("-o", "--output")
    a.add_argument("--recorded", action="store_true")
    a.add_argument("--views", action="store_true")
    a.add_argument("--tap", action="store_true")
    options = a.parse_args()
    trials = []
    names = [n for n in KINDS if re.fullmatch(options.kinds.replace(",", "|") or ".*", n)]

    for variation in range(options.variations):
        for name in names:
            t = trial(options, name, variation)
            trials.append(t)
            trial_print(t, len(trials), options.tap)
    if options.tap:
        print(f"1..{len(trials)}")
        return 0
    lines = matrix(trials) + [""] + summary(trials)
    print("\n".join([""] + lines))
    if options.output:
        os.makedirs(options.output, exist_ok=True)
        with open(os.path.join(options.output, "matrix.md"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        with open(os.path.join(options.output, "trials.json"), "w", encoding="utf-8") as f:
            json.dump(trials, f, indent=1)
    return any(not t.get("first", True) for t in trials)


if __name__ == "__main__":
    sys.exit(main())
