#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace-httpd and one address that asks in a loop, each time on a new connection: what a scraper of another address
# waits for. It is counted, not timed: pages that are made, and the others' answers, during its scrape. A script takes
# the place of `hostrace exporter`: no VM is needed. Needs $HOSTRACE; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_tools python3 openssl

cat >turns.py <<'END'
import selectors, socket, ssl, struct, subprocess, sys, threading, time
program, clients, tls, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "tls", 6
PAGE_S = 0 if tls else .2
ours, theirs = socket.socketpair()
server = subprocess.Popen([program], stdin=theirs, stdout=theirs)
theirs.close()
made = answers = 0

def send(kind, data=b""):
    ours.sendall(struct.pack("<II", kind, len(data)) + data)
def receive():
    kind, size = struct.unpack("<II", ours.recv(8, socket.MSG_WAITALL))
    return kind, ours.recv(size, socket.MSG_WAITALL)
def pages():
    global made
    while True:
        if receive()[0] != 9:  # HTTPD_WANTED
            sys.exit("no request")
        time.sleep(PAGE_S)
        made += 1
        send(10, b"# HELP x y\nx 1\n")  # HTTPD_PART
        send(11)

context = ssl.create_default_context()
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
if tls:
    for kind, name in (1, "cert.pem"), (2, "key.pem"):
        send(kind, open(name, "rb").read() + b"\0")
    read, written = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context.wrap_bio(read, written).do_handshake()
    except ssl.SSLWantReadError:
        begin = written.read()
else:
    begin = request
send(5, b"127.0.0.1:0\0")  # HTTPD_LISTEN
port = int(receive()[1].rstrip(b"\0").rsplit(b":", 1)[1])
threading.Thread(target=pages, daemon=True).start()

def ask_without_end():
    global answers
    ready = selectors.DefaultSelector()
    def one():
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", port))
        ready.register(s, selectors.EVENT_WRITE, False)
    for _ in range(clients):
        one()
    while True:
        for key, _ in ready.select(.1):
            s = key.fileobj
            try:
                if not key.data:
                    s.send(begin)
                    ready.modify(s, selectors.EVENT_READ, True)
                    continue
                answers += bool(s.recv(1 << 16))
            except OSError:
                pass
            ready.unregister(s)
            s.close()
            one()
threading.Thread(target=ask_without_end, daemon=True).start()

time.sleep(1)
start, before, worst_pages, worst_answers, scrapes = time.monotonic(), made, 0, 0, 0
while time.monotonic() - start < seconds or scrapes < 3:
    made_before, answers_before = made, answers
    with socket.create_connection(("127.0.0.1", port), timeout=60, source_address=("127.0.0.2", 0)) as s:
        if tls:
            s = context.wrap_socket(s)
        s.sendall(request)
        reply = s.makefile("rb").readline()
    if b" 200 " not in reply:
        sys.exit(f"the scraper got {reply}")
    worst_pages = max(worst_pages, made - made_before)
    worst_answers = max(worst_answers, answers - answers_before)
    scrapes += 1
    time.sleep(.2)
took = time.monotonic() - start
print("pages", made - before, "of", int(took / PAGE_S) if PAGE_S else "-", "worst", worst_pages, "answers", worst_answers)
if tls:
    print("fair" if worst_answers <= 64 else "unfair")
else:
    print("fair" if worst_pages <= 2 and (made - before) * PAGE_S <= took / 4 + 1 else "unfair")
server.kill()
END

# fair NR WHAT: the scraper beside so many connections
fair() {
	timeout 400 python3 turns.py "$(dirname "$HOSTRACE")/hostrace-httpd" "$1" "$2" >turns.out 2>turns.err
	tail -n 1 turns.out
}

plan 4
for many in 1 16 200; do
	is "$(fair "$many" plain)" fair "$many connections that begin again: pages are made in a quarter of the time, another address waits for two" \
		turns.out turns.err
done
openssl req -x509 -newkey rsa:4096 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=test >openssl.out 2>&1 ||
	bail "openssl: $(cat openssl.out)"
is "$(fair 200 tls)" fair "200 handshakes that begin again: another address waits for a few of them" turns.out turns.err
finish
