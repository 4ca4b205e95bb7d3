#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
What threads do is shown by four reports, which must agree to the nanosecond, whatever is lost: 'sched' (times of each
thread), 'timeline' (when a vCPU is off its CPU, and why), 'blame' (parts of exits) and 'prof-wait --causes' (what a vCPU
did while a guest's task waited; here a task that waits all the time).

A machine of two CPUs is simulated: the threads of two vCPUs, QEMU's main loop, another task. Its events are written as
a recording, in text; of some streams events are lost, with a 'lost' or 'gap' that says so, of others switches are
missing without a word. For each vCPU:

	sched and timeline	the same time preempted, on the run queue, asleep
	sched and causes	the same time preempted, on the run queue, unknown; a loss of KVM's events makes more unknown there
	timeline and blame	in each exit the same intervals preempted, on the run queue, asleep; where blame does not know what happened
				in an exit (it depends on other events, too), what it knows is in the timeline
	timeline		what it shows is what the machine did

	exits, timeline, blame	the same number of exits, which took the same time, whatever was lost; the same time of all
				in profile --host --causes-exits

	sched, exits, blame, timeline	the same in a time window that begins and ends anywhere
	sched and blame		who ran while the vCPU waited for a CPU, where all its waits are in exits that blame has

A difference that is meant: before its first event sched knows what a thread did, as the others do not look back.

	tests/agree/states.py [FIRST_SEED [SEEDS]]	HOSTRACE: the program; KEEP: a folder for what is compared
"""
import json
import os
import random
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HOSTRACE = os.path.abspath(os.environ.get("HOSTRACE", os.path.join(ROOT, "build", "hostrace")))
STEPS = 400
BEGIN = 1_000_000_000
PID, MAIN, OTHER = 10, 10, 99
VCPU_THREADS = {11: 0, 12: 1}
NAMES = {MAIN: "qemu", 11: "CPU 0/KVM", 12: "CPU 1/KVM", OTHER: "hog", 0: "swapper"}
KVM_RUN = "syscall=16 arg0=9 arg1=0xae80"
FUTEX = "syscall=202 arg0=0x5000 arg1=0x80"
SCHEDULER = {"sched_switch": 18, "sched_wakeup": 19, "sched_block": 20, "sched_woken": 21}
KVM = {"kvm_exit": 1, "kvm_entry": 2, "kvm_userspace_exit": 3, "kvm_run": 4}
KINDS = ("whole", "scheduler", "kvm", "any", "gap", "missing")
READY = ("preempted", "runqueue")
CLASSES = {"preempted": "preempted", "runqueue": "runqueue", "halted": "asleep", "blocked": "asleep", "lock": "asleep",
	   "syscall": "asleep", "fault": "asleep", "global-mutex": "asleep", "handover": "asleep", "stopped": "asleep"}
ASLEEP = ("poll_ns", "mutex_ns", "lock_ns", "syscall_ns", "halted_ns", "fault_ns", "sleep_ns", "stopped_ns")


class Machine:
	"""Makes a stream, and knows what each vCPU did: self.truth[tid] is a list of (state, since)."""

	def __init__(self, seed):
		self.random = random.Random(seed)
		self.kind = KINDS[seed % len(KINDS)]
		self.ns = BEGIN
		self.lines = []		# (ns, text)
		self.on_cpu = [11, OTHER]
		self.state = {11: "running", 12: "asleep", MAIN: "asleep"}
		self.place = {11: "guest", 12: "vmm"}
		self.reason = 1
		self.truth = {tid: [(self.state[tid], BEGIN)] for tid in VCPU_THREADS}
		self.first = {}		# tid: (ns, state before)
		self.events = dict.fromkeys(VCPU_THREADS, 0)
		self.lost = None	# the names of the types that are lost now; "": any
		self.loss_line = None
		self.was_lost = False

	def emit(self, name, tid, cpu, fields="", subject=None):
		self.ns += self.random.randint(1, 900)
		subject = tid if subject is None else subject
		hidden = self.kind == "missing" and name == "sched_switch" and min(self.events.values()) > 2 and \
			self.random.random() < 0.05
		hidden |= self.lost is not None and (not self.lost or name in self.lost) and self.random.random() < 0.7
		if hidden:
			return
		if subject in VCPU_THREADS:
			self.events[subject] += 1
		if subject in VCPU_THREADS and subject not in self.first and name != "sched_block":
			before = "unknown" if self.was_lost else self.state[subject]
			comes = name == "sched_switch" and f"next_tid={subject} " in fields
			self.first[subject] = (self.ns, "unknown" if comes else before)
		vcpu = f" vcpu={VCPU_THREADS[tid]}" if tid in VCPU_THREADS else ""
		self.lines.append((self.ns, f"{name} pid={PID} tid={tid} cpu={cpu}{vcpu} {fields}"))

	def becomes(self, tid, state):
		self.state[tid] = state
		if tid in VCPU_THREADS:
			self.truth[tid].append((state, self.ns))

	def switch(self, cpu, next_tid, prev_state=0):
		prev = self.on_cpu[cpu]
		self.on_cpu[cpu] = next_tid
		ours = prev if prev in self.state else next_tid
		fields = (f"prev_state={prev_state} prev_tid={prev} next_tid={next_tid} "
			  f'prev_comm="{NAMES[prev]}" next_comm="{NAMES[next_tid]}"')
		if ours not in self.state:
			self.emit("sched_ran", 11, cpu, fields.replace("prev_state=0 ", ""), OTHER)
			return
		self.emit("sched_switch", ours, cpu, fields)
		if next_tid in VCPU_THREADS and ours != next_tid and next_tid not in self.first:
			self.first[next_tid] = (self.ns, "unknown")
		if next_tid in self.state:
			self.becomes(next_tid, "running")

	def leave(self, cpu):
		"""The thread on this CPU leaves it: preempted, asleep, or woken when it is about to sleep."""
		tid = self.on_cpu[cpu]
		sleeps = self.random.random() < 0.6
		early = sleeps and self.random.random() < 0.2
		others = [0, OTHER] + [t for t in self.state if self.state[t] in READY]
		others = [t for t in others if not t or t not in self.on_cpu]
		if early:
			self.emit("sched_woken", tid, 1 - cpu, f"waker_tid={MAIN} waker_pid={PID} waker_comm=qemu")
		state = self.random.choice((1, 1, 2, 4, 8)) if sleeps and not early else int(sleeps) # 4: stopped, 8: traced
		self.switch(cpu, self.random.choice(others), state)
		self.becomes(tid, "preempted" if not sleeps else "runqueue" if early else "asleep")
		in_vmm = self.place.get(tid, "vmm") == "vmm"
		self.emit("sched_block", tid, cpu, (FUTEX if in_vmm else KVM_RUN) + f" ns_tid={tid}")

	def wake(self, tid):
		cpu = self.random.randrange(2)
		self.emit("sched_woken", tid, cpu, f"waker_tid=0 waker_pid=0 waker_comm=swapper")
		self.becomes(tid, "runqueue")
		self.emit("sched_wakeup", 0, cpu, f'wake_tid={tid} target_cpu={cpu} comm="{NAMES[tid]}"', tid)

	def run(self, cpu):
		"""The task on this CPU does something."""
		tid = self.on_cpu[cpu]
		ready = [t for t in self.state if self.state[t] in READY]
		if tid not in self.state:
			free = [0, OTHER] if not ready else ready
			free = [t for t in free if t != tid and (not t or t not in self.on_cpu)]
			if free:
				self.switch(cpu, self.random.choice(free))
			return
		place = self.place.get(tid)
		if place == "guest":
			self.reason = self.random.choice((1, 12, 30))
			self.emit("kvm_exit", tid, cpu, f"rip=0x1 reason={self.reason} isa=1")
			self.place[tid] = "kernel"
		elif self.random.random() < 0.4:
			self.leave(cpu)
		elif place == "kernel" and self.random.random() < 0.4:
			self.emit("kvm_userspace_exit", tid, cpu, "reason=2 error=0")
			self.place[tid] = "vmm"
		elif place == "kernel":
			self.emit("kvm_entry", tid, cpu, "rip=0x1")
			self.place[tid] = "guest"
		elif place == "vmm":
			self.emit("kvm_run", tid, cpu)
			self.place[tid] = "kernel"

	def loss_begin(self):
		types = {"scheduler": SCHEDULER, "kvm": KVM}.get(self.kind)
		self.was_lost |= self.kind != "kvm"
		self.lost, number = ([], 0) if not types else self.random.choice([([n], i) for n, i in types.items()])
		self.ns += 1
		self.loss_line = (len(self.lines), self.ns, number)

	def loss_end(self):
		at, ns, number = self.loss_line
		text = f"gap pid=0 tid=0 cpu=0 gap_cpu=0 until={self.ns}" if self.kind == "gap" else \
			f"lost pid=0 tid=0 cpu=0 count=3 lost_cpu=0 lost_event={number} until={self.ns}"
		self.lines.insert(at, (ns, text))
		self.lost = None

	def make(self):
		left = 0
		self.wake(MAIN)
		self.switch(1, MAIN)	# without a switch so far, blame counts all of an exit of HLT as halted
		for _ in range(STEPS):
			if self.lost is None and self.kind not in ("whole", "missing") and self.random.random() < 0.02:
				self.loss_begin()
				left = self.random.randint(1, 12)
			asleep = [t for t in self.state if self.state[t] == "asleep"]
			if asleep and self.random.random() < 0.3:
				self.wake(self.random.choice(asleep))
			else:
				self.run(self.random.randrange(2))
			left -= 1
			if self.lost is not None and left <= 0:
				self.loss_end()
		if self.lost is not None:
			self.loss_end()
		self.ns += 500
		self.end = self.ns

	def write(self, folder):
		pair = "clock_pair pid=0 tid=0 cpu=0 tsc={0} bracket=10"
		scale = "vcpu_tsc pid=10 tid={0} cpu=0 vcpu={1} offset=0 scale=0 scale_bits=0"
		name = 'thread pid=10 tid={0} cpu=0 vcpu={1} comm="{2}"'
		first = [(BEGIN, pair.format(BEGIN))] + [(BEGIN, text.format(t, v, NAMES[t]))
							 for t, v in VCPU_THREADS.items() for text in (scale, name)]
		middle = (BEGIN + self.end) // 2
		lines = first + self.lines + [(self.end, pair.format(self.end))]
		lines = sorted(lines + [(middle, pair.format(middle))], key=lambda line: line[0])
		with open(os.path.join(folder, "host.txt"), "w") as f:
			f.write("# hostrace text 1\n# meta {\"hostrace\":\"test\"}\n")
			f.writelines(f"{ns // 10**9}.{ns % 10**9:09} {text}\n" for ns, text in lines)
		with open(os.path.join(folder, "guest.txt"), "w") as f:
			f.write(GUEST)
			for ns, name in ((BEGIN, "sched_wait"), (self.end, "sched_wait_ret")):
				f.writelines(f"{ns // 10**9}.{ns % 10**9:09} guest:{name} tid={7 + v} cpu={v} vcpu={v}" +
					     (f" frame0=0x1000 frame1=0x{2 + v}000\n" if name == "sched_wait" else "\n")
					     for v in VCPU_THREADS.values())


GUEST = """# hostrace text 1
# meta {"clock":"guest-tsc"}
# type {"name":"guest:sched_wait","size":40,"fields":[{"name":"frame0","kind":"uint","offset":24,"size":8,"fmt":"addr"},\
{"name":"frame1","kind":"uint","offset":32,"size":8,"fmt":"addr"}]}
# type {"name":"guest:sched_wait_ret","size":24,"fields":[]}
"""


def report(folder, *arguments):
	out = subprocess.run([HOSTRACE, *arguments, "-f", "json"], cwd=folder, capture_output=True, text=True)
	if out.returncode:
		raise RuntimeError(f"{' '.join(arguments)}: {out.stderr.strip()}")
	name = arguments[0] + ("-window" if "--since" in arguments else "") + ".json"
	with open(os.path.join(folder, name), "w") as f:
		f.write(out.stdout)
	return json.loads(out.stdout)


def causes_of(doc, vcpu):
	"""The parts of the wait of the task that waits on this vCPU."""
	name, found = hex((2 + vcpu) * 0x1000 - 1), {}	# the call is before the return address

	def walk(row, inside):
		inside |= row["name"] == name
		kind = row["tail"][-1] if row["tail"] else row["name"]
		if not row["children"] and inside:
			found[kind.strip("[]")] = row["time_ns"]
		for child in row["children"]:
			walk(child, inside)

	for row in doc["rows"]:
		walk(row, name in row["tail"])
	return found


def merged(intervals):
	"""(class, start, end), adjacent ones of a class as one."""
	out = []
	for kind, start, end in sorted(intervals, key=lambda i: i[1]):
		if start == end:
			continue
		if out and out[-1][0] == kind and out[-1][2] == start:
			out[-1] = (kind, out[-1][1], end)
		else:
			out.append((kind, start, end))
	return out


def within(intervals, start, end):
	return merged((k, max(s, start), min(e, end)) for k, s, e in intervals if s < end and e > start)


def lies_in(interval, intervals):
	return any(k == interval[0] and s <= interval[1] and interval[2] <= e for k, s, e in intervals)


def compare(m, folder):
	"""Yields what disagrees."""
	m.write(folder)
	sched = report(folder, "sched", "host.txt")
	tasks = report(folder, "sched", "host.txt", "--by", "task,tid")
	timeline = report(folder, "timeline", "host.txt")
	blame = report(folder, "blame", "host.txt", "--limit", "100000")
	exits = report(folder, "exits", "host.txt", "--by", "=tid")
	profile = report(folder, "profile", "--host", "--causes-exits", "host.txt")
	took = [sum(r[name] for r in of["rows"]) for of, name in ((exits, "total_ns"), (profile, "time_ns"))]
	if took[0] != took[1]:
		yield f"time of exits in exits and profile: {took[0]} and {took[1]}"
	causes = report(folder, "prof-wait", "-i", "host.txt", "--guest", "guest.txt", "--causes")
	for tid, vcpu in VCPU_THREADS.items():
		of = next(row for row in sched["rows"] if row["tid"] == tid)
		asleep = sum(of[name] for name in ASLEEP)
		off = off_cpu(timeline, vcpu)
		shown = {k: sum(e - s for kind, s, e in off if kind == k) for k in (*READY, "asleep")}
		ns, before = m.first[tid]
		first = {k: ns - BEGIN if before == k else 0 for k in ("running", "asleep")}
		part = causes_of(causes, vcpu)

		def same(what, a, b):
			if a != b:
				yield f"vCPU {vcpu}: {what}: {a} and {b}"

		yield from same("time in sched and of the recording", of["time_ns"] + of["unknown_ns"], m.end - BEGIN)
		yield from same("ready and its parts in sched", of["ready_ns"], of["preempted_ns"] + of["runqueue_ns"])
		for state in READY:
			yield from same(f"{state} in sched and timeline", of[f"{state}_ns"], shown[state])
			yield from same(f"{state} in sched and causes", of[f"{state}_ns"], part.get(state, 0))
		yield from same("asleep in sched and timeline", asleep, shown["asleep"] + first["asleep"])
		yield from same("time in causes and of the recording", sum(part.values()), m.end - BEGIN)
		unknown = of["unknown_ns"] + first["running"] + first["asleep"]
		if m.kind in ("whole", "scheduler", "missing"):
			yield from same("unknown in sched and causes", unknown, part.get("unknown", 0))
		elif part.get("unknown", 0) < unknown:
			yield from same("more is unknown in sched than in causes", unknown, part.get("unknown", 0))
		yield from takers_compare(tid, vcpu, of["ready_ns"], tasks, blame)
		yield from exits_compare(m, tid, vcpu, exits, blame, timeline)
		for exit_row in (row for row in blame["rows"] if row["tid"] == tid):
			yield from exit_compare(m, vcpu, exit_row, off)
		if m.kind != "missing":
			truth = [(s, ns, (m.truth[tid] + [(0, m.end)])[i + 1][1]) for i, (s, ns) in enumerate(m.truth[tid])]
			for i in off:
				if not lies_in(i, merged(truth)):
					yield f"vCPU {vcpu}: timeline: {i} is not what it did"


def off_cpu(timeline, vcpu):
	return merged((CLASSES[r["kind"]], r["start_ns"], r["start_ns"] + r["duration_ns"])
		      for r in timeline["rows"] if r["track"] == f"vCPU {vcpu} off CPU")


def window_compare(m, folder):
	"""What is going on when a window begins is known from before it: an exit that ends in it counts, whole."""
	since = BEGIN + m.random.randrange((m.end - BEGIN) // 2)
	until = since + 1 + m.random.randrange(m.end - since)
	window = ("host.txt", "--since", f"{since - BEGIN}ns", "--until", f"{until - BEGIN}ns")
	sched, timeline = report(folder, "sched", *window), report(folder, "timeline", *window)
	exits = {r["tid"]: r for r in report(folder, "exits", *window, "--by", "=tid")["rows"]}
	blame = report(folder, "blame", *window, "--limit", "100000")
	for tid, vcpu in VCPU_THREADS.items():
		of = next((row for row in sched["rows"] if row["tid"] == tid), None)
		shown = dict.fromkeys((*READY, "asleep"), 0)
		for kind, start, end in off_cpu(timeline, vcpu):
			shown[kind] += end - start
		ns, before = m.first[tid]
		shown["asleep"] += max(min(ns, until) - since, 0) if before == "asleep" and ns < until else 0
		have = {name: of[f"{name}_ns"] if of else 0 for name in READY}
		have["asleep"] = sum(of[name] for name in ASLEEP) if of else 0
		if have != shown:
			yield f"vCPU {vcpu} in {window}: sched {have}, timeline {shown}"
		if of and of["time_ns"] + of["unknown_ns"] != until - since:
			yield f"vCPU {vcpu} in {window}: sched accounts for {of['time_ns'] + of['unknown_ns']} of {until - since}"
		took = [r["latency_ns"] for r in blame["rows"] if r["tid"] == tid]
		counted = tuple(exits[tid][k] for k in ("count", "total_ns")) if tid in exits else (0, 0)
		if counted != (len(took), sum(took)):
			yield f"vCPU {vcpu} in {window}: exits {counted}, blame {(len(took), sum(took))}"


def takers_compare(tid, vcpu, ready_ns, tasks, blame):
	shown = {"sched": {}, "blame": {}}
	for r in tasks["rows"]:
		if r["tid"] == tid:
			shown["sched"][r["task_tid"]] = r["time_ns"]
	for p in (p for r in blame["rows"] if r["tid"] == tid for p in r["parts"] if p["cause"] in READY):
		task = p.get("tid", 0 if p.get("comm") else None)
		shown["blame"][task] = shown["blame"].get(task, 0) + p["duration_ns"]
	if sum(shown["blame"].values()) == ready_ns and shown["blame"] != shown["sched"]:
		yield f"vCPU {vcpu}: ran instead: sched {shown['sched']}, blame {shown['blame']}"


def exits_compare(m, tid, vcpu, exits, blame, timeline):
	spans = [r for r in timeline["rows"] if r["track"] == f"vCPU {vcpu}"]
	spans = [r for r in spans if r["start_ns"] + r["duration_ns"] < m.end]	# those are open
	shown = {
		"exits": next(((r["count"], r["total_ns"]) for r in exits["rows"] if r["tid"] == tid), (0, 0)),
		"timeline": [r["duration_ns"] for r in spans if r["kind"] in ("kernel", "halted")],
		"blame": [r["latency_ns"] for r in blame["rows"] if r["tid"] == tid],
	}
	for name in ("timeline", "blame"):
		found = (len(shown[name]), sum(shown[name]))
		if found != shown["exits"]:
			yield f"vCPU {vcpu}: exits counts {shown['exits']}, {name} {found}"


def exit_compare(m, vcpu, row, off):
	start, end = row["time_ns"], row["time_ns"] + row["latency_ns"]
	parts = merged((CLASSES[p["cause"]], p["start_ns"], p["start_ns"] + p["duration_ns"])
		       for p in row["parts"] if p["cause"] in CLASSES)
	inside = within(off, start, end)
	if m.kind in ("any", "gap"):
		parts, inside = [p for p in parts if not lies_in(p, inside)], []
	if parts != inside:
		yield f"vCPU {vcpu}: exit at {start}: blame {parts}, timeline {inside}"


def main():
	first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
	seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 36
	failed = 0
	for n, seed in enumerate(range(first, first + seeds), 1):
		m = Machine(seed)
		m.make()
		with tempfile.TemporaryDirectory() as scratch:
			folder = os.environ.get("KEEP", scratch)
			os.makedirs(folder, exist_ok=True)
			found = list(compare(m, folder)) + list(window_compare(m, folder))
		print(f"{'not ok' if found else 'ok'} {n} - seed {seed}: {m.kind}")
		for line in found[:10]:
			print(f"# {line}")
		failed += bool(found)
	print(f"1..{seeds}")
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(main())
