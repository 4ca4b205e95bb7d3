#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
A gap of one CPU makes unknown what may have happened there, and nothing else, in every report: what began and ended on
another CPU is shown as if nothing were missing.

Two VMs are simulated. Each has a vCPU, an I/O thread and a main thread that never leave their CPU: those of the first VM
CPU 0, those of the second one CPU 1. They handle interrupts, timers and requests of a disk, they halt and are stopped, so
that each is in the middle of something when the other one's CPU has a gap. The recording is written twice: complete, and
with gaps of CPU 1, in which most of the second VM's events are missing.

	first VM	all reports show the same of both recordings: interrupts, timers, stops, requests with their points,
			exits, slices of vCPUs; and prof-wait --causes knows what the vCPU did wherever sched knows it
	second VM	with gaps no report counts more than without, and a stop with a gap in it is noted

	tests/agree/gaps.py [FIRST_SEED [SEEDS]]	HOSTRACE: the program; KEEP: a folder for what is compared
"""
import os
import random
import sys
import tempfile

from states import BEGIN, GUEST, causes_of, report

STEPS = 1500
VMS = (10, 20)		# pid; of CPU 0 and 1
HALT = "syscall=16 arg0=9 arg1=0xae80 ns_tid={0}"


class Vm:
	"""One VM's events, in its own order: next() is a line without its time."""

	def __init__(self, cpu, rand):
		self.cpu, self.pid, self.random = cpu, VMS[cpu], rand
		self.vcpu, self.io, self.main = self.pid + 1, self.pid + 3, self.pid
		self.heads = 0
		self.events = self.all_events()

	def line(self, name, tid, fields=""):
		vcpu = " vcpu=0" if tid == self.vcpu else ""
		return f"{name} pid={self.pid} tid={tid} cpu={self.cpu}{vcpu} {fields}"

	def of_vcpu(self, *events):
		for event in events:
			name, _, fields = event.partition(" ")
			yield self.line(name, self.vcpu, fields)

	def all_events(self):
		yield from self.of_vcpu("kvm_exit reason=30 isa=1", "kvm_entry")
		while True:
			yield from self.random.choice((self.interrupt, self.timer, self.request, self.stop, self.halt))()

	def interrupt(self):
		for _ in range(self.random.randint(1, 3)):	# all but the first are coalesced
			yield self.line("kvm_msi_set_irq", self.io, "address=0xfee00000 data=0x4032")
			yield self.line("kvm_apic_accept_irq", self.io, "apic_id=0 vector=50")
		yield from self.injected(50)

	def injected(self, vector):
		yield from self.of_vcpu("kvm_exit reason=1 isa=1", f"kvm_inj_virq vector={vector}", "kvm_entry",
					"kvm_exit reason=45 isa=1", f"kvm_eoi apic_id=0 vector={vector}", "kvm_entry")

	def timer(self):
		yield self.line("kvm_timer_irq", self.vcpu, f"vector=236 deadline_ns={BEGIN - 1000}")
		yield self.line("kvm_apic_accept_irq", self.vcpu, "apic_id=0 vector=236")
		yield from self.injected(236)

	def request(self):
		self.heads += 1
		at = f"vdev=0x{self.pid}00 vq=0x{self.pid}80 queue=0"
		element = f"{at} elem=0x{self.pid}00{self.heads:04}0 head={self.heads % 64}"
		yield from self.of_vcpu("kvm_exit reason=30 isa=1", "kvm_userspace_exit reason=2",
					f"virtio_queue_notify {at}", f"virtqueue_pop {element}", "kvm_run", "kvm_entry")
		yield self.line("virtqueue_fill", self.io, element)
		yield self.line("virtio_notify", self.io, at)
		yield from self.interrupt()

	def stop(self):
		yield from self.of_vcpu("kvm_exit reason=1 isa=1", "kvm_userspace_exit reason=10")
		yield self.line("vm_state", self.main, "running=0 state=4")
		yield self.line("vm_state", self.main, "running=1 state=9")
		yield from self.of_vcpu("kvm_run", "kvm_entry")

	def halt(self):
		switch = 'sched_switch prev_tid={0} next_tid={1} prev_state={2} prev_comm="a" next_comm="b"'
		yield from self.of_vcpu("kvm_exit reason=12 isa=1", switch.format(self.vcpu, 0, 1),
					"sched_block " + HALT.format(self.vcpu), "sched_woken waker_tid=0",
					switch.format(0, self.vcpu, 0), "kvm_entry")


class Recording:
	"""complete and gaps: (ns, line) in order of time."""

	def __init__(self, seed):
		rand = random.Random(seed)
		vms = [Vm(cpu, rand) for cpu in range(2)]
		self.complete, self.gaps = [], []
		self.missing = 0
		ns, gap = BEGIN, None	# gap: (index in self.gaps, since, steps)
		for step in range(STEPS):
			ns += rand.randint(1, 900)
			if step > 10 and not gap and rand.random() < 0.01:
				gap = (len(self.gaps), ns, step + rand.randint(3, 40))
			vm = vms[0] if step == 0 else rand.choice(vms)
			line = (ns, next(vm.events))
			self.complete.append(line)
			if gap and vm.cpu == 1 and rand.random() < 0.7:
				self.missing += 1
			else:
				self.gaps.append(line)
			if gap and (step >= gap[2] or step == STEPS - 1):
				ns += 1
				self.gaps.insert(gap[0], (gap[1], f"gap pid=0 tid=0 cpu=1 gap_cpu=1 until={ns}"))
				gap = None
		self.end = ns + 500

	def write(self, folder, name, lines):
		pairs = [(ns, f"clock_pair pid=0 tid=0 cpu=0 tsc={ns} bracket=10") for ns in (BEGIN, self.end)]
		first = [(BEGIN, f'thread pid={pid} tid={pid + 1} cpu={cpu} vcpu=0 comm="CPU 0/KVM"')
			 for cpu, pid in enumerate(VMS)]
		first += [(BEGIN, f"vcpu_tsc pid={pid} tid={pid + 1} cpu={cpu} vcpu=0 offset=0 scale=0 scale_bits=0")
			  for cpu, pid in enumerate(VMS)]
		with open(os.path.join(folder, name), "w") as f:
			f.write('# hostrace text 1\n# meta {"hostrace":"test","vms":[{"pid":10,"name":"whole"},'
				'{"pid":20,"name":"gaps"}]}\n')
			f.writelines(f"{ns // 10**9}.{ns % 10**9:09} {line}\n"
				     for ns, line in pairs[:1] + first + lines + pairs[1:])


def shown(folder, name, pid):
	"""What the reports show of a VM: {report: [row]}, of each row what does not depend on states of threads."""
	rows = {r: report(folder, *r.split(), name, "--vm", str(pid))["rows"]
		for r in ("interrupts", "interrupts --timers", "downtime", "exits", "requests --stages --limit 10000")}
	rows["requests"] = [{k: row[k] for k in ("start_ns", "total_ns", "points_ns")}
			    for row in rows.pop("requests --stages --limit 10000")]
	rows["timeline"] = [{k: row[k] for k in ("track", "kind", "start_ns", "duration_ns")}
			    for row in report(folder, "timeline", name, "--vm", str(pid))["rows"]
			    if row["kind"] in ("guest", "kernel", "halted", "user") and "off CPU" not in row["track"]]
	return rows


def causes_compare(folder, recording):
	"""Where sched knows what the first VM's vCPU did, so does prof-wait --causes."""
	with open(os.path.join(folder, "guest.txt"), "w") as f:
		f.write(GUEST)
		for ns, name in ((BEGIN, "sched_wait"), (recording.end, "sched_wait_ret")):
			f.write(f"{ns // 10**9}.{ns % 10**9:09} guest:{name} tid=7 cpu=0 vcpu=0" +
				(" frame0=0x1000 frame1=0x2000\n" if name == "sched_wait" else "\n"))
	try:
		causes = report(folder, "prof-wait", "-i", "gaps.txt", "--guest", "guest.txt", "--causes", "--vm", "10")
	except RuntimeError as error:
		yield str(error)
		return
	sched = report(folder, "sched", "gaps.txt", "--vm", "10")
	of = next(row for row in sched["rows"] if row["tid"] == 11)
	before = recording.gaps[0][0] - BEGIN	# what a thread did until its first event only sched knows
	unknown = causes_of(causes, 0).get("unknown", 0)
	if unknown != of["unknown_ns"] + before:
		yield f"unknown: sched {of['unknown_ns']} and {before} before the first event, causes {unknown}"


def total(rows, name):
	return sum(row.get(name) or 0 for row in rows)


def compare(recording, folder):
	recording.write(folder, "complete.txt", recording.complete)
	recording.write(folder, "gaps.txt", recording.gaps)
	complete, gaps = (shown(folder, name, VMS[0]) for name in ("complete.txt", "gaps.txt"))
	for name, rows in complete.items():
		if rows != gaps[name]:
			differ = [(a, b) for a, b in zip(rows, gaps[name]) if a != b]
			yield f"{name}: {len(rows)} and {len(gaps[name])} rows; {differ[:1]}"
	yield from causes_compare(folder, recording)
	complete, gaps = (shown(folder, name, VMS[1]) for name in ("complete.txt", "gaps.txt"))
	for row in gaps["timeline"]:
		if row not in complete["timeline"]:
			yield f"timeline: {row} is not in the complete recording"
	of_push = {row["points_ns"]["push"]: row["points_ns"] for row in complete["requests"]}
	for points in (row["points_ns"] for row in gaps["requests"]):
		if not points.items() <= of_push[points["push"]].items():	# points may be missing
			yield f"requests: points {points}, in the complete recording {of_push[points['push']]}"
	for column in ("injected", "eois", "coalesced", "handle_max_ns"):
		if total(gaps["interrupts"], column) > total(complete["interrupts"], column):
			yield f"interrupts: more {column} with gaps"
	starts = {row["time_ns"]: row for row in complete["downtime"]}
	for row in gaps["downtime"]:
		if row["lost"] != "yes" and row != starts.get(row["time_ns"]):
			yield f"downtime: {row} is not in the complete recording"


def main():
	first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
	seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
	failed = 0
	for n, seed in enumerate(range(first, first + seeds), 1):
		recording = Recording(seed)
		with tempfile.TemporaryDirectory() as scratch:
			folder = os.environ.get("KEEP", scratch)
			os.makedirs(folder, exist_ok=True)
			found = list(compare(recording, folder))
		print(f"{'not ok' if found else 'ok'} {n} - seed {seed}: {recording.missing} events missing")
		for line in found[:10]:
			print(f"# {line[:600]}")
		failed += bool(found)
	print(f"1..{seeds}")
	return 1 if failed else 0


if __name__ == "__main__":
	sys.exit(main())
