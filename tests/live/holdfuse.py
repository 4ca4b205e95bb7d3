#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
# A file system in memory whose answers can be held back: holdfuse.py DIR. Standard input gets commands, one a line:
#   hold NAME...   requests of these names (write, fsync, flush, create, rename, ...) are not answered from now on
#   leave NAME...  the next request of one of these names is answered, those after it are not even read, so that the kernel
#                  still lets a signal end who waits for them
#   release        all are answered, those that wait included
# Standard output gets "ready", "holding" or "released" for each command, "held NAME" when a request begins to wait, and
# "left NAME" when no more are read.
# It speaks the protocol of /dev/fuse itself, so that the test needs no library. It ends when it is unmounted.
import ctypes
import errno
import os
import select
import stat
import struct
import sys

NAMES = {1: "lookup", 3: "getattr", 4: "setattr", 9: "mkdir", 10: "unlink", 12: "rename", 14: "open", 15: "read",
         16: "write", 17: "statfs", 18: "release", 20: "fsync", 25: "flush", 26: "init", 27: "opendir", 28: "readdir",
         29: "releasedir", 30: "fsyncdir", 35: "create", 45: "rename2"}
NO_ANSWER = (2, 36, 42)  # forget, interrupt, batch_forget
ROOT, FATTR_SIZE = 1, 1 << 3


def say(text):
    print(text, flush=True)


def text(data):
    return data.split(b"\0")[0]


class Files:
    def __init__(self):
        self.names, self.data, self.next = {}, {}, ROOT + 1

    def attr(self, node):
        mode = stat.S_IFDIR | 0o700 if node == ROOT else stat.S_IFREG | 0o600
        return struct.pack("<QQQQQQIIIIIIIIII", node, len(self.data.get(node, b"")), 0, 0, 0, 0, 0, 0, 0, mode, 1,
                           os.geteuid(), os.getegid(), 0, 4096, 0)

    def entry(self, node):
        return struct.pack("<QQQQII", node, 0, 0, 0, 0, 0) + self.attr(node)

    def do_init(self, node, arg):
        return struct.pack("<IIIIHHIIHHI28x", 7, 31, 1 << 17, 0, 12, 9, 1 << 17, 1, 32, 0, 0)

    def do_lookup(self, node, arg):
        return self.entry(self.names[text(arg)])

    def do_getattr(self, node, arg):
        return struct.pack("<QII", 0, 0, 0) + self.attr(node)

    def do_setattr(self, node, arg):
        valid, _, _, size = struct.unpack_from("<IIQQ", arg)
        if valid & FATTR_SIZE:
            self.data[node] = self.data[node][:size].ljust(size, b"\0")
        return self.do_getattr(node, arg)

    def do_unlink(self, node, arg):
        del self.names[text(arg)]
        return b""

    def move(self, names):
        old, new = names.split(b"\0")[:2]
        self.names[new] = self.names.pop(old)
        return b""

    def do_rename(self, node, arg):
        return self.move(arg[8:])

    def do_rename2(self, node, arg):
        return self.move(arg[16:])

    def do_open(self, node, arg):
        return struct.pack("<QIi", 0, 0, 0)

    do_opendir = do_open

    def do_create(self, node, arg):
        made, self.next = self.next, self.next + 1
        self.names[text(arg[16:])], self.data[made] = made, bytearray()
        return self.entry(made) + self.do_open(made, arg)

    def do_read(self, node, arg):
        _, offset, size = struct.unpack_from("<QQI", arg)
        return bytes(self.data[node][offset:offset + size])

    def do_write(self, node, arg):
        _, offset, size = struct.unpack_from("<QQI", arg)
        data = self.data[node]
        if len(data) < offset:
            data.extend(bytes(offset - len(data)))
        data[offset:offset + size] = arg[40:40 + size]
        return struct.pack("<II", size, 0)

    def do_statfs(self, node, arg):
        return struct.pack("<QQQQQIIII24x", 1 << 20, 1 << 20, 1 << 20, 1 << 20, 1 << 20, 4096, 255, 4096, 0)

    def do_readdir(self, node, arg):
        return b""

    def do_nothing(self, node, arg):
        return b""

    do_release = do_releasedir = do_fsync = do_fsyncdir = do_flush = do_nothing


def answer(fuse, files, request):
    _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
    act = getattr(files, "do_" + NAMES.get(opcode, "?"), None)
    error, data = 0, b""
    try:
        if act:
            data = act(node, request[40:])
        else:
            error = errno.ENOSYS
    except KeyError:
        error = errno.ENOENT
    try:
        os.write(fuse, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)
    except FileNotFoundError:
        pass  # nobody waits for it any more


def main():
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
    if ctypes.CDLL(None, use_errno=True).mount(b"holdfuse", sys.argv[1].encode(), b"fuse", 6, options.encode()):
        sys.exit("holdfuse: mount: " + os.strerror(ctypes.get_errno()))
    say("ready")
    files, held, hold, leave = Files(), [], set(), set()
    commands = sys.stdin.buffer.fileno()
    wait = [fuse, commands]
    while True:
        ready = select.select(wait, [], [])[0]
        if commands in ready:
            words = os.read(commands, 4096).decode().split()
            if not words:
                wait = [fuse]
            elif words[0] == "hold":
                hold = set(words[1:])
                say("holding")
            elif words[0] == "leave":
                leave = set(words[1:])
                say("holding")
            else:
                hold, wait = set(), [fuse, commands]
                for request in held:
                    answer(fuse, files, request)
                held = []
                say("released")
        if fuse not in ready:
            continue
        try:
            request = os.read(fuse, (1 << 17) + 4096)
        except OSError as e:
            if e.errno == errno.ENODEV:  # unmounted
                return
            continue  # ENOENT, EINTR: the request was taken back
        opcode = struct.unpack_from("<II", request)[1]
        if opcode in NO_ANSWER:
            continue
        if NAMES.get(opcode) in hold:
            held.append(request)
            say("held " + NAMES[opcode])
        else:
            answer(fuse, files, request)
        if NAMES.get(opcode) in leave:
            leave, wait = set(), [commands]
            say("left " + NAMES[opcode])


main()
