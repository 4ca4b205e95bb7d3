#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace-httpd and clients that send requests ahead of their answers, or do not read them. A script takes the place of
# `hostrace exporter`: no VM is needed. Needs $HOSTRACE; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_tools python3 ss

httpd_messages >messages.py
cat >exporter.py <<'END'
from messages import *
import socket, struct, subprocess, sys
ours, theirs = socket.socketpair()
server = subprocess.Popen([sys.argv[1]], stdin=theirs, stdout=theirs)
theirs.close()
def send(kind, data=b""):
    ours.sendall(struct.pack("<II", kind, len(data)) + data)
def receive():
    kind, size = struct.unpack("<II", ours.recv(8, socket.MSG_WAITALL))
    return kind, ours.recv(size, socket.MSG_WAITALL)
send(HTTPD_LISTEN, b"127.0.0.1:0\0")
port = int(receive()[1].rstrip(b"\0").rsplit(b":", 1)[1])
request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
def connect(data, bytes):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, bytes)
    s.settimeout(60)
    s.connect(("127.0.0.1", port))
    s.sendall(data)
    return s
page = b"# HELP x y\nx 1\n" + b"#" * 99000 + b"\n"
silent = connect(request * 200, 1024)
ahead = connect(request * 200, 1 << 20)
subprocess.Popen([sys.executable, "read.py", str(ahead.fileno())], pass_fds=[ahead.fileno()], stdout=open("read.out", "w"))
ahead.close()
while True:  # until the shell ends it
    kind, _ = receive()
    if kind != HTTPD_WANTED:
        sys.exit(f"message {kind}")
    send(HTTPD_PART, page)
    send(HTTPD_END)
    print(port, flush=True)
END
cat >read.py <<'END'
import re, socket, sys
s = socket.socket(fileno=int(sys.argv[1]))
data = b""
try:
    while more := s.recv(1 << 16):
        data += more
except ConnectionResetError:
    pass
status = re.findall(rb"HTTP/1.1 (\d+)", data)
print(status.count(b"200") <= 12, status[0].decode(), status[-1].decode(), b"\r\nConnection: close\r\n" in data, flush=True)
END

plan 2
python3 exporter.py "$(dirname "$HOSTRACE")/hostrace-httpd" >port 2>err &
server=$!
trap 'kill $server 2>/dev/null; rm -rf "$scratch"' EXIT
until_line True read.out
is "$(cat read.out)" "True 200 503 True" "200 requests ahead on one connection: a few are answered, then it is closed" read.out
ss -Htmn "sport = :$(head -n 1 port)" >sockets
is "$(sed -n 's/.*,tb\([0-9]*\),.*/\1/p' sockets | sort -rn | head -n 1)" 131072 \
	"what the kernel keeps for one that reads nothing is bounded" sockets
finish
