# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces that are large in one dimension: a function each, which yields the lines of the text form (doc/format.md).

The number is N, that of the smaller of two traces; the other one has 4 N. guest_of(): the guest's own trace, the text of
tracefs, which is merged.
"""
import functools
import json

dimensions = {}
guests = {}
of_tracefs = {}  # a host's trace in the text of tracefs


def dimension(n):
    def add(function):
        dimensions[function.__name__] = (n, function)
        return function
    return add


def dimension_of_tracefs(n):
    def add(function):
        of_tracefs[function.__name__] = (n, function)
        return function
    return add


def guest_of(name):
    def add(function):
        guests[name] = function
        return function
    return add


# What takes most memory, with N of which each command of MEMORY_MIB may need so much.
memory = {"threads_ready": 60000, "threads_asleep": 60000, "vms": 60000, "vms_stopped": 60000, "vms_without_name": 60000,
          "waiters_of_one": 16000, "meta_vcpus": 28000, "meta_probes": 17000, "tracefs_threads": 60000, "tracefs_processes": 60000, "resets": 50000,
          "devices_busy": 16000, "queues": 16000, "queues_kicked": 16000, "exits_of_one_time": 1000000,
          "exits_with_ends": 400000, "elements": 300000, "types": 16000, "fields": 2500,
          "exits_ready": 60000, "vms_with_queues": 20000,
          "samples": 1200000, "sampled_stacks": 400000, "vm_stops": 300000, "guest_tasks": 300000}


@functools.lru_cache(maxsize=None)
def form_of(name, *keys):
    """Of an event's line, for %: what is not given has a default."""
    given = {key: f"%({key})s" for key in keys}
    return f"{name} " + " ".join(f"{key}={value}" for key, value in {"pid": 10, "tid": 11, "cpu": 0, **given}.items())


def event(us, name, **fields):
    return f"{us // 1000000}.{us % 1000000:06} {form_of(name, *fields) % fields}"


def meta(**keys):
    return "# meta " + json.dumps({"vms": [{"pid": 10, "name": "red"}], **keys})


def clock():
    """The host's TSC has 2 GHz."""
    for second in range(1, 4):
        yield event(second * 1000000, "clock_pair", tsc=second * 2000000000, bracket=50)


def switch(us, prev, following, state=1, **fields):
    return event(us, "sched_switch", prev_tid=prev, prev_state=state, prev_comm=f"t{prev}", next_tid=following,
                 next_comm=f"t{following}", **fields)


def leave(us, **fields):
    return event(us, "kvm_exit", **{"isa": 1, "vcpu": 0, "reason": 30, **fields})


def enter(us, **fields):
    return event(us, "kvm_entry", **{"vcpu": 0, **fields})


# ---- threads and the scheduler ----

@dimension(1600)
def threads_ready(n):
    """Each is preempted, and all wait for a CPU at once, while others run."""
    for i in range(n):
        yield switch(1000000 + 2 * i, 100 + i, 99, 0, tid=100 + i, cpu=i % 8)
    for i in range(n):
        yield event(2000000 + 2 * i, "sched_ran", cpu=i % 8, prev_tid=99, prev_comm="hog", next_tid=98, next_comm="gcc")
    for i in range(n):
        yield switch(3000000 + 2 * i, 99, 100 + i, 0, tid=100 + i, cpu=i % 8)


@dimension(16000)
def files_with_faults(n):
    """Each mapping has a fault."""
    for i in range(n):
        yield event(1000000 + 2 * i, "host_fault", cpu=i % 8, tid=100, ns=1000 + i % 700, gpa=4096 * i, slot=i % 500,
                    seen=0x1014, inode=i + 1, file=f"f{i}")


@dimension(1600)
def threads_in_calls(n):
    """Each begins a system call, all wait in it at once, and return in the other order."""
    for i in range(n):
        yield event(1000000 + 2 * i, "syscall_enter", cpu=i % 8, tid=100 + i, id=i % 400, arg0=i)
    for i in reversed(range(n)):
        yield event(3000000 + 2 * (n - i), "syscall_exit", cpu=i % 8, tid=100 + i, id=i % 400, ret=-(i % 100))


@dimension(1600)
def threads_ready_one_cpu(n):
    """The same of one CPU, with a thread that gets it and leaves it again all the time."""
    for i in range(n):
        yield switch(1000000 + 2 * i, 100 + i, 99, 0, tid=100 + i)
    for i in range(n):
        yield switch(2000000 + 4 * i, 98, 12, 0, tid=12)
        yield switch(2000002 + 4 * i, 12, 98, 1, tid=12)


@dimension(1000)
def exits_ready(n):
    """All vCPUs have left the guest at once; on each CPU one is preempted by the next, so that all wait for one."""
    def vcpu(i):
        return {"pid": 10 + i % 100, "tid": 100 + i, "vcpu": i, "cpu": i % 64}
    for i in range(n):
        yield leave(1000000 + i, **vcpu(i))
    for i in range(n):
        yield event(2000000 + 2 * i, "sched_switch", prev_tid=100 + i, prev_state=0, prev_comm="vcpu",
                    next_tid=164 + i, next_comm="vcpu", **vcpu(i))
    for i in reversed(range(n)):
        yield enter(3000000 + n - i, **vcpu(i))


@dimension(1600)
def threads_asleep(n):
    """Each sleeps on a lock of its own and is woken by another one."""
    for i in range(n):
        yield event(1000000, "thread", tid=100 + i, comm=f"worker{i}")
        yield switch(1000000 + i, 100 + i, 0, 1, tid=100 + i, cpu=i % 8)
        yield event(1000000 + i, "sched_block", tid=100 + i, cpu=i % 8, syscall=202, arg0=4096 * (i + 1), arg1=128,
                    ns_tid=100 + i, owner=101 + i, word=2)
    for i in range(n):
        yield event(2000000 + i, "sched_woken", tid=100 + i, waker_tid=101 + i, waker_pid=10, waker_comm=f"worker{i + 1}")
        yield switch(2500000 + i, 0, 100 + i, 0, tid=100 + i, cpu=i % 8)


@dimension(6000)
def threads_asleep_in_turn(n):
    """One runs after the other, the rest sleeps; the CPU is idle in between."""
    for i in range(n):
        yield switch(1000000 + i, 100 + i, 99, 1, tid=100 + i)
    for i in range(n):
        us = 2000000 + 8 * i
        yield switch(us, 99, 0, 1, tid=99)
        yield switch(us + 2, 0, 100 + i, 0, tid=100 + i)
        yield switch(us + 4, 100 + i, 99, 1, tid=100 + i)


@dimension(1600)
def threads_short(n):
    """Threads that are created and end, one after the other."""
    for i in range(n):
        yield switch(1000000 + 4 * i, 0, 100 + i, 0, tid=100 + i)
        yield switch(1000002 + 4 * i, 100 + i, 0, 128, tid=100 + i)


@dimension(1600)
def tasks_instead(n):
    """While a vCPU waits for a CPU, other tasks run, each once."""
    yield switch(1000000, 11, 99, 0, vcpu=0)
    for i in range(n):
        yield event(1000001 + i, "sched_ran", prev_tid=99 + i, prev_comm=f"t{99 + i}", next_tid=100 + i, next_comm=f"t{100 + i}")
    yield switch(2500000, 99 + n, 11, 0, vcpu=0)


@dimension(1600)
def names(n):
    """A thread gets another name, again and again."""
    for i in range(n):
        yield event(1000000 + 4 * i, "thread", tid=12, comm=f"name{i}")
        yield switch(1000001 + 4 * i, 0, 12, 0, tid=12)
        yield switch(1000002 + 4 * i, 12, 0, 1, tid=12)


@dimension(1600)
def names_of_threads(n):
    for i in range(n):
        yield event(1000000 + i, "thread", tid=100 + i, vcpu=i % 64, comm=f"name{i}")


@dimension(1600)
def stacks(n):
    """Each with a handler of its own, of an event loop."""
    yield event(900000, "thread", tid=12, comm='"IO io0"')
    for i in range(n):
        us = 1000000 + 8 * i
        yield switch(us, 0, 12, 0, tid=12)
        yield event(us + 2, "sched_stack", tid=12, sampled=1, nr=4, stack=f'"memcpy;f{i};handler{i};aio_dispatch;aio_poll;start_thread"')
        yield switch(us + 4, 12, 0, 1, tid=12)
        yield event(us + 4, "sched_block", tid=12, syscall=271, ns_tid=12)


@dimension(1600)
def holders(n):
    """A vCPU waits for the global mutex, which a thread holds in another stack each time."""
    yield meta(locks=[{"pid": 10, "address": 4096, "note": ""}])
    for i in range(n):
        us = 1000000 + 20 * i
        yield leave(us)
        yield event(us + 1, "kvm_userspace_exit", vcpu=0, reason=2)
        yield switch(us + 2, 11, 0, 1, vcpu=0)
        yield event(us + 2, "sched_block", vcpu=0, syscall=202, arg0=4096, arg1=128, ns_tid=11, is_global=1, word=2,
                    owner=12 + i % 1000, global_word=2, global_owner=12 + i % 1000)
        yield event(us + 4, "sched_holder", tid=12 + i % 1000, sampled=1, nr=3, stack=f'"f{i};g{i % 100};main"')
        yield event(us + 6, "sched_woken", vcpu=0, waker_tid=12 + i % 1000, waker_pid=10, waker_comm="qemu")
        yield switch(us + 7, 0, 11, 0, vcpu=0)
        yield event(us + 8, "kvm_run", vcpu=0)
        yield enter(us + 9)


@dimension(1000)
def waiters_of_one(n):
    """All vCPUs wait for the global mutex at once; the thread that has it is switched, and has another stack each time."""
    yield meta(locks=[{"pid": 10, "address": 4096, "note": ""}])
    for i in range(n):
        vcpu = dict(tid=100 + i, vcpu=i, cpu=i % 8)
        us = 1000000 + 4 * i
        yield leave(us, **vcpu)
        yield event(us + 1, "kvm_userspace_exit", reason=2, **vcpu)
        yield switch(us + 2, 100 + i, 0, 1, **vcpu)
        yield event(us + 2, "sched_block", syscall=202, arg0=4096, arg1=128, ns_tid=100 + i, is_global=1, word=2, owner=12,
                    global_word=2, global_owner=12, **vcpu)
    for i in range(n):
        us = 2000000 + 8 * i
        yield switch(us, 12, 99, 0, tid=12)
        yield event(us + 1, "sched_holder", tid=12, sampled=1, nr=3, stack=f'"f{i};g{i % 100};main"')
        yield switch(us + 3, 99, 12, 0, tid=12)
    for i in range(n):
        vcpu = dict(tid=100 + i, vcpu=i, cpu=i % 8)
        us = 4000000 + 6 * i
        yield event(us, "sched_woken", waker_tid=12, waker_pid=10, waker_comm="qemu", **vcpu)
        yield switch(us + 1, 0, 100 + i, 0, **vcpu)
        yield event(us + 2, "kvm_run", **vcpu)
        yield enter(us + 3, **vcpu)


@dimension(1600)
def locks(n):
    """A thread asks for each of them and gets it, and gives none back."""
    for i in range(n):
        yield event(1000000 + 4 * i, "mutex_lock", mutex=64 * (i + 1), line=i)
        yield event(1000001 + 4 * i, "mutex_locked", mutex=64 * (i + 1), line=i)


@dimension(1600)
def locks_waiting(n):
    """Threads that all ask for the global mutex, then get it one after the other."""
    for i in range(n):
        yield event(1000000 + i, "bql_lock", tid=100 + i, line=1)
    for i in range(n):
        yield event(2000000 + 2 * i, "bql_locked", tid=100 + i)
        yield event(2000001 + 2 * i, "bql_unlock", tid=100 + i)


# ---- VMs and vCPUs ----

@dimension(1600)
def vcpus(n):
    for i in range(n):
        vcpu = {"tid": 100 + i, "vcpu": i, "cpu": i % 8}
        yield event(1000000 + 4 * i, "thread", comm=f'"CPU {i}/KVM"', **vcpu)
        yield leave(1000001 + 4 * i, **vcpu)
        yield enter(1000003 + 4 * i, **vcpu)


@dimension(1600)
def vcpus_out(n):
    """All have left the guest at once; the VM stops and runs again meanwhile."""
    for i in range(n):
        vcpu = {"tid": 100 + i, "vcpu": i, "cpu": i % 8}
        yield leave(1000000 + 2 * i, **vcpu)
        yield event(1000001 + 2 * i, "kvm_userspace_exit", reason=10, **vcpu)
    for i in range(n):
        yield event(2000000 + 2 * i, "vm_state", tid=10, running=i % 2, state=9 if i % 2 else 4)
    for i in range(n):
        yield enter(3000000 + i, tid=100 + i, vcpu=i, cpu=i % 8)


@dimension(1600)
def vms(n):
    yield meta(vms=[{"pid": 100 + 2 * i, "name": f"vm{i}", "isa": 1} for i in range(n)])
    for i in range(n):
        vm = {"pid": 100 + 2 * i, "tid": 101 + 2 * i, "cpu": i % 8}
        yield leave(1000000 + 4 * i, **vm)
        yield enter(1000002 + 4 * i, **vm)


@dimension(400)
def vms_with_vcpus(n):
    """As many VMs as each has vCPUs."""
    side = round(n ** .5)
    yield meta(vms=[{"pid": 1000 * (1 + i), "name": f"vm{i}"} for i in range(side)])
    for turn in range(8):
        for i in range(side * side):
            us, vcpu = 1000000 * (1 + turn) + 4 * i, {"pid": 1000 * (1 + i % side), "tid": 1000 * (1 + i % side) + 1 + i // side,
                                                      "vcpu": i // side, "cpu": i % 64}
            yield leave(us, reason=(30, 12, 48)[turn % 3], **vcpu)
            yield enter(us + 2 + turn, **vcpu)


@dimension(500)
def vms_equal(n):
    """All VMs have the same exits, for most of the time: each could be the worst."""
    yield meta(vms=[{"pid": 100 + i, "name": f"vm{i}"} for i in range(n)],
               limits={"cgroups": [{"pid": 100 + i, "path": f"/vm{i}", "tids": [100000 + i]} for i in range(n)],
                       "vms": [{"pid": 100 + i, "swapped": 1} for i in range(n)]})
    for turn in range(3):
        for us in (1000000 * (1 + turn), 1000000 * (1 + turn) + 500000):
            for i in range(n):
                vm = {"pid": 100 + i, "tid": 100000 + i}
                yield enter(us + i, **vm) if us % 1000000 else leave(us + i, reason=12, **vm)


@dimension(1600)
def vms_stopped(n):
    """VMs that are paused, and those that migrate, with all their steps."""
    yield meta(vms=[{"pid": 100 + i, "name": f"vm{i}"} for i in range(n)])
    for i in range(n):
        vm = {"pid": 100 + i, "tid": 100 + i}
        yield event(1000000 + i, "vm_state", running=0, state=7 if i % 2 else 4, **vm)
        yield event(1100000 + i, "migrate_step", step=1, **vm)
        yield event(1200000 + i, "migrate_step", step=2, **vm)
    for i in range(n):
        yield event(2000000 + i, "vm_state", pid=100 + i, tid=100 + i, running=1, state=9)


@dimension(1600)
def vm_stops(n):
    """One VM is paused again and again."""
    for i in range(n):
        yield event(1000000 + 10 * i, "kvm_userspace_exit", vcpu=0, reason=10)
        yield event(1000001 + 10 * i, "vm_state", tid=10, running=0, state=4)
        yield event(1000005 + 10 * i, "vm_state", tid=10, running=1, state=9)
        yield enter(1000007 + 10 * i)


@dimension(1600)
def vms_without_name(n):
    for i in range(n):
        yield leave(1000000 + 4 * i, pid=100 + i, tid=100 + i)


@dimension(1600)
def cpus(n):
    """A vCPU is on another CPU each time."""
    for i in range(n):
        yield leave(1000000 + 4 * i, cpu=i)
        yield enter(1000002 + 4 * i, cpu=i)


# ---- exits ----

@dimension(1600)
def reasons(n):
    for i in range(n):
        yield leave(1000000 + 4 * i, reason=i)
        yield enter(1000002 + 4 * i)


@dimension(1600)
def userspace_reasons(n):
    for i in range(n):
        yield leave(1000000 + 8 * i)
        yield event(1000002 + 8 * i, "kvm_userspace_exit", vcpu=0, reason=i)
        yield event(1000004 + 8 * i, "kvm_run", vcpu=0)
        yield enter(1000006 + 8 * i)


@dimension(1600)
def exits_of_one_time(n):
    """No watermark is between them: they wait for each other."""
    for _ in range(n):
        yield leave(1000000)


@dimension(1600)
def exits_with_ends(n):
    """Each is a row of a list of spans."""
    for i in range(n):
        yield leave(1000000 + 4 * i)
        yield enter(1000002 + 4 * i)


@dimension(1600)
def instruction_pointers(n):
    for i in range(n):
        yield leave(1000000 + 4 * i, rip=4096 + 16 * i)
        yield enter(1000002 + 4 * i, rip=4098 + 16 * i)


@dimension(1600)
def ports(n):
    for i in range(n):
        yield leave(1000000 + 4 * i)
        yield event(1000001 + 4 * i, "kvm_pio", vcpu=0, port=i, size=1, count=1, write=i % 2)
        yield enter(1000002 + 4 * i)


@dimension(1600)
def pages(n):
    for i in range(n):
        yield leave(1000000 + 8 * i, reason=48)
        yield event(1000001 + 8 * i, "kvm_page_fault", vcpu=0, addr=4096 * i)
        yield event(1000002 + 8 * i, "kvm_mmio", vcpu=0, gpa=4096 * i, size=4, type=1 + i % 2)
        yield enter(1000004 + 8 * i)


@dimension(1600)
def msrs(n):
    for i in range(n):
        yield leave(1000000 + 4 * i, reason=32)
        yield event(1000001 + 4 * i, "kvm_msr", vcpu=0, msr=i, write=i % 2)
        yield enter(1000002 + 4 * i)


@dimension(1600)
def nested_begins(n):
    """Exits, requests of mutexes, polls and others that begin again before they end."""
    for i in range(n):
        us = 1000000 + 10 * i
        yield leave(us)
        yield event(us + 1, "kvm_userspace_exit", vcpu=0, reason=2)
        yield event(us + 2, "bql_lock", line=i)
        yield event(us + 3, "bql_locked")
        yield event(us + 4, "poll_begin", ctx=4096)
        yield event(us + 5, "qemu_poll", nfds=1)
        yield event(us + 6, "kvm_halt_poll_ns", vcpu=0, new_ns=i, old_ns=0)


@dimension(1600)
def nested_guests(n):
    for i in range(n):
        us = 1000000 + 8 * i
        yield leave(us, reason=12)
        yield event(us, "kvm_nested_vmexit", vcpu=0, reason=12, isa=1, rip=16 * i)
        yield event(us + 1, "kvm_nested_vmexit_inject", vcpu=0, reason=12, isa=1)
        yield enter(us + 3)


@dimension(1600)
def guest_tasks(n):
    for i in range(n):
        us = 1000000 + 4 * i
        yield event(us, "guest_task", vcpu=0, task=4096 * (i + 1), guest_tid=i + 1, guest_pid=i + 1, guest_comm=f"task{i}")
        yield leave(us)
        yield enter(us + 2)


@dimension(1600)
def probes_dropped(n):
    for i in range(n):
        yield leave(1000000 + 4 * i)
        yield event(1000001 + 4 * i, "probe_dropped", cost=5, share=1000, limit=100, dropped_event=1 + i % 17)
        yield enter(1000002 + 4 * i)


# ---- interrupts ----

@dimension(1600)
def interrupts_pending(n):
    """Interrupts of many vectors and vCPUs are accepted, all before one is injected."""
    for i in range(n):
        yield event(900000 + i, "kvm_eoi", tid=100 + i, vcpu=i, apic_id=i, vector=-1)
    for i in range(n):
        yield event(1000000 + 2 * i, "kvm_msi_set_irq", tid=13, address=0xfee00000 + (i % 256 << 12), data=0x4020 + i % 200)
        yield event(1000001 + 2 * i, "kvm_apic_accept_irq", tid=13, apic_id=i, vector=32 + i % 200)
    for i in range(n):
        yield event(2000000 + 4 * i, "kvm_inj_virq", tid=100 + i, vcpu=i, vector=32 + i % 200)
        yield event(2000002 + 4 * i, "kvm_eoi", tid=100 + i, vcpu=i, apic_id=i, vector=32 + i % 200)


@dimension(1600)
def interrupt_lines(n):
    for i in range(n):
        us = 1000000 + 8 * i
        yield event(us, "kvm_set_irq", tid=13, gsi=i, level=1)
        yield event(us, "kvm_ioapic_set_irq", tid=13, pin=i, vector=32 + i % 200)
        yield event(us + 1, "kvm_apic_accept_irq", tid=13, apic_id=0, vector=32 + i % 200)
        yield event(us + 2, "kvm_inj_virq", vcpu=0, vector=32 + i % 200)
        yield event(us + 4, "kvm_eoi", vcpu=0, apic_id=0, vector=32 + i % 200)


@dimension(1600)
def timers(n):
    yield from clock()
    yield event(1000000, "vcpu_tsc", vcpu=0, offset=-1000)
    for i in range(n):
        us = 1000000 + 8 * i
        yield event(us, "kvm_apic_accept_irq", vcpu=i, tid=100 + i, apic_id=i, vector=236)
        yield event(us, "kvm_timer_irq", vcpu=i, tid=100 + i, deadline_tsc=2 * us * 1000 - 5000, vector=236)
        yield event(us + 1, "kvm_inj_virq", vcpu=i, tid=100 + i, vector=236)
        yield event(us + 2, "kvm_entry", vcpu=i, tid=100 + i)


# ---- devices of QEMU ----

def element(us, name, i, **fields):
    return event(us, name, **{"tid": 13, "vdev": 4096, "vq": 8192, "head": i, "elem": 65536 + 64 * i, "queue": 0, **fields})


@dimension(1600)
def queues(n):
    for i in range(n):
        queue = {"vdev": 4096 * (1 + i // 64), "vq": 1 << 32 | 64 * i, "queue": i % 64}
        yield event(1000000 + 8 * i, "virtio_queue_notify", **queue)
        yield element(1000001 + 8 * i, "virtqueue_pop", 1, in_num=1, out_num=1, ndescs=2, **queue)
        yield element(1000003 + 8 * i, "virtqueue_fill", 1, **queue)
        yield event(1000004 + 8 * i, "virtqueue_flush", tid=13, count=1, **queue)
        yield event(1000005 + 8 * i, "virtio_notify", tid=13, **queue)


@dimension(1600)
def elements(n):
    """All are in flight at once; half of them are returned."""
    for i in range(n):
        yield element(1000000 + i, "virtqueue_pop", i % 32768, vq=8192 + 64 * (i // 32768))
    for i in range(n // 2):
        yield element(5000000 + i, "virtqueue_fill", i % 32768, vq=8192 + 64 * (i // 32768))


@dimension(1600)
def queues_kicked(n):
    """All are notified and have an element in flight at once."""
    for i in range(n):
        queue = {"vdev": 4096 * (1 + i), "vq": 1 << 32 | 64 * i}
        yield event(1000000 + i, "virtio_queue_notify", queue=0, **queue)
        yield element(1500000 + i, "virtqueue_pop", 1, **queue)
    for i in range(n):
        queue = {"vdev": 4096 * (1 + i), "vq": 1 << 32 | 64 * i}
        yield element(2000000 + 2 * i, "virtqueue_fill", 1, **queue)


@dimension(1600)
def heads(n):
    """All are in flight at once, and come back in the reverse order."""
    for i in range(n):
        yield element(1000000 + i, "virtqueue_pop", i, in_num=1, out_num=1, ndescs=2)
    for i in reversed(range(n)):
        yield element(2000000 + 2 * (n - i), "virtqueue_fill", i)


@dimension(1600)
def heads_lost(n):
    """None comes back."""
    for i in range(n):
        yield element(1000000 + i, "virtqueue_pop", i)


@dimension(1600)
def heads_put_back(n):
    """Elements are put back: rewound, unpopped, detached."""
    for i in range(n):
        yield element(1000000 + 2 * i, "virtqueue_pop", i)
    for i in range(n):
        us = 2000000 + 2 * i
        if i % 3 == 0:
            yield event(us, "virtqueue_rewind", tid=13, vdev=4096, vq=8192, count=1)
        else:
            yield element(us, "virtqueue_unpop" if i % 3 == 1 else "virtqueue_detach", i)


@dimension(1600)
def resets(n):
    """Devices with elements in flight are reset, each many times."""
    for i in range(n):
        queue = {"vdev": 4096 * (1 + i), "vq": 1 << 32 | 64 * i}
        yield element(1000000 + i, "virtqueue_pop", 1, **queue)
    for i in range(n):
        us, vdev = 2000000 + 8 * i, 4096 * (1 + i)
        yield event(us, "virtio_set_status", tid=13, vdev=vdev, status=0)
        yield event(us + 1, "virtio_reset", tid=13, vdev=vdev, leave=0)
        yield event(us + 2, "virtio_reset", tid=13, vdev=vdev, leave=1)
        yield event(us + 3, "virtio_queue_reset", tid=13, vdev=vdev, queue=0)
        yield event(us + 4, "virtio_error", tid=13, vdev=vdev)


@dimension(1600)
def resets_of_one(n):
    """A device with elements in flight is reset, while other queues have elements in flight."""
    for i in range(n):
        yield element(1000000 + i, "virtqueue_pop", i, vdev=8192, vq=1 << 32)
    for i in range(n):
        us = 2000000 + 10 * i
        yield element(us, "virtqueue_pop", 1)
        yield event(us + 1, "virtio_reset", tid=13, vdev=4096, leave=0)
        yield event(us + 2, "virtio_reset", tid=13, vdev=4096, leave=1)
        yield event(us + 3, "virtqueue_drop_all", tid=13, vdev=4096, vq=8192, leave=0)
        yield event(us + 4, "virtqueue_drop_all", tid=13, vdev=4096, vq=8192, leave=1)
        yield event(us + 5, "virtio_delete_queue", tid=13, vdev=4096, vq=8192, queue=0)
        yield event(us + 6, "virtio_cleanup", tid=13, vdev=4096)


@dimension(1600)
def resets_of_queues(n):
    """A device of many queues is reset again and again, each time with an element of another one in flight."""
    for i in range(n):
        yield element(1000000 + i, "virtqueue_pop", 1, vq=1 << 32 | 64 * i, queue=i)
    for i in range(n):
        us = 2000000 + 10 * i
        yield element(us, "virtqueue_pop", 2, vq=1 << 32 | 64 * i, queue=i)
        yield event(us + 1, "virtio_reset", tid=13, vdev=4096, leave=0)
        yield event(us + 2, "virtio_reset", tid=13, vdev=4096, leave=1)
        yield event(us + 3, "virtio_cleanup", tid=13, vdev=4096)


@dimension(1600)
def devices(n):
    for i in range(n):
        yield event(1000000 + i, "virtio_device", vdev=4096 * (1 + i), path=f"/machine/peripheral/disk{i}/virtio-backend")
        yield event(1000000 + i, "virtio_kind", vdev=4096 * (1 + i), kind="virtio-blk")
        if i % 2:
            yield event(1000001 + i, "vhost_start", vdev=4096 * (1 + i))


@dimension(1600)
def devices_busy(n):
    """Each has a name, and requests with all stages."""
    for i in range(n):
        yield event(1000000 + i, "virtio_device", vdev=4096 * (1 + i), path=f"/machine/peripheral/disk{i}/virtio-backend")
    for i in range(4 * n):
        us, device = 2000000 + 20 * i, i % n
        queue = {"vdev": 4096 * (1 + device), "vq": 1 << 32 | 64 * device, "queue": 0}
        yield event(us, "virtio_queue_notify", **queue)
        yield element(us + 1, "virtqueue_pop", 1, **queue)
        yield element(us + 4, "virtqueue_fill", 1, **queue)
        yield event(us + 5, "virtqueue_flush", tid=13, count=1, **queue)
        yield event(us + 7, "virtio_notify", tid=13, **queue)


@dimension(1600)
def device_names(n):
    """A device gets another name, again and again."""
    for i in range(n):
        yield event(1000000 + 8 * i, "virtio_device", vdev=4096, path=f"/machine/peripheral/disk{i}/virtio-backend")
        yield element(1000001 + 8 * i, "virtqueue_pop", 1)
        yield element(1000003 + 8 * i, "virtqueue_fill", 1)


@dimension(1600)
def block_requests(n):
    """All are in flight at once: QEMU's, the block layer's and the host's."""
    for i in range(n):
        us = 1000000 + 8 * i
        yield element(us, "virtqueue_pop", i)
        yield event(us + 1, "blk_request", tid=13, vq=8192, head=i, sector=8 * i)
        yield event(us + 2, "vblk_request", tid=13, vdev=4096, req=64 * (i + 1), sector=8 * i, nsectors=8)
        yield event(us + 3, "block_begin", tid=13, cookie=64 * (i + 1), bytes=4096, type=1)
        yield event(us + 4, "co_enter", tid=13, ctx=1, co=64 * (i + 1))
    for i in range(n):
        us = 2000000 + 8 * i
        yield event(us, "host_io", tid=13, total_ns=500000, device_ns=1000, sector=8 * i, bytes=4096)
        yield event(us + 1, "block_end", tid=13, cookie=64 * (i + 1))
        yield event(us + 2, "vblk_done", tid=13, vdev=4096, req=64 * (i + 1))
        yield event(us + 3, "co_end", tid=13, co=64 * (i + 1))
        yield element(us + 4, "virtqueue_fill", i)


@dimension(1600)
def qemu_objects(n):
    """Bottom halves, regions, timers, memory, contexts."""
    for i in range(n):
        us, address = 1000000 + 10 * i, 64 * (i + 1)
        yield event(us, "bh_schedule", bh=address)
        yield event(us + 1, "region_write", mr=address, addr=i, val=0, size=4)
        yield event(us + 2, "timer_mod", timer=address, expire_ns=i)
        yield event(us + 3, "heap_alloc", bytes=4096, address=address)
        yield event(us + 4, "aio_poll", ctx=address, blocking=1)
        yield event(us + 5, "vcpu_ioctl", cpu=address, cmd=0xae80)


# ---- two dimensions at once: n in all ----

@dimension(2500)
def threads_with_locks(n):
    """As many threads as locks: each waits for each, which another one holds."""
    side = round(n ** .5)
    yield meta(locks=[{"pid": 10, "address": 4096 * (i + 1), "note": f"lock {i}"} for i in range(side)])
    for i in range(side * side):
        us, tid, lock = 1000000 + 10 * i, 100 + i % side, i // side
        yield switch(us, tid, 0, 1, tid=tid, cpu=tid % 8)
        yield event(us, "sched_block", tid=tid, cpu=tid % 8, syscall=202, arg0=4096 * (lock + 1), arg1=128, ns_tid=tid,
                    owner=100 + (tid + 1 + lock) % side, word=2)
        yield event(us + 3, "sched_woken", tid=tid, waker_tid=100 + (i + 7) % side, waker_pid=10, waker_comm=f"w{i % side}")
        yield switch(us + 5, 0, tid, 0, tid=tid, cpu=tid % 8)
        yield event(us + 6, "mutex_lock", tid=tid, mutex=64 * (lock + 1), line=i)
        yield event(us + 8, "mutex_locked", tid=tid, mutex=64 * (lock + 1), line=i)


@dimension(2500)
def vcpus_with_ports(n):
    side = round(n ** .5)
    for i in range(side * side):
        us, vcpu = 1000000 + 8 * i, dict(tid=100 + i % side, vcpu=i % side, cpu=i % 8)
        yield leave(us, **vcpu)
        yield event(us + 1, "kvm_pio", port=i // side, size=1, count=1, write=i % 2, **vcpu)
        yield event(us + 2, "kvm_userspace_exit", reason=2, **vcpu)
        yield event(us + 4, "kvm_run", **vcpu)
        yield enter(us + 6, **vcpu)


@dimension(2500)
def vcpus_with_gaps(n):
    """Gaps of all CPUs, while vCPUs leave and enter the guest on each."""
    side = round(n ** .5)
    for i in range(side * side):
        us, vcpu = 1000000 + 8 * i, dict(tid=100 + i % side, vcpu=i % side, cpu=i // side)
        yield leave(us, **vcpu)
        yield event(us + 1, "gap", gap_cpu=(i + 1) % side, until=1000 * us + 4000 + 1000 * side)
        yield event(us + 1, "lost", count=3, lost_cpu=i % side, lost_event=(1, 18, 32)[i % 3], until=1000 * us + 5000)
        yield enter(us + 6, **vcpu)


@dimension(2500)
def vms_with_queues(n):
    side = round(n ** .5)
    yield meta(vms=[{"pid": 100 + i, "name": f"vm{i}"} for i in range(side)])
    for i in range(side * side):
        q = dict(pid=100 + i % side, tid=100 + i % side, vdev=4096 * (1 + i // side), vq=1 << 32 | 64 * i, queue=0)
        us = 1000000 + 8 * i
        yield event(us, "virtio_device", pid=q["pid"], tid=q["tid"], vdev=q["vdev"], path=f"/machine/peripheral/disk{i // side}/virtio-backend")
        yield event(us, "virtio_queue_notify", **q)
        yield element(us + 1, "virtqueue_pop", 1, in_num=1, out_num=1, ndescs=2, **q)
    for i in range(side * side):
        q = dict(pid=100 + i % side, tid=100 + i % side, vdev=4096 * (1 + i // side), vq=1 << 32 | 64 * i, queue=0)
        us = 2000000 + 8 * i
        yield element(us + 3, "virtqueue_fill", 1, **q)
        yield event(us + 5, "virtio_notify", **q)


@dimension(1600)
def vms_waiting(n):
    """In each VM, a vCPU sleeps while a disk has requests, of which one does not return."""
    yield meta(vms=[{"pid": 100 + 2 * i, "name": f"vm{i}", "isa": 1} for i in range(n)])
    for i in range(n):
        vm = dict(pid=100 + 2 * i, tid=100 + 2 * i, cpu=i % 8)
        q = dict(vdev=4096 * (1 + i), vq=1 << 32 | 64 * i, queue=0, **vm)
        us = 1000000 + 16 * i
        yield event(us, "virtio_device", pid=q["pid"], tid=q["tid"], vdev=q["vdev"], path="/machine/peripheral/disk0/virtio-backend")
        yield element(us + 1, "virtqueue_pop", 1, in_num=1, out_num=1, ndescs=2, **q)
        yield element(us + 2, "virtqueue_pop", 2, in_num=1, out_num=1, ndescs=2, **q)
        yield leave(us + 3, **{**vm, "tid": vm["tid"] + 1, "reason": 12})
        yield switch(us + 4, vm["tid"] + 1, 0, **{**vm, "tid": vm["tid"] + 1})
    for i in range(n):
        vm = dict(pid=100 + 2 * i, tid=100 + 2 * i, cpu=i % 8)
        q = dict(vdev=4096 * (1 + i), vq=1 << 32 | 64 * i, queue=0, **vm)
        us = 4000000 + 16 * i
        yield element(us + 3, "virtqueue_fill", 1, **q)
        yield event(us + 5, "virtio_notify", **q)
        yield switch(us + 6, 0, vm["tid"] + 1, **{**vm, "tid": vm["tid"] + 1})
        yield enter(us + 7, **{**vm, "tid": vm["tid"] + 1})


# ---- samples ----

@dimension(1600)
def samples(n):
    for i in range(n):
        yield event(1000000 + 10 * i, "guest_sample", vcpu=0, rip=0xffffffff81000000 + 64 * i, where=i % 3)


@dimension(1600)
def sampled_stacks(n):
    for i in range(n):
        yield event(1000000 + 10 * i, "guest_stack", vcpu=0, rip=0xffffffff81000000 + 64 * i, nr=3, frame0=65536 + 64 * i,
                    frame1=4096 + 64 * (i % 1000), frame2=4096 + 64 * (i % 10))


@dimension(1600)
def host_stacks(n):
    """Many places in one file, and in the kernel."""
    yield "# meta " + json.dumps({"code_maps": [
        {"pid": 1, "time_ns": 0, "file": "/opt/vmm", "start": 1 << 40, "len": 1 << 30, "offset": 0}]})
    for i in range(n):
        yield event(1000000 + 10 * i, "host_stack", pid=1, vcpu=0, nr_kernel=1, nr_user=2, frame0=0xffffffff81000000 + 64 * i,
                    frame1=(1 << 40) + 64 * i, frame2=(1 << 40) + 64 * (i % 10))


# ---- the file: types, gaps, losses, metadata ----

@dimension(2500)
def types(n):
    """Ten events of each type."""
    for i in range(n):
        yield "# type " + json.dumps({"name": f"t:type{i}", "size": 32, "doc": "", "fields": [
            {"name": "value", "kind": "uint", "offset": 24, "size": 8}]})
    for i in range(10 * n):
        yield event(1000000 + 2 * i, f"t:type{i % n}", value=i)


@dimension(300)
def fields(n):
    """Types with about as many fields as a type may have."""
    for i in range(n):
        yield "# type " + json.dumps({"name": f"t:type{i}", "size": 24 + 8 * 60, "doc": "", "fields": [
            {"name": f"f{i}_{k}", "kind": "uint", "offset": 24 + 8 * k, "size": 8} for k in range(60)]})
        yield event(1000000 + 2 * i, f"t:type{i}", tid=11 + i % 100)


@dimension(1600)
def gaps(n):
    for i in range(n):
        yield leave(1000000 + 8 * i)
        yield event(1000002 + 8 * i, "gap", gap_cpu=i % 8, until=1000004000 + 8000 * i)
        yield enter(1000006 + 8 * i)


@dimension(1600)
def gaps_overlapping(n):
    for i in range(n):
        yield event(1000000 + i, "gap", gap_cpu=i % 64, until=3000000000 + i)
    for i in range(n):
        yield leave(2000000 + 8 * i, cpu=i % 64)
        yield switch(2000002 + 8 * i, 0, 11, 0, cpu=i % 64)
        yield element(2000003 + 8 * i, "virtqueue_pop", i)
        yield enter(2000006 + 8 * i, cpu=i % 64)


@dimension(1600)
def losses(n):
    for i in range(n):
        yield leave(1000000 + 8 * i)
        yield event(1000002 + 8 * i, "lost", count=3, lost_cpu=i % 8, lost_event=1 + i % 57, until=1000004000 + 8000 * i)
        yield enter(1000006 + 8 * i)


@dimension(1600)
def losses_overlapping(n):
    for i in range(n):
        yield event(1000000 + i, "lost", count=3, lost_cpu=i % 64, lost_event=(1, 18, 32)[i % 3], until=3000000000 + i)
    for i in range(n):
        yield leave(2000000 + 8 * i, cpu=i % 64)
        yield switch(2000002 + 8 * i, 0, 11, 0, cpu=i % 64)
        yield element(2000003 + 8 * i, "virtqueue_pop", i)
        yield enter(2000006 + 8 * i, cpu=i % 64)


@dimension(1600)
def losses_of_threads(n):
    """Threads that wait, sleep or run when events are lost, again and again."""
    for i in range(n):
        yield switch(1000000 + i, 100 + i, 99, i % 2, tid=100 + i, cpu=i % 8)
        yield element(1200000 + i, "virtqueue_pop", 1, vdev=4096 * (1 + i), vq=1 << 32 | 64 * i)
        yield leave(1400000 + i, tid=1000000 + i, vcpu=i)
        yield event(1600000 + i, "bql_lock", tid=100 + i)
    for i in range(n):
        yield event(2000000 + 2 * i, "lost", count=1, lost_cpu=i % 8, lost_event=(0, 1, 18, 32)[i % 4],
                    until=2000001000 + 2000 * i)


@dimension(1600)
def losses_of_types(n):
    """Losses of types that are the file's own."""
    for i in range(n):
        yield event(1000000 + 2 * i, "lost", count=1, lost_cpu=0, lost_event=i % 60000, until=1000001000 + 2000 * i)


def few_events():
    for i in range(10):
        yield leave(1000000 + 8 * i)
        yield enter(1000006 + 8 * i)


@dimension(1600)
def meta_probes(n):
    yield meta(probes=[{"event": f"event{i}", "how": ("absent", "usdt")[i % 2], "where": f"place{i}", "reason": f"because {i}"}
                       for i in range(n)])
    yield from few_events()


@dimension(1600)
def meta_probes_of_one(n):
    yield meta(probes=[{"event": "kvm_exit", "how": "absent", "where": f"place{i}", "reason": "because"} for i in range(n)])
    yield from few_events()


@dimension(1600)
def meta_locks(n):
    yield meta(locks=[{"pid": 10 + i, "address": 64 * i, "note": f"note {i}"} for i in range(n)])
    yield from few_events()


@dimension(1600)
def meta_regions(n):
    yield meta(regions=[{"pid": 10, "start": [["port", 16 * i, 16 * i + 15, f"device{i}"] for i in range(n)] +
                         [["mmio", 4096 * i, 4096 * i + 4095, f"region{i}"] for i in range(n)]}])
    for i in range(n):
        yield event(1000000 + 4 * i, "kvm_pio", vcpu=0, port=16 * i, size=1, count=1)
        yield event(1000001 + 4 * i, "kvm_mmio", vcpu=0, gpa=4096 * i, size=4, type=1)


@dimension(3000)
def meta_regions_of_vms(n):
    yield meta(regions=[{"pid": 10 + i, "start": [["port", 16, 31, f"device{i}"]]} for i in range(n)])
    for i in range(n):
        yield event(1000000 + 4 * i, "kvm_pio", pid=10 + i, vcpu=0, port=16, size=1, count=1)


@dimension(1600)
def meta_lost(n):
    yield meta(lost={f"event{i}": i for i in range(n)})
    yield from few_events()


@dimension(1600)
def meta_keys(n):
    yield meta(**{f"key{i}": i for i in range(n)})
    yield from few_events()


@dimension(1600)
def meta_texts(n):
    """Arrays and objects of a few texts each: command, options, notes, guests."""
    yield meta(command=[f"-{i}" for i in range(n)], options={f"option{i}": str(i) for i in range(n)},
               notes=[f"note {i}" for i in range(n)],
               guests=[{"source": f"s{i}", "file": f"f{i}", "kind": "guest-ring", "bytes": i, "units": i} for i in range(n)])
    yield from few_events()


@dimension(1600)
def meta_vcpus(n):
    yield meta(vms=[{"pid": 10, "name": "red", "vcpus": [{"index": i, "tid": 100 + i} for i in range(n)],
                     "devices": [f"virtio-blk-pci,id=disk{i}" for i in range(n)]}])
    yield from few_events()


@dimension(300)
def meta_chunks(n):
    """Metadata that are overridden again and again."""
    for i in range(n):
        yield meta(options={"round": i}, notes=[f"note {i}"], resolution_ns=2 + i, **{f"key{i}": i})
        yield leave(1000000 + 4 * i)
        yield enter(1000002 + 4 * i)


# ---- clocks ----

@dimension(1600)
def clock_pairs(n):
    for i in range(n):
        yield event(1000000 + 8 * i, "clock_pair", tsc=2 * (1000000 + 8 * i) * 1000 + i % 7, bracket=50)
        yield leave(1000001 + 8 * i)
        yield enter(1000006 + 8 * i)


@dimension(1600)
def tsc_of_vcpus(n):
    yield from clock()
    for i in range(n):
        yield event(1000000 + i, "vcpu_tsc", tid=100 + i, vcpu=i, offset=-1000 - i, scale=0, scale_bits=0)
        yield leave(2000000 + 4 * i, tid=100 + i, vcpu=i)
        yield enter(2000002 + 4 * i, tid=100 + i, vcpu=i)


@dimension(1600)
def tsc_offsets(n):
    """The offset of a vCPU changes again and again."""
    yield from clock()
    for i in range(n):
        yield event(1000000 + 8 * i, "vcpu_tsc", vcpu=0, offset=-1000 - 1000 * i)
        yield leave(1000001 + 8 * i)
        yield enter(1000003 + 8 * i)
        yield event(1000004 + 8 * i, "kvm_write_tsc_offset", vcpu=0, target=0, old=-1000 - 1000 * i, new=-2000 - 1000 * i)


@dimension(1600)
def pvclocks(n):
    yield from clock()
    for i in range(n):
        yield leave(1000000 + 8 * i)
        yield event(1000002 + 8 * i, "kvm_pvclock_update", vcpu=0, target=0, tsc_timestamp=2 * (1000002 + 8 * i) * 1000,
                    system_time=8000 * i, mul=1 << 31, shift=0, version=2 * i)
        yield enter(1000006 + 8 * i)


def guest_line(us, name, text, cpu=0, task="dd-7"):
    return f"{task:>16} [{cpu:03}] d..2. {us // 1000000:5}.{us % 1000000:06}: {name}: {text}"


def guest_switch(us, prev, following, cpu=0):
    return guest_line(us, "sched_switch", f"prev_comm=t{prev} prev_pid={prev} prev_prio=120 prev_state=S ==> "
                      f"next_comm=t{following} next_pid={following} next_prio=120", cpu, f"t{prev}-{prev}")


@dimension(1600)
def guest_events(n):
    """A guest with as many tasks as events; its clock is that of the host."""
    for i in range(n):
        yield enter(1000000 + 8 * i)
        yield leave(1000004 + 8 * i)


@guest_of("guest_events")
def guest_events_lines(n):
    for i in range(n):
        yield guest_switch(1000002 + 8 * i, 1 + i, 2 + i)


@dimension(1600)
def guest_requests(n):
    """All of the guest's block requests are in flight at once."""
    yield event(1000000, "virtio_device", vdev=4096, path="/machine/peripheral/disk0/virtio-backend")
    for i in range(n):
        yield enter(1000000 + 8 * i)
        yield leave(1000004 + 8 * i)
        yield event(1000005 + 8 * i, "virtio_queue_notify", vdev=4096, vq=8192, queue=0)
        yield element(1000006 + 8 * i, "virtqueue_pop", i, in_num=1, out_num=1)
    for i in range(n):
        yield element(2000000 + 8 * i, "virtqueue_fill", i)
        yield event(2000001 + 8 * i, "virtio_notify", tid=13, vdev=4096, vq=8192, queue=0)
        yield enter(2000002 + 8 * i)
        yield leave(2000006 + 8 * i)


@guest_of("guest_requests")
def guest_requests_lines(n):
    for i in range(n):
        yield guest_line(1000002 + 8 * i, "block_rq_issue", f"254,0 R 4096 () {8 * i} + 8 [dd]")
    for i in range(n):
        yield guest_line(2000004 + 8 * i, "block_rq_complete", f"254,0 R () {8 * i} + 8 [0]")


@dimension(10000)
def requests_around_one(n):
    """A request that takes long, and n short ones meanwhile."""
    yield event(1000000, "virtio_device", vdev=4096, path="/machine/peripheral/disk0/virtio-backend")
    yield element(1000003, "virtqueue_pop", 9, in_num=1, out_num=1)
    for i in range(n):
        us = 1000010 + 20 * i
        yield event(us + 5, "virtio_queue_notify", vdev=4096, vq=8192, queue=0)
        yield element(us + 6, "virtqueue_pop", 10 + i % 100, in_num=1, out_num=1)
        yield element(us + 9, "virtqueue_fill", 10 + i % 100)
    yield element(1000020 + 20 * n, "virtqueue_fill", 9)


@guest_of("requests_around_one")
def requests_around_one_lines(n):
    yield guest_line(1000001, "block_rq_issue", "254,0 R 4096 () 999999999 + 8 [dd]")
    for i in range(n):
        us = 1000010 + 20 * i
        yield guest_line(us + 2, "block_rq_issue", f"254,0 R 4096 () {8 * i} + 8 [dd]")
        yield guest_line(us + 13, "block_rq_complete", f"254,0 R () {8 * i} + 8 [0]")
    yield guest_line(1000025 + 20 * n, "block_rq_complete", "254,0 R () 999999999 + 8 [0]")


# ---- a host's ftrace ----

def host_line(us, tid, tgid, name, text):
    return f"  q-{tid} ({tgid or '-------':>7}) [001] d..1  {us // 1000000}.{us % 1000000:06}: {name}: {text}"


@dimension_of_tracefs(15000)
def tracefs_threads(n):
    """Threads without a process: each is a VM of its own, as they run a vCPU of the same number."""
    for i in range(n):
        yield host_line(1000000 + i, 1 + i, 0, "kvm_entry", f"vcpu {i % 1000}")


@dimension_of_tracefs(4096)
def tracefs_processes(n):
    for i in range(n):
        yield host_line(1000000 + i, 1 + i, 1 + i // 4, "kvm_entry", f"vcpu {i % 4}")
