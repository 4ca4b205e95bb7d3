#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes a kernel's trace as LTTng 2.13 does, of two vCPUs: the inputs of tests/cases/ctf.

usage: ctf.py DIRECTORY [be|perf]

The metadata has the declarations that lttng-modules prints; in "be" it is in packets, and all is big-endian. Stream
channel0_1 has discarded 5 events at the end of its first packet, and packet 3 of channel0_0 was overwritten.

"perf": as perf data convert --to-ctf writes it, of two vCPUs that share a CPU.
"""
import os
import struct
import sys

HEAD = """/* CTF 1.8 */

typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = false; } := unsigned long;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
typealias integer { size = 27; align = 1; signed = false; } := uint27_t;

trace {
	major = 1;
	minor = 8;
	uuid = "6f0a7a52-97c5-4e0c-8b9e-3c5c0d6f2a11";
	byte_order = ORDER;
	packet.header := struct {
		uint32_t magic;
		uint8_t  uuid[16];
		uint32_t stream_id;
		uint64_t stream_instance_id;
	};
};

env {
	hostname = "kvm1";
	domain = "kernel";
	sysname = "Linux";
	tracer_name = "lttng-modules";
	tracer_major = 2;
	tracer_minor = 13;
};

clock {
	name = "monotonic";
	uuid = "0a8f4d3e-6a43-4b86-9e0b-0a7f0d6b4c21";
	description = "Monotonic Clock";
	freq = 1000000000; /* Frequency, in Hz */
	/* clock value offset from Epoch is: offset * (1/freq) */
	offset = 1764115200000000000;
};

typealias integer {
	size = 27; align = 1; signed = false;
	map = clock.monotonic.value;
} := uint27_clock_monotonic_t;

typealias integer {
	size = 32; align = 8; signed = false;
	map = clock.monotonic.value;
} := uint32_clock_monotonic_t;

typealias integer {
	size = 64; align = 8; signed = false;
	map = clock.monotonic.value;
} := uint64_clock_monotonic_t;

struct packet_context {
	uint64_clock_monotonic_t timestamp_begin;
	uint64_clock_monotonic_t timestamp_end;
	uint64_t content_size;
	uint64_t packet_size;
	uint64_t packet_seq_num;
	unsigned long events_discarded;
	uint32_t cpu_id;
};

struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct {
			uint27_clock_monotonic_t timestamp;
		} compact;
		struct {
			uint32_t id;
			uint64_clock_monotonic_t timestamp;
		} extended;
	} v;
} align(8);

stream {
	id = 0;
	event.header := struct event_header_compact;
	packet.context := struct packet_context;
	event.context := struct {
		integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _tid;
		integer { size = 32; align = 8; signed = 1; encoding = none; base = 10; } _pid;
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; base = 10; } _procname[17];
	};
};
"""

# Name, id, fields: integer of so many bits (negative: signed), "text16", "text" (with its NUL), "bytes15", or a task's
# state, an enumeration in a structure.
EVENTS = {
    "kvm_x86_entry": (1, [("vcpu_id", 32)]),
    "kvm_x86_exit": (2, [("exit_reason", 32), ("guest_rip", 64), ("isa", 32), ("info1", 64), ("info2", 64),
                         ("intr_info", 32), ("error_code", 32), ("vcpu_id", 32)]),
    "kvm_userspace_exit": (3, [("reason", 32), ("errno", -32)]),
    "kvm_x86_pio": (4, [("rw", 32), ("port", 32), ("size", 32), ("count", 32)]),
    "kvm_x86_emulate_insn": (5, [("rip", 64), ("csbase", 32), ("len", 8), ("insn", "bytes15"), ("flags", 8),
                                 ("failed", 8)]),
    "sched_switch": (6, [("prev_comm", "text16"), ("prev_tid", -32), ("prev_prio", -32), ("prev_state", "state"),
                         ("next_comm", "text16"), ("next_tid", -32), ("next_prio", -32)]),
    "sched_waking": (7, [("comm", "text16"), ("tid", -32), ("prio", -32), ("target_cpu", -32)]),
    "kvm_x86_msr": (300, [("write", 32), ("ecx", 32), ("data", 64), ("exception", 8)]),
    "syscall_entry_openat": (301, [("dfd", -32), ("filename", "text"), ("flags", -32), ("mode", 16)]),
}
INTEGER = "integer { size = %d; align = 8; signed = %d; encoding = none; base = 10; } _%s;"
STATE = """enum : integer { size = 64; align = 8; signed = 1; encoding = none; base = 10; } {
			"TASK_RUNNING" = 0,
			"TASK_INTERRUPTIBLE" = 1,
			"TASK_UNINTERRUPTIBLE" = 2,
			"TASK_NOLOAD" = 1024,
		} _%s;"""


def declare(name, kind):
    if isinstance(kind, int):
        return INTEGER % (abs(kind), kind < 0, name)
    if kind == "text":
        return "string _%s;" % name
    if kind == "state":
        return STATE % name
    if kind == "bytes15":
        return INTEGER % (8, 0, name + "[15]")
    return INTEGER.replace("none", "UTF8") % (8, 1, name + "[16]")


def metadata(order):
    text = HEAD.replace("ORDER", order)
    for name, (number, fields) in EVENTS.items():
        lines = "".join("\t\t%s\n" % declare(*f) for f in fields)
        text += 'event {\n\tname = "%s";\n\tid = %d;\n\tstream_id = 0;\n\tfields := struct {\n%s\t};\n};\n\n' % (
            name, number, lines)
    return text.encode()


class Writer:
    def __init__(self, order):
        self.e = "<" if order == "le" else ">"

    def number(self, bits, value):
        return struct.pack(self.e + {8: "B", 16: "H", 32: "I", 64: "Q"}[abs(bits)], value % (1 << abs(bits)))

    def head(self, number, time):
        if number >= 31:  # id 31: the real one and the whole time follow, after padding to a byte
            first = 31 if self.e == "<" else 31 << 3
            return bytes([first]) + self.number(32, number) + self.number(64, time)
        time %= 1 << 27
        return self.number(32, number | time << 5 if self.e == "<" else number << 27 | time)

    def field(self, kind, value):
        if kind == "state":
            return self.number(64, value)
        if isinstance(kind, int):
            return self.number(kind, value)
        if kind == "text":
            return value.encode() + b"\0"
        if kind == "bytes15":
            return value.ljust(15, b"\0")
        return value.encode().ljust(16, b"\0")

    def event(self, ev):
        time, (tid, pid, comm), name, values = ev
        number, fields = EVENTS[name]
        out = self.head(number, time) + self.number(32, tid) + self.number(32, pid)
        out += comm.encode().ljust(17, b"\0")
        return out + b"".join(self.field(k, v) for (_, k), v in zip(fields, values))

    def packet(self, cpu, seq, discarded, events, end):
        body = b"".join(self.event(ev) for ev in events)
        content = 4 + 16 + 4 + 8 + 6 * 8 + 4 + len(body)
        size = (content + 255) // 256 * 256
        head = self.number(32, 0xC1FC1FC1) + bytes.fromhex("6f0a7a5297c54e0c8b9e3c5c0d6f2a11")
        head += self.number(32, 0) + self.number(64, cpu)
        for v in (events[0][0] if events else end, end, 8 * content, 8 * size, seq, discarded):
            head += self.number(64, v)
        return (head + self.number(32, cpu) + body).ljust(size, b"\0")

    def metadata_packets(self, text):
        out = b""
        for at in range(0, len(text), 4096 - 37):
            part = text[at:at + 4096 - 37]
            head = self.number(32, 0x75D11D57) + bytes.fromhex("6f0a7a5297c54e0c8b9e3c5c0d6f2a11")
            head += self.number(32, 0) + self.number(32, 8 * (37 + len(part))) + self.number(32, 8 * 4096)
            out += (head + bytes([0, 0, 0, 1, 8]) + part).ljust(4096, b"\0")
        return out


V0, V1, MAIN, IDLE = (4001, 4000, "CPU 0/KVM"), (4002, 4000, "CPU 1/KVM"), (4000, 4000, "qemu-system-x86"), (
    0, 0, "swapper/1")
MS = 1000000
T = 200 * 1000 * MS  # beyond 27 bits


def exit_of(time, who, reason, vcpu, info1=0):
    return (time, who, "kvm_x86_exit", [reason, 0xFFFFFFFF81027000 + reason, 1, info1, 0, 0, 0, vcpu])


def entry(time, who, vcpu):
    return (time, who, "kvm_x86_entry", [vcpu])


def scenario():
    """Packets: CPU, seq, discarded, events, end."""
    zero, one = [], []
    for i in range(23):
        t = T + i * MS
        zero += [exit_of(t, V0, 30, 0, 0x3F80000), (t + 1000, V0, "kvm_x86_pio", [1, 0x3F8, 1, 1]),
                 (t + 2000, V0, "kvm_userspace_exit", [2, 0]), entry(t + 17000, V0, 0)]
    for i in range(17):
        t = T + i * MS + 500
        one += [exit_of(t, V1, 32, 1), (t + 300, V1, "kvm_x86_msr", [1, 0x6E0, 0x1234567 + i, 0]),
                entry(t + 3000, V1, 1)]
    t = T + 17 * MS
    one += [exit_of(t, V1, 12, 1),
            (t + 2000, V1, "sched_switch", ["CPU 1/KVM", 4002, 20, 1, "swapper/1", 0, 20]),
            (t + 900000, IDLE, "sched_switch", ["swapper/1", 0, 20, 0, "CPU 1/KVM", 4002, 20]),
            entry(t + 903000, V1, 1)]
    zero += [(t + 880000 + 6 * MS, MAIN, "sched_waking", ["CPU 1/KVM", 4002, 20, 1]),
             (t + 881000 + 6 * MS, MAIN, "syscall_entry_openat", [-100, "/dev/kvm \n[001]", 2, 0]),
             (t + 882000 + 6 * MS, V0, "kvm_x86_emulate_insn", [0xFFF0, 0xF0000, 3, b"\x0f\x20\xc1", 0, 0])]
    half = 4 * 11
    return [(0, 0, 0, zero[:half], T + 11 * MS), (0, 1, 0, zero[half:half + 24], T + 17 * MS),
            (0, 3, 0, zero[half + 24:], T + 30 * MS),
            (1, 0, 5, one[:24], T + 8 * MS), (1, 1, 5, one[24:], T + 30 * MS), (1, 2, 5, [], T + 31 * MS)]


PERF_HEAD = """/* CTF 1.8 */

trace {
	major = 1;
	minor = 8;
	uuid = "6f0a7a52-97c5-4e0c-8b9e-3c5c0d6f2a11";
	byte_order = le;
	packet.header := struct {
		integer { size = 32; align = 8; signed = false; } magic;
		integer { size = 8; align = 8; signed = false; } uuid[16];
		integer { size = 32; align = 8; signed = false; } stream_id;
	} align(8);
};

env {
	host = "kvm1";
	domain = "kernel";
	tracer_name = "perf";
};

clock {
	name = perf_clock;
	freq = 1000000000;
	absolute = FALSE;
};

stream {
	id = 0;
	event.header := struct {
		integer { size = 32; align = 8; signed = false; } id;
		integer { size = 64; align = 8; signed = false; map = clock.perf_clock.value; } timestamp;
	} align(8);

	packet.context := struct {
		integer { size = 64; align = 8; signed = false; } content_size;
		integer { size = 64; align = 8; signed = false; } packet_size;
		integer { size = 32; align = 1; signed = false; } cpu_id;
	} align(8);
};

"""
PERF_SAMPLE = [("perf_ip", 64), ("perf_tid", -32), ("perf_pid", -32), ("perf_id", 64), ("perf_period", 64),
               ("common_type", 32), ("common_flags", 32), ("common_preempt_count", 32), ("common_pid", -32)]
PERF_EVENTS = {
    "kvm:kvm_exit": [("exit_reason", 32), ("guest_rip", 64), ("isa", 32), ("info1", 64), ("info2", 64),
                     ("intr_info", 32), ("error_code", 32), ("vcpu_id", 32), ("requests", 64)],
    "kvm:kvm_entry:H": [("vcpu_id", 32), ("rip", 64), ("immediate_exit", 32), ("intr_info", 32),
                        ("error_code", 32)],
    "sched:sched_waking": [("comm", "text"), ("pid", -32), ("prio", -32), ("target_cpu", -32)],
    "net:netif_rx": [("len", 32), ("name", "text")],
}


def perf_metadata():
    text = PERF_HEAD
    for number, (name, fields) in enumerate(PERF_EVENTS.items()):
        lines = "".join(
            "\t\tstring %s;\n" % field if bits == "text" else
            "\t\tinteger { size = %d; align = 1; signed = %s; } %s;\n" % (
                abs(bits), "true" if bits < 0 else "false", field)
            for field, bits in PERF_SAMPLE + fields)
        text += 'event {\n\tid = %d;\n\tname = "%s";\n\tstream_id = 0;\n\tfields := struct {\n%s\t} align(1);\n};\n\n' % (
            number, name, lines)
    return text.encode()


def perf_event(writer, time, tid, name, values):
    number = list(PERF_EVENTS).index(name)
    perf_tid = -1 if name == "net:netif_rx" else tid  # as of a thread that has exited
    sample = [0xFFFFFFFF8129D595, perf_tid, -1 if perf_tid < 0 else 4000, 85870, 1, 110 + number, 0, 1, tid]
    return writer.number(32, number) + writer.number(64, time) + b"".join(
        writer.field(kind, v) for (_, kind), v in zip(PERF_SAMPLE + PERF_EVENTS[name], sample + values))


def perf_stream(writer):
    """vCPU 0 is halted for 5 ms, in which vCPU 1 has an exit of 4 us on the same CPU."""
    body = b""
    for i in range(5):
        t = T + i * 6 * MS
        for at, tid, reason, what in ((0, 4001, 12, "exit"), (10000, 4002, 48, "exit"), (14000, 4002, 0, "entry"),
                                      (4 * MS, 4000, 0, "wake"), (4 * MS + 500, 4009, 0, "rx"),
                                      (5 * MS, 4001, 0, "entry")):
            values = {"exit": ("kvm:kvm_exit", [reason, 0x1000 + reason, 1, 0x181, 0, 0, 0, tid - 4001, 0]),
                      "entry": ("kvm:kvm_entry:H", [tid - 4001, 0x1000, 0, 0, 0]),
                      "wake": ("sched:sched_waking", ["CPU 0/KVM", 4001, 120, 0]),
                      "rx": ("net:netif_rx", [60 + i, "tap0"])}[what]
            body += perf_event(writer, t + at, tid, *values)
    size = 8 * (24 + 8 + 8 + 4 + len(body))
    return (writer.number(32, 0xC1FC1FC1) + bytes.fromhex("6f0a7a5297c54e0c8b9e3c5c0d6f2a11") + writer.number(32, 0) +
            writer.number(64, size) + writer.number(64, size) + writer.number(32, 0) + body)


def perf_write(out):
    os.makedirs(out, exist_ok=True)
    with open(os.path.join(out, "metadata"), "wb") as f:
        f.write(perf_metadata())
    with open(os.path.join(out, "perf_stream_0"), "wb") as f:
        f.write(perf_stream(Writer("le")))


def main():
    if "perf" in sys.argv[2:]:
        perf_write(sys.argv[1])
        return
    out, order = sys.argv[1], "be" if "be" in sys.argv[2:] else "le"
    writer = Writer(order)
    folder = os.path.join(out, "kernel")
    os.makedirs(folder, exist_ok=True)
    text = metadata(order)
    with open(os.path.join(folder, "metadata"), "wb") as f:
        f.write(writer.metadata_packets(text) if order == "be" else text)
    for cpu in (0, 1):
        with open(os.path.join(folder, "channel0_%d" % cpu), "wb") as f:
            for p in scenario():
                if p[0] == cpu:
                    f.write(writer.packet(*p))


main()
