#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `hostrace exporter` costs on a host of many VMs: CPU, memory, size and time of a scrape. A line of JSON.
#   exporter.sh BUILD WORK VMS KIND [EXPORTER-OPTION...]
# KIND: minivmm (one vCPU that does 50 port accesses per second), or qemu (two vCPUs, two disks; the demo's guest, which then waits).
set -u -o pipefail
build=$(realpath "$1") work=$2 vms=$3 kind=$4
shift 4
scrapes=${SCRAPES:-20} idle_s=${IDLE_S:-30}
pids=()
exporter=
leave() {
	[ -z "$exporter" ] || kill -INT "$exporter" 2>/dev/null
	[ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
}
trap leave EXIT
trap 'exit 1' INT TERM
die() {
	echo "exporter.sh: $*" >&2
	exit 1
}

vm_start() { # NUMBER
	case $kind in
	minivmm) "$build/minivmm" outb=65535 inb=0 mmio=0 hlt=0 slow=1 pause=20 linger <>"$work/in" >/dev/null 2>&1 & ;;
	qemu) qemu-system-x86_64 -name "vm$1" -accel kvm -machine pc -smp 2 -m 32 -nodefaults -display none -no-reboot \
		-kernel "$build/demo-guest.elf" -device isa-debug-exit,iobase=0xf4,iosize=1 -serial null \
		-append "reads=0 writes=20 leak=1 wait_ms=1000000" -drive driver=null-co,if=none,id=d0,size=2097152 \
		-device virtio-blk-pci,drive=d0,id=disk,addr=4 -drive driver=null-co,if=none,id=s0,size=16777216,throttling.bps-total=64 \
		-device virtio-blk-pci,drive=s0,id=slow,addr=5 >/dev/null 2>&1 & ;;
	*) die "unknown kind of VM '$kind'" ;;
	esac
	pids+=($!)
}

scrape() { # prints time and bytes
	curl -sS --max-time 120 -o "$work/page" -w '%{time_total} %{size_download}\n' "http://$address/metrics" || die "curl failed"
}

value() { # METRIC
	awk -v want="$1" '$1 == want { print $2 }' "$work/page"
}

mkdir -p "$work"
rm -f "$work/in"
mkfifo "$work/in"
for i in $(seq "$vms"); do
	vm_start "$i"
done
"$build/hostrace" exporter --listen 127.0.0.1:0 --max-series 1000000 "$@" 2>"$work/log" &
exporter=$!
for _ in $(seq 600); do
	address=$(sed -n 's/.*listening on \([^;]*\);.*/\1/p' "$work/log")
	[ -n "$address" ] && break
	kill -0 "$exporter" 2>/dev/null || die "the exporter did not start: $(cat "$work/log")"
	sleep .1
done
for _ in $(seq 120); do
	scrape >/dev/null
	[ "$(value 'hostrace_vms{state="exported"}')" -ge "$vms" ] && break
	sleep 1
done
scrape >/dev/null
before=$(value process_cpu_seconds_total)
sleep "$idle_s"
scrape >/dev/null
idle=$(value process_cpu_seconds_total)
for _ in $(seq "$scrapes"); do
	scrape
done | sort -n >"$work/times"
after=$(value process_cpu_seconds_total)
awk -v vms="$vms" -v kind="$kind" -v options="$*" -v scrapes="$scrapes" -v idle_s="$idle_s" -v a="$before" -v b="$idle" -v c="$after" \
	-v series="$(grep -vc '^#' "$work/page")" -v exported="$(value 'hostrace_vms{state="exported"}')" \
	-v gzip="$(gzip -6 <"$work/page" | wc -c)" -v rss="$(value process_resident_memory_bytes)" -v map="$(value hostrace_map_memory_bytes)" \
	'{ t[NR] = $1; bytes = $2 }
	END {
		per = (c - b) / scrapes
		printf "{\"kind\":\"%s\",\"vms\":%d,\"options\":\"%s\",\"exported\":%d,\"series\":%d,\"bytes\":%d,\"gzip_bytes\":%d,", kind, vms, options, exported, series, bytes, gzip
		printf "\"scrape_s_median\":%.4f,\"scrape_s_max\":%.4f,\"scrape_cpu_s\":%.4f,\"idle_cpu_share\":%.5f,", t[int((NR + 1) / 2)], t[NR], per, (b - a - per) / idle_s
		printf "\"resident_bytes\":%d,\"map_bytes\":%d}\n", rss, map
	}' "$work/times"
