#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# requests --stages of a virtio-net device with a tap, without vhost: a guest (netguest) sends a known number of packets,
# each after the host has answered the last one, then receives others that the host sends. Every packet is a request,
# with its stages through QEMU's net layer. In a network namespace of its own. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
if [ -z "${NET_NAMESPACE:-}" ] && unshare --net true 2>/dev/null; then
	NET_NAMESPACE=1 exec unshare --net bash "$0"
fi
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/requests-lib.inc"
live_needs_tools ip unshare
[ -n "${NET_NAMESPACE:-}" ] || skip_all "kernel: no network namespaces"
[ -c /dev/net/tun ] || skip_all "kernel: no /dev/net/tun"
live_build "$BUILD/net-guest.elf"
sender=
trap '[ -z "$sender" ] || kill "$sender" 2>/dev/null; [ -z "$vm" ] || kill "$vm" 2>/dev/null; rm -rf "$scratch"' EXIT

ARPS=20
MAC=52:54:00:12:34:56
echo 1 2>/dev/null >/proc/sys/net/ipv6/conf/default/disable_ipv6 # which would send packets of its own
ip tuntap add dev tap0 mode tap || skip_all "kernel: no tap devices"
ip addr add 10.9.0.1/24 dev tap0 && ip link set tap0 up && ip neigh add 10.9.0.2 lladdr $MAC dev tap0 nud permanent ||
	bail "no network"
# tap tx|rx: packets that went through it until now, to the guest or from it
tap() {
	ip -s -j link show tap0 | jq ".[0].stats64.$1.packets"
}

# After the guest's own packets one of the host's at a time, 50 ms after QEMU has read the last one: it is woken for each.
while sleep .05; do
	[ "$(tap rx)" -ge $ARPS ] || continue
	before=$(tap tx)
	echo hello >/dev/udp/10.9.0.2/9
	while [ "$(tap tx)" = "$before" ]; do sleep .01; done
done 2>/dev/null &
sender=$!

# packets JQ: how many requests it selects
packets() {
	jq "[.rows[] | select($1)] | length" path.json
}

# has POINTS: of these
has() {
	jq -n --arg points "$1" '$points | split(" ") | map(".points_ns." + .) | join(" and ")' -r
}

plan 10
vm_start -L /usr/share/qemu -L /usr/share/seabios -kernel "$BUILD/net-guest.elf" \
	-netdev tap,id=n0,ifname=tap0,script=no,downscript=no,vhost=off \
	-device virtio-net-pci,netdev=n0,id=net0,mac=$MAC,addr=4,romfile=
vm_record net.hrt
read -r arps udps <guest.out
is "$arps" $ARPS "the guest received the answers to all packets that it sent (and $udps others)"
is "$(packets '.queue == 1')" $ARPS "each packet that it sent is a request" stages
is "$(packets ".queue == 1 and $(has "handler pop send push")")" $ARPS "... that went through QEMU's net layer" stages
is $(($(packets ".queue == 1 and $(has "kick handler pop send push")") >= ARPS / 2)) 1 \
	"... and most of them with the wake-up by the guest's notification" stages
received=$(packets '.queue == 0')
sent=$(tap tx)
is $((received >= arps + udps && received <= sent)) 1 \
	"packets that it received ($received, of $((arps + udps)) that it counted and $sent that the host sent)" stages
is "$(packets ".queue == 0 and $(has "receive pop push")")" "$received" "... each came through QEMU's net layer" stages
is $(($(packets ".queue == 0 and $(has "arrive receive pop push")") >= udps / 2)) 1 \
	"... and most of the host's with the wake-up for it" stages
is "$(packets '[.points_ns[]] as $p | [range(1; $p | length) | $p[.] >= $p[. - 1]] | all | not')" 0 \
	"the points are in order" stages
finish
