#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes traces as Perfetto's service does, from the public numbers of its fields: the inputs of tests/cases/perfetto.

usage: perfetto.py DIRECTORY

plain.pftrace    two vCPUs on an arm64 host: events as messages
compact.pftrace  the same; task switches and wakeups as compact_sched, packets compressed with zlib and zstd
x86.pftrace      KVM's events of x86-64: kvm_exit without fields, others generic, or described by the trace
lost.pftrace     plain, with a bundle after a loss on CPU 1 and a packet that was dropped before one of CPU 0
long.pftrace     an event with a long text, after which the file is cut
host.txt         the events of plain as tracefs prints them
"""
import os
import subprocess
import sys
import zlib

BOOT = 7_000_000_000  # CLOCK_BOOTTIME - CLOCK_MONOTONIC
REAL = 1_764_115_200_000_000_000


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def message(*fields):
    return b"".join(field(n, v) for n, v in fields if v is not None)


SWITCH = {"prev_comm": 1, "prev_pid": 2, "prev_prio": 3, "prev_state": 4, "next_comm": 5, "next_pid": 6, "next_prio": 7}
WAKE = {"comm": 1, "pid": 2, "prio": 3, "target_cpu": 5}
EVENTS = {  # the number in FtraceEvent, and those of the fields
    "sched_switch": (4, SWITCH),
    "sched_waking": (20, WAKE),
    "softirq_raise": (26, {"vec": 1}),
    "irq_handler_entry": (36, {"irq": 1, "name": 2}),
    "irq_handler_exit": (37, {"irq": 1, "ret": 2}),
    "kvm_entry": (376, {"vcpu_pc": 1}),
    "kvm_exit": (377, {"esr_ec": 1, "ret": 2, "vcpu_pc": 3}),
    "kvm_mmio": (384, {"gpa": 1, "len": 2, "type": 3, "val": 4}),
    "kvm_set_irq": (387, {"gsi": 1, "irq_source_id": 2, "level": 3}),
    "kvm_userspace_exit": (399, {"reason": 1}),
    "kvm_vcpu_wakeup": (400, {"ns": 1, "valid": 2, "waited": 3}),
}
STATES = {0: "R", 1: "S", 2: "D"}
TEXT = {
    "sched_switch": lambda f: "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d"
    % (f["prev_comm"], f["prev_pid"], f["prev_prio"], STATES[f["prev_state"]], f["next_comm"], f["next_pid"], f["next_prio"]),
    "sched_waking": lambda f: "comm=%(comm)s pid=%(pid)d prio=%(prio)d target_cpu=%(target_cpu)03d" % f,
    "softirq_raise": lambda f: "vec=%(vec)d [action=TIMER]" % f,
    "irq_handler_entry": lambda f: "irq=%(irq)d name=%(name)s" % f,
    "irq_handler_exit": lambda f: "irq=%d ret=%s" % (f["irq"], "handled" if f["ret"] else "unhandled"),
    "kvm_entry": lambda f: "PC: 0x%(vcpu_pc)016x" % f,
    "kvm_exit": lambda f: "TRAP: HSR_EC: 0x%04x (%s), PC: 0x%016x"
    % (f["esr_ec"], {0x24: "DABT_LOW", 0x01: "WFx"}[f["esr_ec"]], f["vcpu_pc"]),
    "kvm_mmio": lambda f: "mmio %s len %d gpa 0x%x val 0x%x" % (["", "read", "write"][f["type"]], f["len"], f["gpa"], f["val"]),
    "kvm_set_irq": lambda f: "gsi %(gsi)d level %(level)d source %(irq_source_id)d" % f,
    "kvm_userspace_exit": lambda f: "reason KVM_EXIT_MMIO (6)",
    "kvm_vcpu_wakeup": lambda f: "%s time %d ns, polling %s"
    % ("wait" if f["waited"] else "poll", f["ns"], "valid" if f["valid"] else "invalid"),
}
NAMES = {4001: "CPU 0/KVM", 4002: "CPU 1/KVM", 900: "kworker/0:2", 0: "swapper/0"}


def scenario():
    """(time of CLOCK_BOOTTIME, cpu, tid, event, fields), of each CPU in order."""
    out = []
    for cpu, tid in ((0, 4001), (1, 4002)):
        t = 100_000_000_000 + BOOT + cpu * 137
        pc = 0xFFFF800010081000 + cpu * 0x40

        def put(delta, who, event, **f):
            nonlocal t
            t += delta
            out.append((t, cpu, who, event, f))

        def switch(delta, prev, nxt, state):
            put(delta, prev, "sched_switch", prev_comm=NAMES[prev] if prev else "swapper/%d" % cpu, prev_pid=prev,
                prev_prio=120, prev_state=state, next_comm=NAMES[nxt] if nxt else "swapper/%d" % cpu, next_pid=nxt,
                next_prio=120)

        for i in range(12):
            put(1000, tid, "kvm_entry", vcpu_pc=pc + 4 * i)
            put(20_000, tid, "kvm_exit", esr_ec=0x24, ret=2, vcpu_pc=pc + 4 * i)
            put(500, tid, "kvm_mmio", gpa=0x0A000E50, len=4, type=2, val=i)
            if i % 3 == 0:
                put(300, tid, "kvm_userspace_exit", reason=6)
                put(200, tid, "kvm_set_irq", gsi=0x22, irq_source_id=0, level=1)
            put(700, tid, "kvm_entry", vcpu_pc=pc + 4 * i + 4)
            put(9_000, tid, "kvm_exit", esr_ec=0x01, ret=2, vcpu_pc=pc + 4 * i + 4)
            switch(1500, tid, 0, 1)
            put(50_000, 0, "irq_handler_entry", irq=30, name="arch_timer")
            put(900, 0, "softirq_raise", vec=1)
            put(400, 0, "sched_waking", comm=NAMES[tid], pid=tid, prio=120, target_cpu=cpu)
            put(300, 0, "irq_handler_exit", irq=30, ret=1)
            switch(2000, 0, 900, 0)
            switch(7000, 900, tid, 2)
            put(600, tid, "kvm_vcpu_wakeup", ns=62_000, valid=1, waited=1)
    return out


def event(e):
    t, _, tid, name, f = e
    number, numbers = EVENTS[name]
    return field(2, message((1, t), (2, tid), (number, message(*((numbers[k], f[k]) for k in numbers)))))


def packed(numbers):
    return b"".join(varint(n) for n in numbers)


def deltas(times):
    return [b - a for a, b in zip([0] + times, times)]


def compact(events):
    """A bundle's switches and wakeups as compact_sched."""
    switches = [e for e in events if e[3] == "sched_switch"]
    wakings = [e for e in events if e[3] == "sched_waking"]
    names = sorted({e[4]["next_comm"] for e in switches} | {e[4]["comm"] for e in wakings})
    if not switches and not wakings:
        return b""
    return field(4, message(
        (1, packed(deltas([e[0] for e in switches]))), (2, packed(e[4]["prev_state"] for e in switches)),
        (3, packed(e[4]["next_pid"] for e in switches)), (4, packed(e[4]["next_prio"] for e in switches)),
        *((5, n) for n in names),
        (6, packed(names.index(e[4]["next_comm"]) for e in switches)),
        (7, packed(deltas([e[0] for e in wakings]))), (8, packed(e[4]["pid"] for e in wakings)),
        (9, packed(e[4]["target_cpu"] for e in wakings)), (10, packed(e[4]["prio"] for e in wakings)),
        (11, packed(names.index(e[4]["comm"]) for e in wakings))))


def bundle(cpu, events, dense=False, lost=None, extra=b""):
    body = message((1, cpu), (3, lost))
    if dense:
        body += b"".join(event(e) for e in events if e[3] not in ("sched_switch", "sched_waking")) + compact(events)
    else:
        body += b"".join(event(e) for e in events)
    return body + extra


def packet(*fields, sequence=2, dropped=None):
    return field(1, message(*fields, (10, sequence), (42, dropped)))


def head():
    clocks = [(6, BOOT + 99_000_000_000), (3, 99_000_000_000), (1, REAL)]
    snapshot = message(*((1, message((1, c), (2, t))) for c, t in clocks), (2, 6))
    tree = message((1, message((1, 4000), (2, 1), (3, "qemu-system-aarch64"))),
                   *((2, message((1, t), (2, NAMES[t]), (3, 4000))) for t in (4001, 4002)))
    return (packet((6, snapshot), (3, 0), sequence=1, dropped=1) + packet((89, message((1, 77))), sequence=1)
            + packet((2, tree), sequence=3, dropped=1))


def parts(events, nr=3):
    """The CPUs' events in `nr` bundles each, as the reader of ftrace's pages takes turns."""
    out = []
    for i in range(nr):
        for cpu in (0, 1):
            own = [e for e in events if e[1] == cpu]
            out.append((cpu, own[len(own) * i // nr:len(own) * (i + 1) // nr]))
    return out


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def x86():
    """kvm_exit as Perfetto records it on x86-64; kvm_pio generic; kvm_msr and kvm_inj_virq described (Perfetto 50)."""
    u64, u32, b = 4, 13, 8
    described = [
        (65536, "kvm_msr", [("write", 1, u32), ("ecx", 2, u32), ("data", 3, u64), ("exception", 4, b)]),
        (65537, "kvm_inj_virq", [("vector", 1, u32), ("soft", 2, b), ("reinjected", 3, b)]),
    ]
    extra = b"".join(field(11, message((1, n), (3, "kvm"), (2, message(
        (1, name), *((2, message((1, f), (3, k), (4, 1), (5, t))) for f, k, t in fields)))))
        for n, name, fields in described)
    generic = lambda event, **f: message((1, event), *((2, message((1, k), (5, v))) for k, v in f.items()))
    rows = []
    t = 50_000_000_000 + BOOT
    for i in range(10):
        rows.append((t, 376, b""))
        rows.append((t + 4_000, 377, b""))
        if i % 2:
            rows.append((t + 4_500, 327, generic("kvm_pio", rw=1, port=0x608, size=4, count=1, val=0)))
            rows.append((t + 5_000, 399, message((1, 2))))
        else:
            rows.append((t + 4_500, 65536, message((1, 1), (2, 0x6E0), (3, 0x1122334455), (4, 0))))
        rows.append((t + 9_000, 65537, message((1, 236), (2, 0), (3, 0))))
        t += 10_000
    rows.append((t, 999, b"\x08\x01"))  # of no event that is known
    body = b"".join(field(2, message((1, time), (2, 4001), (number, m))) for time, number, m in rows)
    return head() + packet((1, message((1, 3)) + extra + body), dropped=1)


def main():
    folder = sys.argv[1]
    events = scenario()
    plain = head()
    dense = []
    lost = head()
    for i, (cpu, own) in enumerate(parts(events)):
        plain += packet((1, bundle(cpu, own)), dropped=1 if i == 0 else None)
        dense.append(packet((1, bundle(cpu, own, dense=True)), dropped=1 if i == 0 else None))
        lost += packet((1, bundle(cpu, own, lost=1 if i == 3 else None)), dropped=1 if i in (0, 4) else None)
    stats = lambda phase, n: packet((34, message((1, phase), (2, message((1, 1), (3, n))))), sequence=2)
    lost = lost + stats(1, 5) + stats(2, 48)
    compressed = packet((50, zlib.compress(b"".join(dense[:3]), 9)), sequence=1)
    compressed += packet((133, zstd(b"".join(dense[3:]))), sequence=1)
    # the last event has a text longer than a line, and is followed by a packet that is cut
    text = message((1, "kvm_odd"), (2, message((1, "text"), (3, "x" * 40_000))))
    long = bundle(0, [], extra=field(2, message((1, events[-1][0]), (2, 4001), (327, text))))
    long = head() + packet((1, bundle(0, events[:20]))) + packet((1, long)) + packet((1, bundle(0, events[:9])))[:20]
    files = {"long": long, "plain": plain, "compact": head() + compressed, "x86": x86(), "lost": lost}
    for name, data in files.items():
        with open(os.path.join(folder, name + ".pftrace"), "wb") as f:
            f.write(data)
    with open(os.path.join(folder, "host.txt"), "w") as f:
        f.write("# tracer: nop\n#\n")
        for e in sorted(events, key=lambda e: e[:2]):
            t, cpu, tid, name, fields = e
            t -= BOOT
            who = "%16s-%-7d (%7s)" % (NAMES[tid] if tid else "<idle>", tid, 4000 if tid in (4001, 4002) else "-------")
            f.write("%s [%03d] d..1. %5d.%09d: %s: %s\n" % (who, cpu, t // 10**9, t % 10**9, name, TEXT[name](fields)))


main()
