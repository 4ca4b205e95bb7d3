#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Compares the two recordings that the arm64 rig prints, and what is known of its guest, as TAP: compare.py CONSOLE HOSTRACE DIR."""
import base64
import collections
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys

KNOWN = {m[1]: int(m[2], 0) for m in re.finditer(r"#define (\w+)\s+(0x[0-9a-f]+|\d+)",
                                                open(os.path.join(os.path.dirname(__file__), "guest.h")).read())}
results = []


def check(name, have, want):
    results.append(have == want)
    print("%s %d - %s" % ("ok" if results[-1] else "not ok", len(results), name))
    if not results[-1]:
        print("# have %s\n# want %s" % (str(have)[:400], str(want)[:400]))


def sections(console):
    found, name, sums = collections.defaultdict(list), None, []
    for line in console.splitlines():
        line = line.strip("\r")
        if line.startswith("@sum "):
            sums.append(line.split(" ", 2)[1:])
        elif line.startswith("@begin "):
            name = line.split()[1]
        elif line == "@end":
            name = None
        elif name:
            found[name].append(line)
    return found, sums


def main():
    console, hostrace, work = sys.argv[1:]
    found, sums = sections(open(console, errors="replace").read())
    os.chdir(work)
    if not found["recording"]:
        print("Bail out! no recording\n# " + "\n# ".join(found["record"][:20]))
        return 1
    for name, section in (("arm64.hrt", "recording"), ("more.hrt", "more-recording")):
        open(name, "wb").write(base64.b64decode("".join(found[section])))
    tracefs = gzip.decompress(base64.b64decode("".join(found["tracefs"]))).decode()
    open("tracefs.txt", "w").write(tracefs)

    def run(*words):
        return subprocess.run([hostrace, "--no-pager", *words], capture_output=True, env=dict(os.environ, TZ="UTC", LC_ALL="C", TERM="dumb"))

    def rows(*words):
        return json.loads(run(*words, "-f", "json").stdout)["rows"]

    events = rows("list", "arm64.hrt")
    ours, theirs = collections.Counter(e["event"] for e in events), collections.Counter(re.findall(r" (kvm_\w+): ", tracefs))
    for event in ("kvm_exit", "kvm_entry", "kvm_mmio", "kvm_userspace_exit"):
        check("%s: as many as tracefs" % event, ours[event], theirs[event])
    check("as many entries as exits", ours["kvm_entry"], ours["kvm_exit"])
    reasons = [e["fields"]["reason"] for e in events if e["event"] == "kvm_exit"]
    check("reasons of exits, one by one, are tracefs's", reasons,
          [trap or ret for ret, trap in re.findall(r" kvm_exit: (?:(IRQ|EL1_SERROR|IL)|TRAP: HSR_EC: 0x\w+ \((\w+)\))", tracefs)])
    exits = {r["reason"]: r["count"] for r in rows("exits", "arm64.hrt")}
    stores = KNOWN["STORES"] + KNOWN["READINGS"]
    check("exits: data aborts", exits.get("DABT_LOW"), stores + KNOWN["LOADS"])
    check("exits: ID registers", exits.get("SYS64"), KNOWN["ID_READS"])
    check("exits: hypervisor calls, but for the last, after which there is no entry", exits.get("HVC64"), KNOWN["CALLS"])
    check("KVM_RUN: as many as exits to user space", ours["kvm_run"], ours["kvm_userspace_exit"])
    mmio = {(int(r["addr"], 0), r["dir"]): r["count"] for r in rows("mmio", "arm64.hrt")}
    check("mmio: each address", mmio, {(KNOWN["DEVICE"], "out"): KNOWN["STORES"], (KNOWN["DEVICE"], "in"): KNOWN["LOADS"],
                                       (KNOWN["COUNTER"], "out"): KNOWN["READINGS"]})
    clock_check(events)
    more_check(found)
    for digest, words in sums:
        out = run(*words.split())
        check("'%s' prints there what it prints here" % words, digest, hashlib.md5(out.stdout + out.stderr).hexdigest())
    print("1..%d" % len(results))
    return not all(results)


def more_check(found):
    """System calls, an event that is arm64's own, and a function of the kernel."""
    def rows(name):
        try:
            return json.loads("\n".join(found[name]))["rows"]
        except ValueError:
            print("# " + "\n# ".join(found["more"] + found[name]))
            return []
    calls = {r["syscall"]: r["count"] for r in rows("syscalls")}
    check("syscalls: KVM_RUN", calls.get("ioctl(KVM_RUN)"), KNOWN["STORES"] + KNOWN["LOADS"] + KNOWN["READINGS"] + 1)
    for name, what, want in (("hvc", "kvm:kvm_hvc_arm64", KNOWN["CALLS"] + 1), ("sysreg", "kprobe:kvm_handle_sys_reg", KNOWN["ID_READS"])):
        check("record -e %s" % what, [r["count"] for r in rows(name)], [want])


def clock_check(events):
    """The guest stores its counter: was it read between the entry before and the exit that the store caused?"""
    pairs = [(e["fields"]["tsc"], e["time_ns"]) for e in events if e["event"] == "clock_pair"]
    offset = [e["fields"]["offset"] for e in events if e["event"] == "vcpu_tsc"][-1]
    (tsc0, ns0), (tsc1, ns1) = pairs[0], pairs[-1]
    tick_ns = (ns1 - ns0) / (tsc1 - tsc0)
    bound_ns = 2 * tick_ns + max(e["fields"]["bracket"] for e in events if e["event"] == "clock_pair") * tick_ns
    entry = left = 0
    inside = readings = 0
    for e in events:
        if e["event"] == "kvm_entry":
            entry = e["time_ns"]
        elif e["event"] == "kvm_exit":
            left = e["time_ns"]
        elif e["event"] == "kvm_mmio" and int(e["fields"]["gpa"], 0) == KNOWN["COUNTER"]:
            value = int(str(e["fields"]["val"]), 0) - offset
            at_ns = ns0 + (value - tsc0) * tick_ns
            readings += 1
            inside += entry - bound_ns <= at_ns <= left + bound_ns
    check("the guest's counter, converted to host time, lies in guest mode (bound %.0f ns)" % bound_ns, [inside, readings],
          [KNOWN["READINGS"]] * 2)


if __name__ == "__main__":
    sys.exit(main())
