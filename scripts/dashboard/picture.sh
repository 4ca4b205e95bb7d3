#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes doc/dashboard.png: examples/prometheus/grafana-dashboard.json with the figures of real VMs, from a Prometheus
# that scrapes an exporter, drawn by Grafana's components in Chromium. As root; needs npm, Chromium, Prometheus and QEMU.
#
#   scripts/dashboard/picture.sh [SECONDS]    scrapes for so long (default 420)
#
# Four VMs: "web1" and "db1" write to their disks at intervals; half-way, db1 is stopped for five seconds and another
# cgroup takes CPU time from "batch1", a small VM without disks; "stuck1" has six requests that its disk never answers.
set -u
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
seconds=${1:-420}
. "$ROOT/tests/live/demo-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"
. "$ROOT/tests/live/prometheus-lib.inc"
end() {
	pkill -P $$
	sleep 1
	[ ! -d "$hogs" ] || rmdir "$hogs"
	rm -rf "$scratch"
}
trap end EXIT
hogs=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)/other-jobs

# vm_start NAME WORK DISK-OPTION...
vm_start() {
	vm=$1 work=$2
	shift 2
	qemu-system-x86_64 -name "$vm" -accel kvm -machine pc -m 32 -nodefaults -display none -no-reboot \
		-kernel "$BUILD/demo-guest.elf" -append "reads=0 outb=200 $work" -serial "file:$vm.console" \
		-device isa-debug-exit,iobase=0xf4,iosize=1 -qmp "unix:$vm.qmp,server=on,wait=off" \
		-drive "driver=null-co,if=none,id=d0,size=2097152,$1" -device virtio-blk-pci,drive=d0,id=disk,addr=4 \
		-drive driver=null-co,if=none,id=s0,size=16777216,throttling.bps-total=64 \
		-device virtio-blk-pci,drive=s0,id=slow,addr=5 \
		</dev/null >"$vm.out" 2>&1 &
}

# tell VM COMMAND: by QMP
tell() {
	python3 - "$1.qmp" "$2" <<-'END'
		import json, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		f = s.makefile("rw")
		for command in ("qmp_capabilities", sys.argv[2]):
		    f.write(json.dumps({"execute": command}) + "\n")
		    f.flush()
		    while "return" not in json.loads(f.readline()):
		        pass
	END
}

here=$ROOT/scripts/dashboard
cp "$here/package.json" .
npm install --no-audit --no-fund --ignore-scripts >npm.out 2>&1 || bail "npm: $(tail -n 5 npm.out)"
NODE_PATH=$scratch/node_modules node_modules/.bin/esbuild "$here/page.jsx" --bundle --minify --outfile=page.js \
	'--define:process.env.NODE_ENV="production"' >esbuild.out 2>&1 || bail "esbuild: $(cat esbuild.out)"
cat >page.html <<-END
	<!doctype html><meta charset="utf-8"><link rel="stylesheet" href="page.css">
	<body><div id="dashboard"></div><script src="page.js"></script>
END

cp "$BUILD/minivmm" batch1
taskset -c 1 ./batch1 "count=$scratch/count" >batch1.out 2>&1 &
vm_start web1 "leak=0 writes=0 paced=100000000 ticks=3" throttling.iops-total=1000
vm_start db1 "leak=0 writes=0 paced=100000000 ticks=1" throttling.iops-total=1000
vm_start stuck1 "writes=60 leak=6 wait_ms=100000000" throttling.iops-total=20
exporter_start --listen 127.0.0.1:0 --queues --downtime
cp "$ROOT/examples/prometheus/hostrace.rules.yml" .
cat >prometheus.yml <<-END
	global: { scrape_interval: 2s, evaluation_interval: 2s }
	rule_files: [hostrace.rules.yml]
	scrape_configs: [{ job_name: hostrace, static_configs: [{ targets: ["$address"] }] }]
END
prometheus_run
echo "recording the VMs' figures for $seconds seconds"
start=$(($(date +%s) + 10))
sleep $((seconds / 2))
tell db1 stop
sleep 5
tell db1 cont
mkdir -p "$hogs"
sh -c 'echo $$ >'"$hogs/cgroup.procs"'; exec taskset -c 1 timeout 60 sh -c "while :; do :; done"' &
sleep $((seconds / 2 - 5))
fragment="http://127.0.0.1:$port,$start,$(date +%s),2"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/picture.py" "page.html#$fragment" "$ROOT/doc/dashboard.png"
exporter_end
