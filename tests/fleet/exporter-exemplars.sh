#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `exporter --dumps`: a flight recorder's dump is the exemplar of the slow exit that triggered it, which a Prometheus with exemplar storage
# has for the exit's bucket; so is one of a slow request, for its device. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/../live/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl jq qemu-system-x86_64
command -v prometheus >/dev/null || skip_all "prometheus is not installed"
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"
. "$ROOT/tests/live/prometheus-lib.inc"
name=exemplar$$
trap 'pkill -P $$; rm -rf "$scratch"' EXIT

plan 11
timeout 200 "$HOSTRACE" exporter --dumps missing 2>err
is "$? $(grep -c missing err)" "1 1" "--dumps: a directory that is missing" err
mkdir dumps
mkfifo monitor
echo text >dumps/no-trace.hrt
cp "$BUILD/minivmm" "$name"
# shellcheck disable=SC2034 # demo-lib.inc
vmm_options="inb=0 mmio=0 hlt=0 slow=1500 pause=3000"
vmm_start 2000 "./$name"
exporter_start --listen 127.0.0.1:0 --dumps dumps
scrape
trigger=exit-latency
grep -q '^# TYPE hostrace_userspace_exit_latency' page && trigger=userspace-exit
record_start --vm "$vmm" -o "dumps/$name.hrt" --ring 4M --trigger "$trigger>1500ms" --before 1s --after 0s --keep 1
vmm_go
until_line 'dump: ' record.err
is $? 0 "the recorder writes a dump" record.err
until_sample 1 hostrace_dumps 'state="exemplar"'
is $? 0 "the exporter has read it" page
is "$(sample hostrace_dumps 'state="ignored"' | awk '{ print ($1 >= 1) }')" 1 "... and counts other files" page
file=$(cd dumps && ls "$name"-"$trigger"-*.hrt)
is "$(grep -c ' # {' page)" 0 "the text format has no exemplars" page
curl -sS --max-time 60 -H 'Accept: application/openmetrics-text' -o page "http://$address/metrics"
is "$(grep -c "vm=\"$name\".* # {trace_file=\"$file\"} " page)" 1 "OpenMetrics has one" page
value=$(sed -n 's/.* # {trace_file="[^"]*"} \([^ ]*\) .*/\1/p' page)
is "$(sed -n 's/.*,le="\([^"]*\)"} .* # {trace_file.*/\1/p' page | awk -v v="$value" '{ print (v > 1.5 && ($1 == "+Inf" || v <= $1)) }')" 1 \
	"... in the bucket of a value that is more than the trigger's" page

cat >prometheus.yml <<-END
	global: { scrape_interval: 1s }
	scrape_configs:
	  - { job_name: hostrace, static_configs: [{ targets: ["$address"] }] }
END
prometheus_run --enable-feature=exemplar-storage
for _ in $(seq 600); do
	curl -sS --max-time 60 -G --data-urlencode "query={vm=\"$name\"}" --data-urlencode "start=$(($(date +%s) - 3000))" \
		--data-urlencode "end=$(($(date +%s) + 3000))" "http://127.0.0.1:$port/api/v1/query_exemplars" >answer 2>ask.err
	[ "$(jq -r '.data[0].exemplars[0].labels.trace_file' answer)" = "$file" ] && break
	sleep .2
done
is "$(jq -r '.data[0].exemplars[0].labels.trace_file' answer)" "$file" "Prometheus has it" answer
is "$(jq -r --arg v "$value" '.data[0].exemplars[0].value | tonumber == ($v | tonumber)' answer)" true "... with its value" answer

# Six requests to a disk of 64 bytes per second.
exporter_end
qemu-system-x86_64 -name "$name" -accel kvm -machine pc -m 32 -nodefaults -display none -no-reboot -pidfile pid \
	-kernel "$BUILD/demo-guest.elf" -append "reads=0 writes=5 leak=6 wait_ms=600000" -S -monitor stdio \
	-drive driver=null-co,if=none,id=d0,size=2097152 -device virtio-blk-pci,drive=d0,id=disk,addr=4 \
	-drive driver=null-co,if=none,id=s0,size=16777216,throttling.bps-total=64 \
	-device virtio-blk-pci,drive=s0,id=slow,addr=5 <>monitor >qemu.out 2>&1 &
until_line '^[0-9]' pid || bail "QEMU did not start: $(cat qemu.out)"
vmm=$(cat pid)
until_vcpus 1 "$vmm"
exporter_start --listen 127.0.0.1:0 --dumps dumps --queues
until_sample 1 hostrace_vm_devices_watched "vm=\"$name\"" "pid=\"$vmm\""
record_start --vm "$vmm" -o "dumps/$name-requests.hrt" --ring 4M --trigger 'request-age>1s' --after 0s --keep 1
echo cont >monitor
until_line 'dump: ' record.err
is $? 0 "the recorder writes a dump of a slow request" record.err
file=$(cd dumps && ls "$name"-requests-request-age-*.hrt)
for _ in $(seq 600); do
	curl -sS --max-time 60 -H 'Accept: application/openmetrics-text' -o page "http://$address/metrics"
	grep -q "trace_file=\"$file\"" page && break
	sleep .2
done
is "$(grep "trace_file=\"$file\"" page | sed 's/{.*device="\([^"]*\)".*/ \1/')" "hostrace_device_request_latency_seconds_bucket slow" \
	"it is the exemplar of its device" page
finish
