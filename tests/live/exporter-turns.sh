#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace-httpd and one address that asks in a loop, each time on a new connection: what a scraper of another address
# waits for. It is counted, not timed: a script takes the place of `hostrace exporter` and gives pages, so that it knows
# when hostrace-httpd waits; the order of TLS handshakes is that of the kernel's timestamps. No VM is needed.
# Needs $HOSTRACE; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_tools python3 openssl

httpd_messages >messages.py
cat >turns.py <<'END'
from messages import *
import select, socket, ssl, struct, subprocess, sys
program, clients, tls = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "tls"
ours, theirs = socket.socketpair()
server = subprocess.Popen([program], stdin=theirs, stdout=theirs)
theirs.close()

def send(kind, data=b""):
    ours.sendall(struct.pack("<II", kind, len(data)) + data)
def receive():
    kind, size = struct.unpack("<II", ours.recv(8, socket.MSG_WAITALL))
    return kind, ours.recv(size, socket.MSG_WAITALL)
def page_wanted():
    if receive()[0] != HTTPD_WANTED:
        sys.exit("no request")
def page_give():
    send(HTTPD_PART, b"# HELP x y\nx 1\n")
    send(HTTPD_END)

def connect(address, data=b""):
    s = socket.socket()
    s.settimeout(60)
    s.setsockopt(socket.SOL_SOCKET, 35, 1)  # SO_TIMESTAMPNS
    s.bind((address, 0))
    s.connect(("127.0.0.1", port))
    s.sendall(data)
    return s
def ask(address):
    return connect(address, request)
def is_answered(s):
    answered = b" 200 " in s.recv(1 << 16)
    s.close()
    return answered

request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
if tls:
    for kind, name in (HTTPD_CERT, "cert.pem"), (HTTPD_KEY, "key.pem"):
        send(kind, open(name, "rb").read() + b"\0")
send(HTTPD_LISTEN, b"127.0.0.1:0\0")
port = int(receive()[1].rstrip(b"\0").rsplit(b":", 1)[1])

def plain():
    """Pages that hostrace makes before the scraper is answered, and requests that were not."""
    others = [ask("127.0.0.2")]
    page_wanted()
    others += [ask("127.0.0.2") for _ in range(clients - 1)]
    scraper = ask("127.0.0.3")
    pages, closed, wanted = 0, 0, True
    while True:
        ready = select.select([ours, scraper, *others], [], [], 0 if wanted else 60)[0]
        for s in ready:
            if s in others:
                closed += not is_answered(s)
                others[others.index(s)] = ask("127.0.0.2")
        if scraper in ready:
            return pages, closed + (not is_answered(scraper))
        if wanted:
            page_give()
            pages += 1
            wanted = False
        elif ours in ready:
            page_wanted()
            wanted = True

def hello():
    written = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), written).do_handshake()
    except ssl.SSLWantReadError:
        return written.read()

def received_at(s):
    """When the first bytes came; None: it was closed."""
    data, attached, _, _ = s.recvmsg(1, 64)
    return struct.unpack("qq", attached[0][2]) if data else None

def handshakes():
    """Other handshakes that are answered before the scraper's, and those that are not."""
    first = context.wrap_socket(connect("127.0.0.2"))
    first.sendall(request)
    page_wanted()
    begin = hello()
    others = [connect("127.0.0.2", begin) for _ in range(clients)]
    scraper = connect("127.0.0.3", begin)
    page_give()
    mine = received_at(scraper)
    theirs = [received_at(s) for s in others]
    return sum(at is not None and at < mine for at in theirs), theirs.count(None)

before, closed = handshakes() if tls else plain()
print("before it:", before, "closed:", closed)
print("fair" if before <= 3 and not closed else "unfair")
server.kill()
END

# fair NR WHAT: the scraper beside so many connections
fair() {
	timeout 200 python3 turns.py "$(dirname "$HOSTRACE")/hostrace-httpd" "$1" "$2" >turns.out 2>turns.err
	tail -n 1 turns.out
}

plan 4
for many in 1 16 200; do
	is "$(fair "$many" plain)" fair "$many connections that begin again: another address waits for two pages, none is closed" turns.out turns.err
done
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=test >openssl.out 2>&1 ||
	bail "openssl: $(cat openssl.out)"
is "$(fair 200 tls)" fair "200 handshakes that begin at once: another address waits for one of them, none is closed" turns.out turns.err
finish
