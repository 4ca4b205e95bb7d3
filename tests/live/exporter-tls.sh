#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `exporter` with TLS and passwords: who gets a page, and what is rejected at the start.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl openssl python3
. "$ROOT/tests/live/exporter-lib.inc"

# rejected MESSAGE ARGS...: the exporter does not start
rejected() {
	message=$1
	shift
	timeout 200 "$HOSTRACE" exporter "$@" 2>err </dev/null
	is "$? $(grep -c "$message" err)" "1 1" "rejected: $message" err
}

# status_of CURL-ARGS...: of the page
status_of() {
	curl -sS -o page -w '%{http_code}' --max-time 60 --cacert cert.pem "$@" "https://127.0.0.1:${address##*:}/metrics" 2>curl.err
}

# httpd_ticks: CPU time of hostrace-httpd, in ticks of 10 ms
httpd_ticks() {
	sed 's/.*) //' "/proc/$httpd/stat" | awk '{ print $12 + $13 }'
}

plan 31
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout key.pem -out cert.pem -subj /CN=test \
	-addext subjectAltName=IP:127.0.0.1 >openssl.out 2>&1 || bail "openssl: $(cat openssl.out)"
openssl genpkey -algorithm ec -pkeyopt ec_paramgen_curve:prime256v1 -out other.pem 2>openssl.out || bail "openssl: $(cat openssl.out)"
cat >users <<END
# the second one is of a password with a colon

bcrypt:\$2b\$05\$abcdefghijklmnopqrstuuMceFj4VbmHOj8C7PetMxzZkwre/z.Ri
sha512:$(openssl passwd -6 'pass:word')
END

# ---- what does not start ----
timeout 200 "$HOSTRACE" exporter --tls-cert cert.pem 2>err
is "$? $(grep -c -- --tls-key err)" "2 1" "a certificate without a key" err
for at in 0.0.0.0:0 '[::]:0'; do
	rejected "other hosts can reach" --listen "$at"
done
rejected "other hosts can reach" --listen 0.0.0.0:0 --tls-cert cert.pem --tls-key key.pem
rejected "other hosts can reach" --listen 0.0.0.0:0 --password-file users
rejected "cannot read missing.pem" --tls-cert missing.pem --tls-key key.pem
rejected "with this certificate and key" --listen 127.0.0.1:0 --tls-cert cert.pem --tls-key other.pem
printf '# nobody\n' >none
rejected "no user in it" --password-file none
printf 'a:%s\nsomebody\n' "$(openssl passwd -6 x)" >colon
rejected "line 2: invalid" --password-file colon
for hash in secret '$9$abc$def' '' 'ab01FAX.bQRSU' '$6$salt'; do
	printf 'a:%s\n' "$hash" >plain
	rejected "line 1: unsupported hash" --password-file plain
done

mkfifo fifo # that nobody writes to
for option in "--password-file fifo" "--otlp http://127.0.0.1:1 --otlp-headers fifo"; do
	# shellcheck disable=SC2086 # an option and its value
	timeout -s INT -k 60 5 "$HOSTRACE" exporter --listen "unix:$PWD/socket" $option 2>err </dev/null
	is "$? $(find . -name socket)" "124 " "${option% fifo} with a FIFO: ^C ends it, and leaves no socket" err
done

# ---- TLS and passwords ----
exporter_start --listen 0.0.0.0:0 --tls-cert cert.pem --tls-key key.pem --password-file users
is "$(status_of -u bcrypt:test) $(grep -c '^hostrace_build_info' page)" "200 1" "a page for a user" page
is "$(status_of -u sha512:pass:word) $(grep -c '^hostrace_build_info' page)" "200 1" "... another hash" page
is "$(status_of) $(status_of -u bcrypt:Test) $(status_of -u nobody:test) $(status_of -u sha512:test)" "401 401 401 401" \
	"no user, a wrong password, an unknown user, another user's password" page
is "$(grep -c hostrace_ page)" 0 "... get nothing" page
is "$(curl -sS -I --max-time 60 --cacert cert.pem "https://127.0.0.1:${address##*:}/" 2>curl.err | tr -d '\r' | sed -n 's/^WWW-Authenticate: //pI')" \
	'Basic realm="hostrace"' "a browser is asked for the password" curl.err
curl -sS --max-time 60 -u bcrypt:test "http://127.0.0.1:${address##*:}/metrics" >page 2>curl.err
is "$(grep -c hostrace_ page)" 0 "no page without TLS" page
head -c 100000 /dev/urandom | timeout 200 socat -t 5 - "TCP:127.0.0.1:${address##*:}" >out 2>&1
is "$(status_of -u bcrypt:test)" 200 "it answers after a request of random bytes" page
cat >half.py <<'END'
# 80 connections that begin a TLS handshake and do not go on, until standard input ends.
import socket, sys
hello = bytes.fromhex("16030100c8010000c40303") + bytes(20)
peers = []
for i in range(80):
	peers.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
	peers[-1].sendall(hello[: 1 + i % len(hello)])
print("ready", flush=True)
sys.stdin.read()
END
mkfifo half.in
python3 half.py "${address##*:}" <half.in >half.out 2>&1 &
half=$!
exec 5>half.in
until_line ready half.out || bail "no connections: $(cat half.out)"
is "$(status_of -u bcrypt:test)" 200 "80 others do not go on with their handshake: a page for a user" page
exec 5>&-
wait $half
cat >begun.py <<'END'
# One connection that sends the beginning of a TLS handshake (argv[2]: bytes of it) and waits to be ended. "all" is a
# whole ClientHello: the server waits for the rest of the handshake.
import socket, ssl, sys
to, hello = ssl.MemoryBIO(), ssl.MemoryBIO()
try:
	ssl._create_unverified_context().wrap_bio(to, hello).do_handshake()
except ssl.SSLWantReadError:
	pass
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
peer.sendall(hello.read()[: None if sys.argv[2] == "all" else int(sys.argv[2])])
try:
	while peer.recv(1 << 16):
		pass
except ConnectionResetError:
	pass
END
# it is ended after 10 s; a loop without a pause would use all of them, a busy machine's share being 10 times less
for bytes in 1 all; do
	before=$(httpd_ticks)
	timeout 200 python3 begun.py "${address##*:}" $bytes >begun.out 2>&1
	is "$? $(awk -v n="$(($(httpd_ticks) - before))" 'BEGIN { print (n <= 20 ? "idle" : n " ticks") }')" "0 idle" \
		"one that stops in its handshake (bytes: $bytes) costs no CPU time until it is ended" begun.out
done
for version in 1 1_1; do
	echo Q | timeout 60 openssl s_client -tls$version -cipher ALL:@SECLEVEL=0 -connect "127.0.0.1:${address##*:}" >tls.out 2>&1
	is "$(grep -c 'Cipher is (NONE)' tls.out)" 1 "no TLS $version" tls.out
done
{ for _ in 1 2 3; do sleep .2; echo R; done; sleep 1; } |
	timeout 60 openssl s_client -tls1_2 -connect "127.0.0.1:${address##*:}" >tls.out 2>&1
is "$(grep -c RENEGOTIATING tls.out) $(status_of -u bcrypt:test)" "1 200" "it does not renegotiate" tls.out
exporter_end
exporter_start --listen 0.0.0.0:0 --insecure
is "$(curl -sS -o page -w '%{http_code}' --max-time 60 "http://127.0.0.1:${address##*:}/metrics")" 200 "--insecure: a page for everyone" page
timeout 100 "$HOSTRACE" guest download "https://127.0.0.1:${address##*:}/" -o nothing >out 2>err
is "$? $(grep -c 'does not speak TLS' err)" "1 1" "download from a server that does not speak TLS" err
exporter_end
finish
