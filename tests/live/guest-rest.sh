#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# guest download, control, sampler: against a server with mutual TLS (socat, OpenSSL) and generated certificates.
# Compares the requests that the server received and the files that arrived. No VM is needed.
# Needs $HOSTRACE (the program) and $BUILD (the build directory); prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_tools socat openssl jq
live_build "$BUILD/osvrest"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
export no_proxy='*'

pids=
trap 'kill $pids 2>/dev/null; rm -rf "$scratch"' EXIT

# ---- certificates: an authority, a server, a client; another authority with a client ----

authority() { # NAME
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$1" \
		-keyout "$1.key" -out "$1.pem" 2>openssl.err || bail "openssl: $(cat openssl.err)"
}

signed() { # NAME BY EXTENSION
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" \
		-out "$1.csr" 2>openssl.err || bail "openssl: $(cat openssl.err)"
	echo "$3" >"$1.ext"
	openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 2 -extfile "$1.ext" \
		-out "$1.pem" 2>openssl.err || bail "openssl: $(cat openssl.err)"
}

authority ca
authority stranger
signed server ca "subjectAltName=IP:127.0.0.1"
signed client ca "extendedKeyUsage=clientAuth"
signed intruder stranger "extendedKeyUsage=clientAuth"

# ---- the guest ----

mkdir guest
cp "$ROOT/tests/cases/osv-dump/buffers" guest/dump || bail "no dump to serve"
head -c 3000000 /dev/urandom >guest/big
head -c 700 guest/dump >guest/half
cat >guest/events <<'END'
1000
sched_wait 0 0 0 0
sched_wait_ret 0 1 0 0
sched_wake 0 0 0 0
vfs_open 0 0 0 0
END
cp guest/events events.new

# listen ADDRESS [PEER]: starts socat; sets $port to the port that the kernel chose
listen() {
	: >socat.log
	socat -d -d -lf socat.log "$1" "${2:-EXEC:$BUILD/osvrest $scratch/guest}" &
	pids="$pids $!"
	for _ in $(seq 600); do
		grep -q 'listening on' socat.log && break
		sleep .05
	done
	port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' socat.log)
}

listen UNIX-LISTEN:plain.sock,fork
[ -S plain.sock ] || bail "socat does not listen: $(cat socat.log)"
listen OPENSSL-LISTEN:0,bind=127.0.0.1,fork,cert=server.pem,key=server.key,cafile=ca.pem,verify=1
[ -n "$port" ] || bail "socat does not listen: $(cat socat.log)"
tls=https://127.0.0.1:$port
mutual="--cacert ca.pem --cert client.pem --key client.key"

# guest ARGS...: over TLS; plain ARGS...: over the socket. Status in $?, text in out and err.
guest() {
	timeout 200 "$HOSTRACE" guest "$@" >out 2>err
}
plain() {
	guest "$@" --unix-socket plain.sock
}
says() { # REGEXP: 1 if the newest error does
	grep -cE -- "$1" err
}

plan 85

# ---- download ----

# shellcheck disable=SC2086
guest download $tls $mutual -o d1
is $? 0 "download over mutual TLS" err
is "$(cmp d1 guest/dump && echo same)" same "byte for byte"
is "$(stat -c %a d1)" 600 "for its owner only"
is "$(cat err)" "" "no progress but on a terminal" err
is "$(ls d1*)" d1 "no other file remains"
"$HOSTRACE" list d1 >list.out 2>&1
is $? 0 "it can be read" list.out
guest download $tls --cacert ca.pem -o d2
is $? 1 "no client certificate: refused"
is "$(says '(may have )?rejected a connection without a client certificate')" 1 "and it says so" err
guest download $tls --cacert ca.pem --cert intruder.pem --key intruder.key -o d2
is $? 1 "a stranger's client certificate: refused"
is "$(says '(may have )?rejected the client certificate')" 1 "and it says so" err
guest download $tls --cert client.pem --key client.key -o d2
is $? 1 "an unknown server: refused"
is "$(says "cannot verify the server's certificate.*--cacert")" 1 "and it says so" err
guest download "https://localhost:$port" --cacert ca.pem --cert client.pem --key client.key -o d2
is $? 1 "a certificate for another host: refused" err
is "$(says "cannot verify the server's certificate|cannot connect|onnect")" 1 "and it says so" err
guest download $tls --no-verify --cert client.pem --key client.key -o d2
is $? 0 "--no-verify takes any server" err
guest download $tls --cacert nothing.pem -o d3
is "$? $(says 'nothing.pem: No such file')" "1 1" "a file that is not there" err
is "$(ls d3* 2>/dev/null)" "" "a refused download leaves nothing"
# shellcheck disable=SC2086
guest download $tls/file/nothing $mutual -o d3
is "$? $(says 'not found \(404\)')" "1 1" "404" err
guest download http://127.0.0.1:1 -o d3
is "$? $(says 'does the guest run its REST server')" "1 1" "nobody listens" err

# shellcheck disable=SC2086
guest download $tls/cut/1500000/big $mutual -o b1
is $? 0 "a transfer that breaks is taken up" err
is "$(cmp b1 guest/big && echo same)" same "and is whole"
is "$(grep -c '^GET /cut/1500000/big 1500000-$' guest/log)" 1 "by a range" guest/log
guest download "$tls/cut/1000000/big" --cacert ca.pem --cert client.pem --key client.key --retries 1 -o b2
is $? 1 "too many breaks are a failure"
is "$(says '2000000 of 3000000 bytes.*run the same command again')" 1 "which can be resumed" err
is "$(stat -c '%a %s' b2.part) $([ -e b2 ] && echo there)" "600 2000000 " "what arrived is kept, not under its name"
# shellcheck disable=SC2086
guest download $tls/cut/1000000/big $mutual -o b2 -f json
is $? 0 "a later run goes on" err
is "$(jq -c '.result | [.bytes, .resumed_at, .breaks]' out)" "[3000000,2000000,0]" "where it stopped" out
follows guest out
is "$(cmp b2 guest/big && ls b2*)" b2 "and is whole"
plain download http://x/cut/1000000/big --retries 0 -o b3
head -c 3000000 /dev/urandom >guest/big.new && mv guest/big.new guest/big
mkfifo b4.part.json
plain download http://x/file/big -o b4
is "$? $(cmp b4 guest/big && echo same)" "0 same" "a FIFO in the place of its state does not block it" err
rm -f b4*
plain download http://x/file/big -o b3
is "$? $(cmp b3 guest/big && echo same)" "0 same" "contents that changed are fetched anew" err
plain download http://x/plaincut/1000000/big -o b4
is "$? $(says 'connection lost after 1000000 of 3000000 .*does not support resuming')" "1 1" "a server without ranges: truncated" err
is "$(ls b4* 2>/dev/null)" "" "no file remains"
plain download http://x/liar/big -o b5 --retries 2
is "$? $(ls b5 2>/dev/null)" "1 " "a range that begins elsewhere is not taken" err
rm -f b5.part*
plain download http://x/endless --max-size 1M -o b6
is "$? $(says 'more than the 1048576 bytes')$(ls b6* 2>/dev/null)" "1 1" "one that never ends" err
plain download http://x/away -o b6
is "$? $(says 'not followed')" "1 1" "a redirection" err
echo keep >b7 && ln -s b7 b8.part
plain download http://x/file/big -o b8
is "$? $(cat b7)" "1 keep" "a link in the part's place is not written through" err
mv guest/dump dump.whole && cp guest/half guest/dump
plain download http://x/ -o half
is "$? $(ls half* 2>/dev/null)" "1 " "a dump that cannot be read is none" err
mv dump.whole guest/dump
plain download --url http://x/ d5
is "$? $(cmp d5 guest/dump && echo same)" "0 same" "as OSv's own tool has it: --url URL FILE" err

timeout 200 "$HOSTRACE" download --url $tls/ --cacert ca.pem --cert client.pem --key client.key d6 >out 2>err
is "$? $(cmp d6 guest/dump && head -n 1 out)" "0 Downloading $tls/trace/buffers -> d6" "in the words of OSv's own tool" err

plain download http://x/ --convert -o c1
is "$? $(cmp c1.osvt guest/dump && "$HOSTRACE" convert-dump -f guest/dump c2 >/dev/null && cmp c1 c2 && echo same)" "0 same" \
	"--convert: a tracefile, and the dump" err
plain download http://x/ --convert -o c3 -f json
is "$(jq -c '.result | [.file, .tracefile]' out)" '["c3.osvt","c3"]' "the same as JSON" out
follows guest out
plain download http://x/big --convert -o c4
is "$? $(ls c4 2>/dev/null)" "1 " "what is no dump is not converted" err

# ---- dmesg ----

timeout 200 "$HOSTRACE" guest dmesg --url http://x --unix-socket plain.sock >out 2>err
is "$? $(tr '\n' ';' <out)" "0 OSv v0.57.0;eth0: ?[31m192.168.122.15;" "dmesg, without what controls a terminal" err
timeout 200 "$HOSTRACE" guest dmesg --url http://x --unix-socket plain.sock -f json >out 2>err
is "$(jq -c '[.rows[].text, .caveats]' out)" '["OSv v0.57.0","eth0: ?[31m192.168.122.15",[]]' "the same as JSON" out
follows guest out

# ---- control ----

state() { # NAME: "enabled backtrace"
	awk -v n="$1" '$1 == n { print $2, $3 }' guest/events
}
# shellcheck disable=SC2086
guest control $tls $mutual -f json
is "$(jq -r '.rows[] | "\(.name) \(.enabled) \(.backtrace)"' out | tr '\n' ,)" \
	"sched_wait false false,sched_wait_ret false true,sched_wake false false,vfs_open false false," \
	"control lists, over TLS" out
follows guest out
# shellcheck disable=SC2086
guest control $tls enable '^sched_wait' $mutual
is $? 0 "enable by regular expression" err
is "$(state sched_wait),$(state sched_wait_ret),$(state sched_wake)" "1 0,1 1,0 0" "those, with backtraces as they were"
plain control http://x enable 'sched_wait$|vfs' -b
is "$(state sched_wait),$(state sched_wait_ret),$(state vfs_open)" "1 1,1 1,1 1" "enable with backtraces"
plain control http://x enable sched_wait_ret --no-backtrace
is "$(state sched_wait),$(state sched_wait_ret)" "1 1,1 0" "and without"
plain control http://x enable sched_wait_ret -f json
is "$(jq -c '[.rows[] | [.name, .enabled, .previous]]' out)" \
	'[["sched_wait_ret",true,{"enabled":true,"backtrace":false}]]' "with the state before, as the server returns it" out
follows guest out
plain control http://x disable sched
is "$(sed -n 2,3p out | tr -s ' ' | tr '\n' ';')" "- yes enabled,backtrace sched_wait;- - enabled sched_wait_ret;" "also as text" out
is "$(state sched_wait),$(state sched_wait_ret),$(state vfs_open)" "0 1,0 0,1 1" "disable"
plain control http://x list vfs
is "$(sed 1d out)" "enabled  yes       vfs_open" "list, some" out
: >guest/log
plain control http://x disable .
is "$(state vfs_open) $(grep -c POST guest/log)" "0 0 1" "all of them by one request" guest/log
plain control http://x enable nosuch
is "$? $(says "no tracepoint matches.*all 4")" "1 1" "a name that fits nothing" err
plain control http://x enable '('
is "$? $(says 'invalid regular expression')" "1 1" "what is no expression" err
plain control http://x enable
is $? 2 "enable needs to know what"
plain control http://x paint it
is $? 2 "an action that there is not"

plain control http://x freq sched_wait vfs_open --interval 1ms --count 22
is $? 0 "freq" err
is "$(sed -n '2p' out)|$(sed -n '3p' out)" "     sched_wait       vfs_open|             50             65" "events a second" out
is "$(grep -c 'sched_wait       vfs_open' out) $(wc -l <out)" "2 25" "a heading every 20 lines" out
is "$(awk 'NF == 5 && $4' guest/events | wc -l)" 0 "no counter remains" guest/events
plain control http://x freq sched_wait --interval 1ms --count 1 -f json
is "$(jq -c '.rows[0] | [.name, .count, .per_second == 50]' out)" '["sched_wait",100,true]' "freq as JSON" out
follows guest out
plain control http://x freq nosuch --interval 1ms
is "$? $(says 'Unknown tracepoint name')" "1 1" "the server's own words" err
timeout 200 "$HOSTRACE" guest control http://x freq vfs_open --interval 1h --unix-socket plain.sock >freq.out 2>err &
freq=$!
for _ in $(seq 600); do
	[ "$(awk '$1 == "vfs_open" { print $4 }' guest/events)" = 1 ] && break
	sleep .05
done
kill -INT $freq
wait $freq
is "$? $(awk '$1 == "vfs_open" { print $4 }' guest/events)" "0 0" "^C stops the counters" err

# ---- sampler ----

# shellcheck disable=SC2086
guest sampler 997 $tls $mutual
is "$? $(cat guest/sampler)" "0 997" "the sampler runs at 997 Hz" err
plain sampler http://x 0
is "$? $(cat guest/sampler)" "0 0" "and stops" err
plain sampler http://x 100001
is $? 2 "more than the server takes"
plain sampler http://x
is $? 2 "it needs a rate"
plain sampler http://x 11
is "$? $(grep -c 'not valid JSON' err)" "1 1" "a server that speaks no JSON has started nothing" err
plain sampler http://x 12
is "$? $(grep -c 'Sampler started successfully' err)" "1 1" "nor has one that says something else" err
printf '1000\n\033[31mred 0 0 0 0\n' >guest/events
plain control http://x
is "$(grep -c "$(printf '\033')" out)" 0 "a hostile name is defused" out
cp events.new guest/events
guest
is $? 2 "an action is needed"
# ---- a server that sends a byte now and then ----
cat >drip.sh <<'END'
printf 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n'
while printf x; do sleep .3; done
END
socat UNIX-LISTEN:drip.sock,fork "SYSTEM:sh drip.sh" 2>/dev/null &
pids="$pids $!"
for _ in $(seq 600); do [ -S drip.sock ] && break; sleep .05; done
guest control http://guest/ enable sched_wait --unix-socket drip.sock --timeout 1s
is "$? $(says "the server's reply does not end")" "1 1" "a reply that does not end" err
guest download http://guest/ --unix-socket drip.sock --timeout 1s --max-size 5 -o dripped
is "$? $(says '100000 bytes, more than the 5 allowed')" "1 1" "a download that is too long" err

# ---- servers with another protocol, or an invalid certificate ----
listen "OPENSSL-LISTEN:0,bind=127.0.0.1,fork,cert=server.pem,key=server.key,verify=0,cipher=ALL:@SECLEVEL=0,openssl-max-proto-version=TLS1.1"
guest download "https://127.0.0.1:$port" --cacert ca.pem -o d7
is "$? $(says 'the server does not support TLS 1.2 or later')" "1 1" "a server with TLS 1.1 only" err
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days -1 -extfile server.ext -out expired.pem 2>openssl.err ||
	bail "openssl: $(cat openssl.err)"
listen OPENSSL-LISTEN:0,bind=127.0.0.1,fork,cert=expired.pem,key=server.key,verify=0
guest download "https://127.0.0.1:$port" --cacert ca.pem -o d7
is "$? $(says "cannot verify the server's certificate.*expired")" "1 1" "a certificate that has expired" err
listen TCP-LISTEN:0,bind=127.0.0.1,fork 'SYSTEM:echo hello; cat'
guest download "http://127.0.0.1:$port" -o d7
is "$? $(says 'the server does not speak HTTP')" "1 1" "a server of another protocol" err
printf 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n' >half.reply
listen TCP-LISTEN:0,bind=127.0.0.1,fork 'SYSTEM:cat half.reply; sleep 30'
guest download "http://127.0.0.1:$port" --timeout 1s --retries 0 -o d7
is "$? $(says 'connection lost after 2 bytes')" "1 1" "a reply of unknown length that breaks off" err

finish
