#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Scrapes of `exporter` next to connections that are slow or say nothing, Host headers, and what its processes inherit.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl python3 ss
. "$ROOT/tests/live/exporter-lib.inc"

cat >client.py <<'END'
import base64, select, socket, sys, time
host, port, what, nr = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
begin = time.monotonic()
wrong = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic " + base64.b64encode(b"user:wrong") + b"\r\n\r\n"
head = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
def more(s):  # requests without end, and nobody reads the answers
    try:
        s.send((head + b"\r\n") * 200)
    except BlockingIOError:
        pass
def one():
    if port:
        s = socket.create_connection((host, port))
    else:
        s = socket.socket(socket.AF_UNIX)
        s.connect(host)
    if what == "wrong":
        s.settimeout(60)
        s.sendall(wrong)
    elif what == "body":
        s.sendall(head + b"Content-Length: 100000\r\n\r\n")
    elif what == "pipeline":
        s.setblocking(False)
        more(s)
    elif what != "silent":
        s.sendall(head)
    return s
connections = [one() for _ in range(nr)]
print("ready", flush=True)
while connections and time.monotonic() - begin < 60:
    time.sleep(.2)
    for s in list(connections):
        try:
            if what == "pipeline":
                more(s)
                continue
            if what != "silent" and what != "wrong":
                s.send(b"x" if what == "body" else b"X-A: b\r\n"[:1] if what == "drip" else b"")
            if select.select([s], [], [], 0)[0] and not s.recv(4096):
                raise OSError
            elif what == "wrong":
                s.sendall(wrong)
        except OSError:
            connections.remove(s)
            if nr == 1:
                print("ended after %.0f s" % (time.monotonic() - begin), flush=True)
    if nr > 1:  # as an attacker does: what was ended is begun again
        connections += [one() for _ in range(nr - len(connections))]
END

slow=
trap '[ -z "$slow" ] || kill $slow 2>/dev/null; rm -rf "$scratch"' EXIT

# slow_start WHAT [NR [HOST PORT]]: 70 connections, or so many, to this address; port 0: to this UNIX socket
slow_start() {
	: >slow.out
	python3 client.py "${3-127.0.0.1}" "${4-${address##*:}}" "$1" "${2:-70}" >slow.out 2>slow.err &
	slow=$!
	until_line ready slow.out || bail "no connections: $(cat slow.err)"
}

slow_end() {
	kill "$slow"
	wait "$slow" 2>wait.err
	slow=
}

# scrapes NR CURL-ARGS...: how many are answered within 10 s
scrapes() {
	local answered=0 nr=$1
	shift
	for _ in $(seq "$nr"); do
		[ "$(curl -sS "$@" -o page -w '%{http_code}' --max-time 10 "http://$address/metrics" 2>curl.err)" = 200 ] && answered=$((answered + 1))
		sleep .2
	done
	echo "$answered"
}

# waiting: how many connections wait to be accepted, the median of 20 samples
waiting() {
	for _ in $(seq 20); do
		ss -Hltn "sport = :${address##*:}" | awk '{ print $2 }'
		sleep .1
	done | sort -n | sed -n 10p
}

# host_status HOST: of a request with this header
host_status() {
	curl -sS -o page -w '%{http_code}' --max-time 60 -H "Host: $1" "http://$address/metrics" 2>curl.err
}

# login_status CURL-ARGS...: of a request that is repeated, for a minute, while it is to be
login_status() {
	local status=429
	for _ in $(seq 60); do
		status=$(curl -sS "$@" -o page -w '%{http_code}' --max-time 60 "http://$address/metrics" 2>curl.err)
		[ "$status" = 429 ] || break
		sleep 1
	done
	echo "$status"
}

plan 35
exec 7</etc/passwd # what a careless parent leaves open
exporter_start --listen 127.0.0.1:0 --host node1.example --host '2001:db8::1'
ls -l "/proc/$exporter/fd" >fds
is "$(grep -c /etc/passwd fds)" 0 "the exporter closes descriptors that it inherited" fds
ls -l "/proc/$httpd/fd" >fds
is "$(grep -c /etc/passwd fds)" 0 "hostrace-httpd has no descriptor that hostrace inherited" fds
is "$(grep -cvE ' -> (socket:.*|anon_inode:\[eventpoll\]|/dev/null|/dev/pts/.*|pipe:.*|'"$PWD"'/exporter.err)$|^total' fds)" 0 \
		"... and none but its sockets and the messages" fds
exec 7<&-
is "$(scrapes 1)" 1 "a scrape" curl.err
for what in silent head drip body; do
	slow_start "$what"
	is "$(scrapes 11)" 11 "70 connections ($what): 11 scrapes of 11" curl.err
	slow_end
done
slow_start drip 400
is "$(waiting)" 0 "400 connections that begin again: a scrape waits for none of them" slow.err
slow_end
slow_start pipeline 300
is "$(scrapes 11)" 11 "300 connections that ask without end and read nothing: 11 scrapes of 11" curl.err
slow_end
for what in silent drip body; do
	timeout 100 python3 client.py 127.0.0.1 "${address##*:}" "$what" 1 >one.out 2>one.err
	is "$(sed -n 's/^ended after 1[0-2] s$/in time/p' one.out)" "in time" "one connection ($what) is ended after 10 s" one.out
done
curl -sS -o page -o page -w '%{http_code}' --max-time 10 "http://$address/" "http://$address/metrics" >codes 2>curl.err
is "$(cat codes)" 200200 "two requests on one connection" curl.err

is "$(host_status evil.example) $(grep -c -- --host page)" "421 1" "a foreign Host header is not answered" page
is "$(host_status evil.example:9972) $(host_status 10.1.2.3) $(host_status '[2001:db8::2]') $(host_status localhost.evil.example)" \
	"421 421 421 421" "... with a port, an address, a longer name"
is "$(host_status localhost) $(host_status 'LocalHost:1') $(host_status localhost.)" "200 200 200" "localhost is"
is "$(host_status 127.0.0.1) $(host_status 127.0.0.9:80) $(host_status '[::1]:80')" "200 200 200" "loopback addresses are"
is "$(host_status node1.example) $(host_status NODE1.example:9972) $(host_status '[2001:db8::1]')" "200 200 200" "--host adds names"
exec 6<>"/dev/tcp/127.0.0.1/${address##*:}"
printf 'GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n' >&6
is "$(head -n 1 <&6 | grep -c ' 400 ')" 1 "two Host headers: not answered"
exec 6>&-
# first_line HEADS: the status of a request with these lines
first_line() {
	exec 6<>"/dev/tcp/127.0.0.1/${address##*:}"
	printf "GET /metrics $1\r\n\r\n" >&6
	head -n 1 <&6 | cut -d ' ' -f 2
	exec 6>&-
}
is "$(first_line 'HTTP/1.1')" 400 "no Host header: not answered"
is "$(first_line 'HTTP/1.1\r\nHost:\r\n localhost') $(first_line 'HTTP/1.1\r\nHost: localhost\r\n evil.example')" "400 400" "a folded one: not answered"
is "$(first_line 'HTTP/1.1\r\nHost : evil.example\r\nHost: localhost') $(first_line 'HTTP/1.1\r\nX\t: a\r\nHost: localhost')" "400 400" "a space before a colon"
is "$(first_line 'HTTP/1.1\r\nX: a\r\n Host: localhost') $(first_line 'HTTP/1.1\r\nHost : localhost')" "400 400" "... nor what only looks like one"
is "$(first_line 'HTTP/1.0')" 200 "HTTP/1.0 needs none"
exporter_end
is $? 0 "it ends" exporter.err
timeout 100 "$HOSTRACE" exporter --listen 127.0.0.1:0 --host 'a b' 2>err
is "$? $(grep -c "invalid host 'a b'" err)" "1 1" "an invalid name" err

# With passwords, who gave one keeps its place.
printf 'user:%s\n' "$(openssl passwd -6 secret)" >users
exporter_start --listen 127.0.0.1:0 --password-file users
cat >keep.py <<'END'
import base64, http.client, sys, time
c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
auth = {"Authorization": "Basic " + base64.b64encode(b"user:secret").decode()}
def get():
    c.request("GET", "/metrics", headers=auth)
    r = c.getresponse()
    r.read()
    return r.status
print(get(), flush=True)
here = c.sock
sys.stdin.readline()
print(get() if c.sock is here else "ended", c.sock is here, flush=True)
END
mkfifo more
python3 keep.py "${address##*:}" <more >keep.out 2>keep.err &
keeper=$!
exec 5>more
until_line 200 keep.out
slow_start silent
sleep 2
echo more >&5
wait "$keeper"
is "$(tail -n 1 keep.out)" "200 True" "a connection of a user keeps its place" keep.err
slow_end
exporter_end

# Passwords whose hash takes a quarter of a second: 70 connections with a wrong one.
{
	printf 'user:%s\n' '$2b$12$abcdefghijklmnopqrstuuT1Iwu6o8Wx7BoOyIMHfgVJq6JO/IJhW'
	printf 'other:%s\n' '$2b$12$abcdefghijklmnopqrstuuT1Iwu6o8Wx7BoOyIMHfgVJq6JO/IJhW'
} >users
exporter_start --listen 127.0.0.1:0 --password-file users
is "$(scrapes 1 -u user:secret)" 1 "a scrape with a password" curl.err
slow_start wrong
is "$(scrapes 10 -u user:secret)" 10 "70 connections with a wrong password: 10 more scrapes of 10" curl.err
is "$(login_status -u other:secret --interface 127.0.0.2)" 200 "... and the first one of another user, from another address" curl.err
is "$(curl -sS -o page -D heads -w '%{http_code}' --max-time 60 -u user:wrong "http://$address/metrics" 2>curl.err) $(grep -ci '^Retry-After: 5' heads)" \
	"429 1" "... whose address is to try later" heads
is "$(login_status -u user:wrong --interface 127.0.0.2)" 401 \
	"a wrong password of a user who gave the right one before" curl.err
slow_end
exporter_end

exporter_start --listen "unix:$PWD/socket"
is "$(curl -sS -o page -w '%{http_code}' --max-time 60 --unix-socket socket -H 'Host: any.example' http://x/metrics)" 200 "a Unix socket: any Host"
address=any.example
slow_start silent 300 socket 0
is "$(scrapes 11 --unix-socket socket)" 11 "300 connections (silent) to it: 11 scrapes of 11" curl.err
slow_end
exporter_end
finish
