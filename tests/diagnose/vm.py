# SPDX-License-Identifier: GPL-2.0-or-later
"""VMs and faults for the benchmark of `hostrace diagnose` (bench.py): QEMU with one of two guests, pinned to one CPU."""
import contextlib
import ctypes
import glob
import json
import os
import signal
import socket
import struct
import subprocess
import time

ACCEL = "kvm" if os.access("/dev/kvm", os.R_OK | os.W_OK) else "tcg"
CPU = max(os.sched_getaffinity(0))  # of the VM and of what competes with it

# tests/live/countguest.S: a vCPU computes until GO, then it writes to a port until STOP
PAGE, RAM_BYTES = 0x10000, 4 << 20
BEGUN, GO, STOP, START_OTHERS, LIMIT, COUNTS = 0, 4, 8, 12, 16, 1024


class Failed(Exception):
    """The fault could not be made."""


class Absent(Failed):
    """... as this machine lacks what it needs."""


def end_with_us():
    """Of a child: it is killed when we end, however."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failed(what)
        time.sleep(0.05)


class Bench:
    """What one trial has started; all of it is ended by close()."""

    def __init__(self, build, directory):
        self.build, self.directory, self.processes, self.undo = build, directory, [], []
        self.numbers = 0

    def path(self, name):
        return os.path.join(self.directory, name)

    def new_path(self, kind):
        self.numbers += 1
        return self.path(f"{kind}{self.numbers}")

    def run(self, argv, pin=False, cgroup=None, **options):
        """cgroup: the file with the tasks of the one that it begins in."""
        def begin():
            end_with_us()
            if cgroup:
                write(cgroup, "0")

        log = open(self.new_path("log"), "w")
        if pin:
            argv = ["taskset", "-c", str(CPU)] + argv
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                             preexec_fn=begin, **options)
        self.processes.append(p)
        return p

    def hog(self, prefix=()):
        return self.run(["taskset", "-c", str(CPU), *prefix, "sh", "-c", "while :; do :; done"])

    def close(self):
        for undo in reversed(self.undo):
            with contextlib.suppress(OSError, Failed):
                undo()
        for p in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)
            p.wait()


class Vm:
    def __init__(self, bench, name, arguments, pin=True, **options):
        self.bench, self.name = bench, name
        self.qmp_path = bench.path(f"{name}.qmp")
        self.process = bench.run(
            ["qemu-system-x86_64", "-name", f"{name},debug-threads=on", "-accel", ACCEL, "-nodefaults", "-display", "none",
             "-no-reboot", "-qmp", f"unix:{self.qmp_path},server=on,wait=off", *arguments], pin, **options)
        self.pid = self.process.pid

    def qmp(self, command, **arguments):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.qmp_path)
            f = s.makefile("rw")
            f.readline()
            for request in ({"execute": "qmp_capabilities"}, {"execute": command, "arguments": arguments}):
                f.write(json.dumps(request) + "\n")
                f.flush()
                answer = json.loads(f.readline())
                while "event" in answer:
                    answer = json.loads(f.readline())
            return answer

    def says(self, text):
        """On its console, whose file is self.console."""
        with contextlib.suppress(FileNotFoundError), open(self.console, encoding="utf-8") as f:
            return text in f.read()
        return False

    def threads(self):
        return [int(os.path.basename(t)) for t in glob.glob(f"/proc/{self.pid}/task/*")]


class BusyVm(Vm):
    """All vCPUs compute; if they are several, the first one has started the others and is idle."""

    def __init__(self, bench, name, vcpus=1, pin=True, arguments=()):
        self.ram = bench.path(f"{name}.ram")
        with open(self.ram, "wb") as f:
            f.truncate(RAM_BYTES)
        super().__init__(bench, name, [
            "-m", "4", "-machine", "pc,memory-backend=ram", "-smp", str(vcpus + (vcpus > 1)), "-object",
            f"memory-backend-file,id=ram,size={RAM_BYTES},mem-path={self.ram},share=on", "-bios",
            f"{bench.build}/countguest.bin", *arguments], pin)
        until(lambda: self.word(BEGUN) == 1, "the guest did not begin")
        self.set_word(LIMIT, 4000000000)
        if vcpus > 1:
            self.set_word(GO, 1)
            until(lambda: self.word(COUNTS), "the first vCPU did not go on")
            self.set_word(GO, 0)
            self.set_word(START_OTHERS, 1)
            until(lambda: self.word(BEGUN) == vcpus + 1, "not all vCPUs began")
            self.set_word(STOP, 1)

    def word(self, at):
        with open(self.ram, "rb") as f:
            f.seek(PAGE + at)
            return struct.unpack("<I", f.read(4))[0]

    def set_word(self, at, value):
        with open(self.ram, "r+b") as f:
            f.seek(PAGE + at)
            f.write(struct.pack("<I", value))


class ElfVm(Vm):
    """A guest of tests/live/blameguest.S, begun unless the caller has the console: its firmware can take seconds."""

    def __init__(self, bench, name, guest, vcpus, arguments, **options):
        self.console = bench.path(f"{name}.console")
        ours = "isa-debugcon,chardev=c" not in arguments
        super().__init__(bench, name, [
            "-m", "32", "-machine", "pc", "-smp", str(vcpus), "-kernel", f"{bench.build}/blameguest-{guest}.elf",
            *(["-debugcon", f"file:{self.console}"] if ours else []), *arguments], **options)
        if ours:
            until(lambda: self.says("." if guest == "bar" else "R"), "the guest did not begin")


class DiskVm(Vm):
    """One vCPU writes to a disk: a write each `ticks` ticks of 10 ms, or as the words say (src/guestside/demo/main.c)."""

    NOTHING = "outb=0 inb=0 outsb=0 insb=0 hlt=0 mmio=0 reads=0 writes=0 leak=0"

    def __init__(self, bench, name, work="paced=1000000 ticks=1", drive=None, options="", pin=True, until_says=None):
        if not drive:
            image = bench.path(f"{name}.img")
            with open(image, "wb") as f:
                f.truncate(16 << 20)
            drive = f"file={image},format=raw"
        self.console = bench.path(f"{name}.console")
        super().__init__(bench, name, [
            "-m", "32", "-machine", "pc", "-serial", f"file:{self.console}", "-kernel", f"{bench.build}/demo-guest.elf",
            "-append", f"{self.NOTHING} {work}", "-device", "isa-debug-exit,iobase=0xf4,iosize=1",
            "-drive", f"{drive},if=none,id=d0{options}", "-device", "virtio-blk-pci,drive=d0,id=disk,addr=4"], pin)
        until(lambda: self.says(until_says or "hlt 0"), "the guest did not begin")


def cgroup_new(bench, controller):
    """A cgroup of this controller ("cpu", "io", "memory", "freezer"): (directory, is it version 2)."""
    name = f"hostrace-bench-{os.getpid()}"
    v1 = {"cpu": "cpu", "io": "blkio", "memory": "memory", "freezer": "freezer"}[controller]
    for root, v2 in (("/sys/fs/cgroup", True), (f"/sys/fs/cgroup/{v1}", False)):
        directory = os.path.join(root, name)
        controllers = os.path.join(root, "cgroup.controllers")
        if v2 and not os.path.exists(controllers):
            continue
        if v2 and controller != "freezer" and controller not in open(controllers, encoding="utf-8").read().split():
            continue
        try:
            if v2 and controller != "freezer":  # every cgroup has it
                with open(os.path.join(root, "cgroup.subtree_control"), "w", encoding="utf-8") as f:
                    f.write(f"+{controller}")
            os.mkdir(directory)
        except OSError:
            continue
        bench.undo.append(lambda: cgroup_end(root, directory, v2))
        return directory, v2
    raise Absent(f"kernel: no cgroup of the controller {controller} can be made here")


def cgroup_end(root, directory, v2):
    """Moves what is in it back until it can be removed: there may be new threads of those that are moved."""
    members = "cgroup.procs" if v2 else "tasks"

    def moved():
        for task in open(os.path.join(directory, members), encoding="utf-8").read().split():
            with contextlib.suppress(OSError):
                write(os.path.join(root, members), task)
        return rmdir(directory)

    until(moved, f"{directory} stays")


def rmdir(directory):
    """Is it gone? A cgroup is busy for a moment after its tasks have left."""
    with contextlib.suppress(OSError):
        os.rmdir(directory)
    return not os.path.exists(directory)


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def cgroup_add(directory, v2, vm):
    if v2:
        write(os.path.join(directory, "cgroup.procs"), str(vm.pid))
        return
    for tid in vm.threads():
        with contextlib.suppress(OSError):
            write(os.path.join(directory, "tasks"), str(tid))


def quota(bench, vm, cpus, period_us=100000):
    directory, v2 = cgroup_new(bench, "cpu")
    if v2:
        write(f"{directory}/cpu.max", f"{int(cpus * period_us)} {period_us}")
    else:
        write(f"{directory}/cpu.cfs_period_us", str(period_us))
        write(f"{directory}/cpu.cfs_quota_us", str(int(cpus * period_us)))
    cgroup_add(directory, v2, vm)


def monitor_loop(vm, *requests):
    """Sends requests to the VM's monitor, each followed by a pause of so many seconds, again and again until it ends."""
    code = f"""
import json, socket, time
s = socket.socket(socket.AF_UNIX)
s.connect({vm.qmp_path!r})
f = s.makefile("rw")
f.readline()
def do(request):
    f.write(json.dumps(request) + "\\n")
    f.flush()
    while "return" not in json.loads(f.readline()):
        pass
do({{"execute": "qmp_capabilities"}})
while True:
    for request, pause in {requests!r}:
        do(request)
        time.sleep(pause)
"""
    vm.bench.run(["python3", "-c", code])


def stopped_again_and_again(vm, stop_s, run_s):
    monitor_loop(vm, ({"execute": "stop"}, stop_s), ({"execute": "cont"}, run_s))
