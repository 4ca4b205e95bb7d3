# SPDX-License-Identifier: GPL-2.0-or-later
"""The faults of the benchmark (bench.py). Each kind makes a VM with one fault, of a magnitude that its variation chooses.

A kind is a function: (bench, v) -> (VM, the lost share of time, or None if that is not known). v: 0, 1, ... of the variations.
Its causes are those of which one must be named first; none: the VM is healthy. STILL: kinds in which something stands still,
which comes before all that costs time.
"""
import fcntl
import os
import signal
import struct
import termios
import time

from vm import (ACCEL, CPU, GO, Absent, BusyVm, DiskVm, ElfVm, Failed, cgroup_add, cgroup_new, monitor_loop, quota,
                stopped_again_and_again, until, write)

KINDS, STILL = {}, set()


def kind(name, *causes, still=False):
    def add(function):
        KINDS[name] = (function, causes)
        if still:
            STILL.add(name)
        return function
    return add


def choose(v, *values):
    return values[v % len(values)]


# ---- healthy ----

@kind("idle")
def idle(bench, v):
    return DiskVm(bench, "web", f"paced=1000000 ticks={choose(v, 100, 200, 400)}"), 0


@kind("busy")
def busy(bench, v):
    return BusyVm(bench, "web", choose(v, 1, 1, 2), pin=v % 3 != 2), 0


@kind("disk")
def disk(bench, v):
    return DiskVm(bench, "web", f"paced=1000000 ticks={choose(v, 2, 5, 10)}"), 0


@kind("fast-disk")
def fast_disk(bench, v):
    return DiskVm(bench, "web", f"paced=1000000 ticks={choose(v, 1, 2)}",
                  f"driver=null-co,size=16777216,latency-ns={choose(v, 100000, 1000000, 3000000)}"), 0


@kind("idle-beside-busy-vm")
def idle_beside_busy(bench, v):
    BusyVm(bench, "db", pin=False)
    return idle(bench, v)


# ---- CPU ----

@kind("quota", "cpu-quota")
def quota_alone(bench, v):
    vm = BusyVm(bench, "web")
    cpus = choose(v, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
    quota(bench, vm, cpus)
    return vm, 1 - cpus


@kind("quota-on-busy-host", "cpu-quota")
def quota_busy_host(bench, v):
    vm = BusyVm(bench, "web")
    quota(bench, vm, choose(v, 0.15, 0.2, 0.25))
    bench.hog()
    return vm, None


@kind("host-task", "cpu-host-task")
def host_task(bench, v):
    vm, hogs = BusyVm(bench, "web"), choose(v, 1, 2, 3)
    for _ in range(hogs):
        bench.hog()
    return vm, hogs / (hogs + 1)


@kind("nice-host-task", "cpu-host-task")
def nice_host_task(bench, v):
    vm = BusyVm(bench, "web")
    for _ in range(choose(v, 2, 4)):
        bench.hog(("nice", "-n", "3"))
    return vm, None


@kind("light-cgroup", "cpu-host-task")
def light_cgroup(bench, v):
    """The VM's cgroup has a smaller weight than others."""
    vm = BusyVm(bench, "web")
    directory, v2 = cgroup_new(bench, "cpu")
    part = choose(v, 0.1, 0.25, 0.5)
    write(f"{directory}/{'cpu.weight' if v2 else 'cpu.shares'}", str(int(part * (100 if v2 else 1024))))
    cgroup_add(directory, v2, vm)
    bench.hog()
    return vm, 1 / (1 + part)


@kind("real-time-task", "cpu-host-task")
def real_time_task(bench, v):
    vm = BusyVm(bench, "web")
    # the one that ends it has a higher priority: it would never run otherwise
    burst = f"timeout -s KILL {choose(v, 0.05, 0.1, 0.2)} chrt -f 10 sh -c 'while :; do :; done'"
    bench.run(["taskset", "-c", str(CPU), "chrt", "-f", "20", "sh", "-c", f"while :; do {burst}; sleep 0.1; done"])
    return vm, None


@kind("other-vm", "cpu-other-vm")
def other_vm(bench, v):
    others = choose(v, 1, 2)
    for i in range(others):
        BusyVm(bench, f"db{i}")
    return BusyVm(bench, "web"), others / (others + 1)


@kind("own-threads", "cpu-own-threads")
def own_threads(bench, v):
    vcpus = choose(v, 2, 3, 4)
    return BusyVm(bench, "web", vcpus), 1 - 1 / vcpus


@kind("host-interrupts", "cpu-host-irq")
def host_interrupts(bench, v):
    """Packets of other CPUs are handled on the VM's: soft interrupts (RPS of the loopback device)."""
    steering = "/sys/class/net/lo/queues/rx-0/rps_cpus"
    if CPU == 0 or not os.access(steering, os.W_OK):
        raise Absent("kernel: packets cannot be steered to another CPU here")
    vm = BusyVm(bench, "web")
    with open(steering, encoding="utf-8") as f:
        before = f.read()
    bench.undo.append(lambda: write(steering, before))
    write(steering, f"{1 << CPU:x}")
    code = ("import socket\nr = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nr.bind(('127.0.0.1', 0))\n"
            f"s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nb = bytes({choose(v, 64, 1024, 8000)})\n"
            "while True:\n    s.sendto(b, r.getsockname())")
    bench.run(["taskset", "-c", str(CPU - 1), "python3", "-c", code])
    time.sleep(0.5)
    return vm, None


# ---- disks ----

@kind("throttled-iops", "disk-throttled")
def throttled_iops(bench, v):
    return DiskVm(bench, "web", options=f",throttling.iops-total={choose(v, 5, 10, 20, 40)}"), None


@kind("throttled-bytes", "disk-throttled")
def throttled_bytes(bench, v):
    return DiskVm(bench, "web", options=f",throttling.bps-total={choose(v, 4096, 8192, 16384)}"), None


@kind("slow-backend", "disk-slow")
def slow_backend(bench, v):
    ms = choose(v, 15, 30, 60, 120, 300)
    vm = DiskVm(bench, "web", drive=f"driver=null-co,size=16777216,latency-ns={ms * 1000000}")
    return vm, 1  # the tick at which the next write is due has passed


@kind("io-limit", "disk-slow")
def io_limit(bench, v):
    directory, v2 = cgroup_new(bench, "io")
    image = bench.path("web.img")
    with open(image, "wb") as f:
        f.truncate(16 << 20)
    st = os.stat(bench.directory)
    device = f"{os.major(st.st_dev)}:{os.minor(st.st_dev)}"
    iops = choose(v, 5, 10, 20)
    write(f"{directory}/io.max" if v2 else f"{directory}/blkio.throttle.write_iops_device",
          f"{device} wiops={iops}" if v2 else f"{device} {iops}")
    vm = DiskVm(bench, "web", drive=f"file={image},format=raw,cache=none")
    cgroup_add(directory, v2, vm)
    return vm, None


class IdeVm(ElfVm):
    """The guest reads from an IDE disk, and halts meanwhile."""

    def __init__(self, bench, options="", drive=None, more=()):
        image = bench.path("web.img")
        with open(image, "wb") as f:
            f.truncate(16 << 20)
        disk = ["-drive", f"{drive or f'file={image},format=raw'},if=none,id=d0{options}"] if not more else more
        super().__init__(bench, "web", "ata", 1, [*disk, "-device", "ide-hd,drive=d0,bus=ide.0"], pin=True)
        time.sleep(1)


@kind("ide-disk", "healthy", "exits-port")  # its driver reads the data by ports, which costs about 5 %
def ide_disk(bench, v):
    return IdeVm(bench, drive=f"driver=null-co,size=16777216,latency-ns={choose(v, 1000000, 3000000)}"), 0


@kind("throttled-ide", "disk-throttled")
def throttled_ide(bench, v):
    if v % 3 == 2:  # by a filter
        return IdeVm(bench, more=["-object", "throttle-group,id=slow,x-iops-total=15", "-blockdev", "driver=null-co,size=16777216,"
                                  "node-name=n0", "-blockdev", "driver=throttle,throttle-group=slow,node-name=d0,file=n0"]), None
    return IdeVm(bench, choose(v, ",throttling.iops-total=20", ",throttling.bps-read=8192")), None


@kind("slow-ide", "disk-slow")
def slow_ide(bench, v):
    return IdeVm(bench, drive=f"driver=null-co,size=16777216,latency-ns={choose(v, 30, 100) * 1000000}"), 1


# ---- what a vCPU sleeps in ----

def slow_memory(bench, vcpus, **more):
    ram, log = f"/dev/shm/hostrace-bench-{os.getpid()}", bench.path("late.log")
    bench.undo.append(lambda: os.unlink(ram))
    vm = ElfVm(bench, "web", "touch", vcpus, [
        "-machine", "memory-backend=ram", "-object", f"memory-backend-file,id=ram,size=32M,mem-path={ram},share=on"],
        env=dict(os.environ, LD_PRELOAD=f"{bench.build}/slowmem.so", SLOWMEM_FILE=ram, SLOWMEM_LOG=log, **more))
    until(lambda: os.path.exists(log) and os.path.getsize(log), "no page came late")
    return vm


@kind("late-memory", "page-faults")
def late_memory(bench, v):
    return slow_memory(bench, choose(v, 1, 2)), 1


@kind("memory-limit", "memory-limit")
def memory_limit(bench, v):
    """The guest writes to 8 MiB again and again, for which its cgroup has no room beside QEMU's own memory."""
    directory, v2 = cgroup_new(bench, "memory")
    write(f"{directory}/{'memory.max' if v2 else 'memory.limit_in_bytes'}", str(choose(v, 19, 20, 21) << 20))
    return ElfVm(bench, "web", "touch", 1, [
        "-machine", "memory-backend=ram", "-object",
        f"memory-backend-file,id=ram,size=32M,mem-path={bench.path('web.ram')},share=on"],
        cgroup=f"{directory}/{'cgroup.procs' if v2 else 'tasks'}"), None


def until_full(fifo):
    """A FIFO holds 64 KiB; of small writes nearly as much."""
    fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        until(lambda: struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0] > 56 << 10, f"{fifo} is not full")
    finally:
        os.close(fd)


@kind("full-console", "vmm-syscall")
def full_console(bench, v):
    fifo = bench.path("console.fifo")
    os.mkfifo(fifo)
    reader = bench.run(["sh", "-c", f"exec <'{fifo}'; while head -c {choose(v, 100, 500, 1000)} >/dev/null; do sleep 0.1; done"])
    vm = ElfVm(bench, "web", "write", 1, ["-chardev", f"file,id=c,path={fifo}", "-device", "isa-debugcon,chardev=c"])
    until_full(fifo)
    if reader.poll() is not None:
        raise Failed("the console's reader ended")
    return vm, None


def needs_exits():
    if ACCEL != "kvm":
        raise Absent("kernel: no /dev/kvm: an emulated VM has no exits")


@kind("port-poll", "exits-port")
def port_poll(bench, v):
    """The guest reads the port of the clock for ever."""
    needs_exits()
    return ElfVm(bench, "web", "slow", 1, []), None


@kind("register-poll", "exits-port", "exits-mmio")
def register_poll(bench, v):
    """It reads the registers of a PCI device, by ports and by memory."""
    needs_exits()
    return ElfVm(bench, "web", "bar", 1, ["-device", "e1000,addr=5"]), None


@kind("monitor-command", "qemu-mutex", still=True)
def monitor_command(bench, v):
    """The monitor writes the guest's memory to a FIFO that is read slowly; a guest that accesses a port waits for it."""
    fifo = bench.path("memory.fifo")
    os.mkfifo(fifo)
    bench.run(["sh", "-c", f"exec <>'{fifo}'; while head -c {choose(v, 10000, 30000)} >/dev/null; do sleep 0.1; done"])
    vm = BusyVm(bench, "web")
    vm.set_word(GO, 1)
    monitor_loop(vm, ({"execute": "pmemsave", "arguments": {"val": 0, "size": 4 << 20, "filename": fifo}}, 0))
    until_full(fifo)
    return vm, None


@kind("auto-converge", "migration", "vmm-asleep")  # counters do not have why the VMM sleeps
def auto_converge(bench, v):
    """The guest writes faster than QEMU may send, which makes its vCPUs sleep."""
    vm = ElfVm(bench, "web", "touch", choose(v, 1, 2), [])
    vm.qmp("migrate-set-capabilities", capabilities=[{"capability": "auto-converge", "state": True}])
    vm.qmp("migrate-set-parameters", **{"max-bandwidth": 1 << 20, "cpu-throttle-initial": choose(v, 95, 80),
                                        "throttle-trigger-threshold": 1})
    vm.qmp("migrate", uri="exec:cat >/dev/null")
    until(lambda: vm.qmp("query-migrate")["return"].get("cpu-throttle-percentage"), "no vCPU was slowed")
    return vm, None


# ---- what stands still ----

@kind("lost-memory", "page-faults", still=True)
def lost_memory(bench, v):
    """A page of the guest's memory never comes: its vCPU sleeps in KVM_RUN."""
    vm = slow_memory(bench, choose(v, 1, 2), SLOWMEM_PAGES=str(choose(v, 3, 20)))
    time.sleep(1)
    return vm, 1


@kind("no-cpu", "cpu-quota")
def no_cpu(bench, v):
    """The quota is used up in each second before the VM is looked at: a vCPU may not run once in the recording."""
    vm = BusyVm(bench, "web")
    quota(bench, vm, 0.001, 1000000)
    time.sleep(1)
    return vm, 1

@kind("no-kick", "lost-kick", still=True)
def no_kick(bench, v):
    return DiskVm(bench, "web", f"nokick={v % 4 + 1} wait_ms=60000", until_says="hangs"), None


@kind("masked-interrupt", "lost-interrupt", still=True)
def masked_interrupt(bench, v):
    return DiskVm(bench, "web", f"masked={v % 4 + 1} wait_ms=60000", until_says="hangs"), None


@kind("held-request", "request-lost", still=True)
def held_request(bench, v):
    image = bench.path("debug.img")
    with open(image, "wb") as f:
        f.truncate(16 << 20)
    vm = DiskVm(bench, "web", drive=f"driver=raw,file.driver=blkdebug,file.image.driver=file,file.image.filename={image}")
    time.sleep(0.2 * (v % 3))
    answer = vm.qmp("human-monitor-command", **{"command-line": "qemu-io d0 \"break pwritev hold\""})
    if "error" in answer:
        raise Failed(str(answer))
    time.sleep(0.5)
    return vm, None


@kind("stopped-by-signal", "vmm-stopped", still=True)
def stopped_by_signal(bench, v):
    vm = choose(v, BusyVm, DiskVm)(bench, "web")
    vm.process.send_signal(signal.SIGSTOP)
    return vm, None


@kind("paused", "vm-stopped", still=True)
def paused(bench, v):
    vm = choose(v, DiskVm, BusyVm)(bench, "web")
    vm.qmp("stop")
    return vm, None


@kind("throttled-to-a-stop", "disk-throttled", still=True)
def throttled_to_a_stop(bench, v):
    """A request takes minutes."""
    vm = DiskVm(bench, "web", options=f",throttling.bps-total={choose(v, 6, 2, 4)}")
    time.sleep(2)
    return vm, None


@kind("frozen-by-cgroup", "vmm-stopped", still=True)
def frozen_by_cgroup(bench, v):
    directory, v2 = cgroup_new(bench, "freezer")
    vm = choose(v, BusyVm, DiskVm)(bench, "web")
    cgroup_add(directory, v2, vm)
    file, frozen, thawed = ("cgroup.freeze", "1", "0") if v2 else ("freezer.state", "FROZEN", "THAWED")
    bench.undo.append(lambda: write(f"{directory}/{file}", thawed))
    write(f"{directory}/{file}", frozen)
    return vm, None


@kind("debugger", "vmm-stopped", still=True)
def debugger(bench, v):
    vm = choose(v, BusyVm, DiskVm)(bench, "web")
    bench.run(["gdb", "-q", "-nx", "-batch", "-iex", "set auto-load no", "-p", str(vm.pid), "-ex", "shell sleep 100"])
    until(lambda: "\nState:\tt" in open(f"/proc/{vm.pid}/status", encoding="utf-8").read(), "gdb did not stop it", 60)
    return vm, None


@kind("stopped-by-signals", "vmm-stopped")
def stopped_by_signals(bench, v):
    """As cpulimit does it: SIGSTOP and SIGCONT in turn."""
    vm = BusyVm(bench, "web")
    vm.set_word(GO, 1)
    stop = choose(v, 0.2, 0.1, 0.05)
    bench.run(["sh", "-c", f"while kill -STOP {vm.pid}; do sleep {stop}; kill -CONT {vm.pid}; sleep 0.1; done"])
    return vm, None


@kind("stop-and-go", "vm-stopped")
def stop_and_go(bench, v):
    vm = choose(v, BusyVm, DiskVm)(bench, "web")
    stop_s, run_s = choose(v, (0.2, 0.3), (0.5, 0.5), (0.1, 0.4))
    stopped_again_and_again(vm, stop_s, run_s)
    return vm, stop_s / (stop_s + run_s)


@kind("nbd-server-stopped", "server-gone", still=True)
def nbd_server_stopped(bench, v):
    image, path = bench.path("nbd.img"), bench.path("nbd.sock")
    with open(image, "wb") as f:
        f.truncate(16 << 20)
    server = bench.run(["qemu-nbd", "-f", "raw", "-k", path, "-t", image])
    until(lambda: os.path.exists(path), "qemu-nbd did not start")
    vm = DiskVm(bench, "web", f"paced=1000000 ticks={choose(v, 1, 5)}", drive=f"driver=nbd,server.type=unix,server.path={path}")
    server.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    return vm, None


@kind("nbd-server-slow", "disk-slow")
def nbd_server_slow(bench, v):
    path = bench.path("nbd.sock")
    bench.run(["qemu-nbd", "-k", path, "-t", "--image-opts",
               f"driver=null-co,size=16777216,latency-ns={choose(v, 20, 40, 100) * 1000000}"])
    until(lambda: os.path.exists(path), "qemu-nbd did not start")
    return DiskVm(bench, "web", drive=f"driver=nbd,server.type=unix,server.path={path}"), 1


# ---- two at once: either may come first, the other second ----

@kind("quota-and-throttle", "cpu-quota", "disk-throttled")
def quota_and_throttle(bench, v):
    vm = DiskVm(bench, "web", options=f",throttling.iops-total={choose(v, 10, 20)}")
    quota(bench, vm, 0.1)
    return vm, None


@kind("task-and-throttle", "cpu-host-task", "disk-throttled")
def task_and_throttle(bench, v):
    vm = DiskVm(bench, "web", options=f",throttling.iops-total={choose(v, 10, 20)}")
    bench.hog()
    return vm, None


@kind("task-and-slow-backend", "cpu-host-task", "disk-slow")
def task_and_slow_backend(bench, v):
    vm = DiskVm(bench, "web", drive=f"driver=null-co,size=16777216,latency-ns={choose(v, 40, 100) * 1000000}")
    bench.hog()
    return vm, None


@kind("task-and-poll", "cpu-host-task", "exits-port")
def task_and_poll(bench, v):
    vm, lost = port_poll(bench, v)
    for tid in vm.threads():
        os.sched_setaffinity(tid, {CPU})
    bench.hog()
    return vm, lost


@kind("task-and-other-vm", "cpu-host-task", "cpu-other-vm")
def task_and_other_vm(bench, v):
    BusyVm(bench, "db")
    bench.hog()
    return BusyVm(bench, "web"), None  # 2 / 3 of both together


@kind("quota-and-no-kick", "lost-kick", still=True)
def quota_and_no_kick(bench, v):
    vm, lost = no_kick(bench, v)
    quota(bench, vm, 0.1)
    return vm, lost


@kind("stop-and-throttle", "vm-stopped", "disk-throttled")
def stop_and_throttle(bench, v):
    vm = DiskVm(bench, "web", options=f",throttling.iops-total={choose(v, 10, 20)}")
    stopped_again_and_again(vm, 0.3, 0.4)
    return vm, None


@kind("console-and-task", "vmm-syscall", "cpu-host-task")
def console_and_task(bench, v):
    vm, lost = full_console(bench, v)
    for tid in vm.threads():
        os.sched_setaffinity(tid, {CPU})
    bench.hog()
    return vm, lost


@kind("stop-and-task", "vm-stopped", "cpu-host-task")
def stop_and_task(bench, v):
    vm = BusyVm(bench, "web")
    stopped_again_and_again(vm, *choose(v, (0.2, 0.3), (0.3, 0.2)))
    bench.hog()
    return vm, None


@kind("console-and-quota", "vmm-syscall", "cpu-quota")
def console_and_quota(bench, v):
    vm, lost = full_console(bench, v)
    quota(bench, vm, 0.1)
    return vm, lost


@kind("slow-nbd-and-task", "disk-slow", "cpu-host-task")
def slow_nbd_and_task(bench, v):
    vm, lost = nbd_server_slow(bench, v)
    bench.hog()
    return vm, lost


@kind("interrupts-and-task", "cpu-host-irq", "cpu-host-task")
def interrupts_and_task(bench, v):
    vm, lost = host_interrupts(bench, v)
    bench.hog()
    return vm, lost
