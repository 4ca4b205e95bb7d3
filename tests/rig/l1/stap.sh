#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One L2, traced by all SystemTap scripts and by hostrace at once, from QEMU's first instruction to its end. It ends by
# SIGKILL while two writes are held, so that QEMU returns nothing as it ends.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
set -m

mkdir -p "$out/stap" "/lib/modules/$(uname -r)" /usr/lib/systemtap # staprun needs both folders
ln -sfn /rig/stap/stapio /usr/lib/systemtap/stapio
ln -sfn /rig/stap/staprun /usr/bin/staprun # stapio calls it at the end

# Probes in a library contain its real file name; the root has libglib under the name that programs are linked with.
glib=$(grep -a -o '/[a-z0-9/_.-]*/libglib-2\.0\.so\.[0-9.]*' stap/stap_qemumalloc.ko | head -n 1)
if [ -n "$glib" ] && [ ! -e "$glib" ]; then
	mv "${glib%/*}/libglib-2.0.so.0" "$glib"
	ln -s "${glib##*/}" "${glib%/*}/libglib-2.0.so.0"
fi

watching() { # NAME
	grep -q '^# watching' "$out/stap/$1.txt"
}

export LD_LIBRARY_PATH=/rig/lib
staps=()
for module in stap/*.ko; do
	name=$(basename "$module" .ko)
	staprun -R "$module" >"$out/stap/${name#stap_}.txt" 2>"$out/stap/${name#stap_}.err" </dev/null &
	staps+=($!)
done
unset LD_LIBRARY_PATH
for module in stap/*.ko; do
	name=$(basename "$module" .ko)
	wait_until watching "${name#stap_}"
done
log "${#staps[@]} SystemTap scripts are tracing"

truncate -s 16M /tmp/stapped.img
l2_command stapped "${STAP_VCPUS:-2}" stap \
	-drive driver=null-co,if=none,id=slow,size=16777216,read-zeroes=on,throttling.bps-write=64 \
	-device virtio-blk-pci,drive=slow,id=slow \
	-drive file=/tmp/stapped.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0,id=disk
timeout -k 5 "$life_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace record -o "$out/stapped.hrt" \
	-e 'default,bql_*,bh_*,vcpu_*,heap_*' -- "${qemu_command[@]}" \
	</dev/null >"$out/stapped.record" 2>&1 &
recorder=$!
wait_until test -s /tmp/stapped.pid
cp /tmp/stapped.pid "$out/stapped.pid"
wait_until said_or_died stapped inflight && sleep 2
kill -KILL "$(cat "$out/stapped.pid")"
wait "$recorder"
echo $? >"$out/stapped.record.status"
log "L2 and its recorder have ended"

for job in "${staps[@]}"; do
	kill -INT -- "-$job"
done
for job in "${staps[@]}"; do
	wait_until is_gone "$job"
done
log "the scripts have ended"
l2_reached stapped inflight
