#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""CPU time and memory of every command that reads a trace grow in proportion to the trace, as TAP.

    run.py [--table] [--only COMMAND] [DIMENSION...]

For each dimension of dimensions.py each command reads a trace of 4 N, and, if that costs more than SMALL_S and than two starts, one of N:
the larger one may cost FACTOR times as much CPU time. What the command costs with a trace of few events is subtracted.
CPU time is that of the process and its helpers (getrusage), the least of several runs where the limit is exceeded; wall
time is not looked at. Beyond it, a pair of four times the size decides, where a start and other work weigh less.
Commands of MEMORY_MIB also read the traces of dimensions.memory, those of TEXT_CALLS their text form, too. --table
prints the worst commands of each dimension for doc/testing.md.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import dimensions
import osv

hostrace = os.path.realpath(os.environ.get("HOSTRACE", "build/hostrace"))

FACTOR = 6
TRIES = 6
JOBS = int(os.environ.get("SCALE_JOBS", "2"))
SMALL_S = 0.06  # below it, or twice the start, what another process leaves in the caches matters
LIMIT_S = 60  # of CPU time
ORDER_MIB = 32  # more for the text form, whose events are put in order (PENDING_BYTES_MAX)
MEMORY_MIB = dict.fromkeys(["exits", "list", "blame", "sched", "virtio", "info", "downtime", "list-spans"], 64)
MEMORY_MIB |= dict.fromkeys(["profile", "prof", "prof-wait"], 80)
TEXT_CALLS = {"list", "exits", "sched"}  # what is read ahead of a text, and its order, is the same for all commands
# All of them at once, three profiles among them: 248 of 60,000 exits that are open.
MEMORY_MIB |= {"report": 256, "diagnose": 224, "diff": 160}
MEMORY_MIB |= {"export sqlite -o OUT": 96}  # the largest report of all, and the pages of SQLite
# More than the others: 32,768 groups of 592 bytes, and the comparison by runs of as many devices.
MEMORY_OF = {("blame --by reason,vcpu", "exits_ready"): 80, ("diff FILE FILE vs FILE", "devices_busy"): 176}


def memory_mib(call):
    return MEMORY_MIB.get(call, MEMORY_MIB.get(call.split()[0], sys.maxsize))


# A process of few pages starts the programs: what is resident at their exec() counts, too. For each line, the words of a
# command with a NUL between them, it prints seconds, KiB and status.
LAUNCHER = f"""
import os, resource, sys
null = os.open(os.devnull, os.O_RDWR)
for line in sys.stdin:
    words = line[:-1].split(chr(0))
    pid = os.fork()
    if not pid:
        for fd in 0, 1, 2:
            os.dup2(null, fd)
        resource.setrlimit(resource.RLIMIT_CPU, ({LIMIT_S}, {LIMIT_S}))
        os.execv(words[0], words)
    _, status, usage = os.wait4(pid, 0)
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss, os.waitstatus_to_exitcode(status), flush=True)
"""
of_thread = threading.local()

# What commands are run as; others with their file only. FILE: the trace, TEXT: its text form, OUT: a file
# or folder to be written.
CALLS = {
    "exits": ["exits", "exits --by vm,vcpu,rip", "exits --by vm"],
    "blame": ["blame --by reason,vcpu", "blame -f json", "blame -f folded"],
    "sched": ["sched", "sched --by task", "sched --by handler"],
    "interrupts": ["interrupts", "interrupts --timers"],
    "profile": ["profile -x"],
    "view": [],  # it serves until ^C; its index is what the page of `timeline` is made of
    "timeline": ["timeline -f json", "timeline -f html"],
    "diff": ["diff FILE FILE", "diff FILE FILE vs FILE"],
    "report": ["report -o OUT"],
    "summary": ["summary virtqueue", "summary sched-out", "summary pair:mutex_lock,mutex_locked,mutex"],
    "count": ["count pio --by port"],
    "histogram": ["histogram exit-latency"],
    "heatmap": ["heatmap bql-wait"],
    "list-spans": ["list-spans virtio-kick", "list-spans exit-latency --limit 3",
                   "list-spans exit-latency --limit 3 --sort duration", "list-spans exit-latency --limit 3 --sort reason"],
    "prof": ["prof", "prof -g thread"],
    "prof-wait": ["prof-wait -g thread"],
    "prof-idle": ["prof-idle", "prof-idle -g thread"],
    "list-timed": ["list-timed", "list-timed --sort duration"],
    "prof-timed": ["prof-timed -t kvm_exit"],
    "sql": ["sql FILE SELECT/**/count(*)/**/FROM/**/events",
            "sql FILE SELECT/**/reason,count(*)/**/FROM/**/exits/**/GROUP/**/BY/**/reason"],
    "import": ["import FILE -o OUT", "import TEXT -o OUT"],
    "export": ["export text", "export trace.dat -o OUT", "export ctf -o OUT", "export sqlite -o OUT"],
}

# Pairs that are not judged, with the reason.
EXEMPT = {("diagnose", dimension): "it takes no guest's trace"
          for dimension in ("guest_events", "guest_requests", "requests_around_one")}

# No input may have 16 N, or a limit of what is reported takes effect below it: no larger pair decides. The factor.
AT_LIMIT = {"types": 8, "osv_same_names": 8, "vms_equal": FACTOR}


class Cost:
    def __init__(self, seconds, kib, status):
        self.seconds, self.kib, self.status = float(seconds), int(kib), int(status)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def run(call, trace, guest, work):
    out = f"{work}/out-{threading.get_ident()}"
    words = call.split()
    words += [] if {"FILE", "TEXT"} & set(words) else ["FILE"]
    words = [{"FILE": trace, "TEXT": re.sub(r"\.hrt$", ".txt", trace), "OUT": out}.get(word, word) for word in words]
    words += ["--guest", guest, "--clock", "0"] if guest else []
    remove(out)
    if not hasattr(of_thread, "launcher"):
        of_thread.launcher = subprocess.Popen([sys.executable, "-I", "-S", "-c", LAUNCHER], stdin=subprocess.PIPE,
                                              stdout=subprocess.PIPE, text=True, cwd=work)
    of_thread.launcher.stdin.write("\0".join([hostrace, *words]) + "\n")
    of_thread.launcher.stdin.flush()
    return Cost(*of_thread.launcher.stdout.readline().split())


def calls():
    """Of all commands that read a trace, as the program lists them."""
    def print_help(*words):
        return subprocess.run([hostrace, *words, "--help"], capture_output=True, text=True, check=True).stdout

    for command in re.findall(r"^  ([a-z][a-z-]*) ", print_help(), re.M):
        if "--input FILE" in print_help(command):
            yield from CALLS.get(command, [command])


def write_lines(path, lines):
    with open(path, "w") as f:
        f.writelines(line + "\n" for line in lines)
    return path


def write_traces(work, name, n):
    """The trace, imported from the text form, and the guest's own or None; of OSv and tracefs, that file itself."""
    path, tracefs = f"{work}/{name}-{n}", ["# tracer: nop", "#"]
    if name in osv.traces:
        osv.write(path + ".tracefile", name, n)
        return path + ".tracefile", None
    if name in dimensions.of_tracefs:
        return write_lines(path + ".txt", [*tracefs, *dimensions.of_tracefs[name][1](n)]), None
    text = write_lines(path + ".txt", ["# hostrace text 1", *dimensions.dimensions[name][1](n)])
    subprocess.run([hostrace, "import", "-q", text, "-o", path + ".hrt"], check=True)
    if name not in dimensions.guests:
        return path + ".hrt", None
    return path + ".hrt", write_lines(path + ".guest", [*tracefs, *dimensions.guests[name](n)])


class Result:
    def __init__(self, call, dimension, start):
        self.call, self.dimension, self.start = call, dimension, start
        self.small = self.large = None

    def measure(self, traces, work):
        """Both, again and again if they differ too much: the least counts."""
        for nr in range(TRIES):
            self.large = self.least(self.large, run(self.call, *traces[1], work))
            if self.large.seconds - self.start.seconds < max(SMALL_S, 2 * self.start.seconds):
                self.small = None  # an earlier try was of no use
                return self
            self.small = self.least(self.small, run(self.call, *traces[0], work))
            if self.factor() <= FACTOR or self.large.status < 0 or (nr and self.factor() > 2 * FACTOR):
                return self
        return self

    @staticmethod
    def least(a, b):
        return a if a and a.seconds < b.seconds else b

    def factor(self):
        """A start varies by half of itself where the machine does other work."""
        small = max(self.small.seconds - self.start.seconds, self.start.seconds / 2, 0.001)
        return (self.large.seconds - self.start.seconds) / small

    def is_suspect(self):
        factor = AT_LIMIT.get(self.dimension, FACTOR)
        return bool(self.small) and self.large.status >= 0 and self.factor() > factor

    def faults(self):
        kib = self.large.kib - self.start.kib
        if (self.call.split()[0], self.dimension) in EXEMPT:
            return
        if self.large.status < 0:
            yield f"ended by signal {-self.large.status} after {self.large.seconds:.1f} s"
        elif self.large.status == 2:
            yield "wrong usage: CALLS needs an entry"
        elif self.is_suspect():
            yield f"{self.factor():.1f} times the time: {self.small.seconds:.2f} and {self.large.seconds:.2f} s"
        if kib >> 10 > memory_mib(self.call):
            yield f"{kib // 1024} MiB of memory"

    def row(self):
        return self.factor(), f"{self.call} {self.factor():.1f} ({self.large.seconds - self.start.seconds:.2f} s)"


def measure(name, n, starts, pool, work):
    def results_of(calls, traces):
        return list(pool.map(lambda call: Result(call, name, starts[call]).measure(traces, work), calls))

    traces = write_traces(work, name, n), write_traces(work, name, 4 * n)
    results = results_of(starts, traces)
    suspects = [result.call for result in results if result.is_suspect()]
    if suspects and name not in AT_LIMIT:
        judged = results_of(suspects, (traces[1], write_traces(work, name, 16 * n)))
        results = [result for result in results if result.call not in suspects] + judged
    for path in pathlib.Path(work).glob(name + "-*"):
        path.unlink()
    return results


def measure_memory(name, starts, pool, work):
    path = write_traces(work, name, dimensions.memory[name])[0]
    used = [call for call in starts if memory_mib(call) < sys.maxsize]
    forms = used + [call + " TEXT" for call in used if call in TEXT_CALLS]
    costs = pool.map(lambda call: run(call, path, None, work), forms)
    kib = {call: cost.kib - starts[call.removesuffix(" TEXT")].kib for call, cost in zip(forms, costs)}
    remove(path)
    return [f"{call}: {n // 1024} MiB of memory" for call, n in kib.items()
            if n >> 10 > MEMORY_OF.get((call, name), memory_mib(call)) + ORDER_MIB * call.endswith(" TEXT")]


def least_start(call, trace, work):
    return min((run(call, trace, None, work) for _ in range(3)), key=lambda cost: cost.seconds)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("dimension", nargs="*")
    args = parser.parse_args()
    known = dimensions.dimensions | dimensions.of_tracefs | osv.traces
    names = args.dimension or list(known)
    failed = 0
    with tempfile.TemporaryDirectory() as work, concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        pathlib.Path(work, "start.txt").write_text("\n".join(["# hostrace text 1", *dimensions.few_events(), ""]))
        chosen = [call for call in calls() if call.startswith(args.only)]
        starts = dict(zip(chosen, pool.map(lambda call: least_start(call, f"{work}/start.txt", work), chosen)))
        for nr, name in enumerate(names, 1):
            n = known[name][0]
            results = measure(name, n, starts, pool, work)
            faults = [f"{result.call}: {fault}" for result in results for fault in result.faults()]
            failed += bool(faults)
            print("not ok" if faults else "ok", f"{nr} - {name}: {n} and {4 * n}", flush=True)
            print("".join(f"# {fault}\n" for fault in faults), end="", flush=True)
            if args.table:
                worst = sorted((result.row() for result in results if result.small), reverse=True)[:3]
                print(f"# | {name} | {n} | {4 * n} | {', '.join(text for _, text in worst)} |", flush=True)
        large = [name for name in names if name in dimensions.memory]
        for nr, name in enumerate(large, len(names) + 1):
            faults = measure_memory(name, starts, pool, work)
            failed += bool(faults)
            print("not ok" if faults else "ok", f"{nr} - memory of {name}: {dimensions.memory[name]}", flush=True)
            print("".join(f"# {fault}\n" for fault in faults), end="", flush=True)
    print(f"1..{len(names) + len(large)}")
    raise SystemExit(failed > 0)


main()
