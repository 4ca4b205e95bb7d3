# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces of an OSv guest that are large in one dimension: functions as in dimensions.py, which yield samples."""
import struct

traces = {}

# Name: the signature and the format of its arguments.
TRACEPOINTS = {
    "sched_wait": ("", ""),
    "sched_wait_ret": ("", ""),
    "sched_idle": ("", ""),
    "sched_idle_ret": ("", ""),
    "sched_wake": ("P", "wake %p"),
    "sched_load": ("Q", "load=%d"),
    "sched_queue": ("P", "queue %p"),
    "mutex_lock_wait": ("P", "%p"),
    "mutex_lock_wake": ("P", "%p"),
    "memory_malloc_mempool": ("PQQQ", "buf=%p, req_len=%d, alloc_len=%d, align=%d"),
    "memory_free": ("P", "buf=%p"),
    "vfs_read": ("", ""),
    "vfs_read_ret": ("", ""),
}
KEYS = {name: 0xffff800000100000 + 64 * i for i, name in enumerate(TRACEPOINTS)}


def trace(n):
    def add(function):
        traces["osv_" + function.__name__] = (n, function)
        return function
    return add


def text(value):
    return struct.pack("<H", len(value)) + value.encode()


def header(same):
    """same: further tracepoints, all of one name."""
    yield struct.pack("<iQ", 3, len(TRACEPOINTS) + same)
    for name, (signature, form) in TRACEPOINTS.items():
        yield struct.pack("<Q", KEYS[name]) + text(name) + text(signature) + text(form)
    for i in range(same):
        yield struct.pack("<Q", 0xffff800000200000 + 64 * i) + text("same") + text("") + text("")


def write(path, name, n):
    with open(path, "wb") as f:
        f.writelines(header(n if name == "osv_same_names" else 0))
        f.writelines(traces[name][1](n))


def address_of(thread):
    return 0xffff900000000000 + 4096 * thread


def sample(us, name, thread, *args, cpu=0, frames=(4097, 8193)):
    """All arguments have 8 bytes."""
    return (struct.pack("<QQ16sQI", KEYS[name], address_of(thread), f"t{thread}".encode(), 1000 * us, cpu) +
            struct.pack(f"<{len(frames) + 1 + len(args)}Q", *frames, 0, *args))


@trace(6000)
def waits(n):
    """All threads wait at once, each at a place of its own; their CPU is idle again and again meanwhile."""
    for i in range(n):
        yield sample(1000000 + i, "sched_wait", i, frames=(4097, 65537 + 64 * i))
    for i in range(n):
        yield sample(2000000 + 4 * i, "sched_idle", 1)
        yield sample(2000001 + 4 * i, "sched_idle_ret", 1)
    for i in range(n):
        yield sample(3000000 + 4 * i, "sched_wake", i + 1, address_of(i))
        yield sample(3000001 + 4 * i, "sched_wait_ret", i)


@trace(6000)
def waits_in_turn(n):
    """While all others wait, one thread after the other runs; the CPU is idle before each."""
    for i in range(n):
        yield sample(1000000 + i, "sched_wait", i)
    for i in range(n):
        us = 2000000 + 10 * i
        yield sample(us, "sched_idle", n)
        yield sample(us + 2, "sched_wake", n, address_of(i))
        yield sample(us + 3, "sched_queue", n, address_of(i))
        yield sample(us + 4, "sched_load", n, 1)
        yield sample(us + 5, "sched_idle_ret", n)
        yield sample(us + 6, "sched_wait_ret", i)
        yield sample(us + 7, "sched_load", i, 0)
        yield sample(us + 8, "sched_wait", i)


@trace(6000)
def waits_of_ever_new_threads(n):
    """None of the waits ends, and a thread waits again on another CPU."""
    for i in range(n):
        yield sample(1000000 + 4 * i, "sched_wait", i % 5000, cpu=i % 64)
        yield sample(1000001 + 4 * i, "sched_idle", 1, cpu=i % 64)
        yield sample(1000002 + 4 * i, "sched_idle_ret", 1, cpu=i % 64)


@trace(6000)
def locks(n):
    """All threads wait for one mutex each, and get it in the reverse order."""
    for i in range(n):
        yield sample(1000000 + i, "mutex_lock_wait", i, address_of(i), frames=(4097, 65537 + 64 * i))
    for i in reversed(range(n)):
        yield sample(3000000 - i, "mutex_lock_wake", i, address_of(i))


@trace(6000)
def allocations(n):
    """Of call paths of their own; every second buffer is one that was there before."""
    for i in range(n):
        yield sample(1000000 + 2 * i, "memory_malloc_mempool", 1, 65536 + 64 * (i if i % 2 else 1), 8 + i % 1000, 1024, 16 << i % 8,
                     frames=(4097, 65537 + 64 * i, 65537 + 64 * (i % 100)))


@trace(6000)
def spans(n):
    """Begins of one thread that are open at once, as of a function that calls itself, and one a thread."""
    for i in range(n):
        yield sample(1000000 + i, "vfs_read", 1, frames=(4097, 65537 + 64 * i))
        yield sample(1000000 + i, "vfs_read", 2 + i)
    for i in range(n):
        yield sample(2000000 + i, "vfs_read_ret", 1)
        yield sample(2000000 + i, "vfs_read_ret", 2 + i)


@trace(6000)
def loads(n):
    """Each CPU's queue changes its length."""
    for i in range(n):
        yield sample(1000000 + i, "sched_load", 1, i % 7, cpu=i % 64)


@trace(15000)
def same_names(n):
    """n tracepoints of one name (header)."""
    yield sample(1000000, "vfs_read", 1)
    yield sample(1000001, "vfs_read_ret", 1)
