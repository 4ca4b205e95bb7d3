#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the leak check's guest from Debian's cloud kernel (rig.sh fetch) and busybox; prints kernel and initramfs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${HOSTRACE_RIG:-${XDG_CACHE_HOME:-$HOME/.cache}/hostrace-rig}
modules="virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk failover net_failover
	virtio_net scsi_common scsi_mod sd_mod virtio_scsi virtio_balloon virtio-rng virtio_console"

[ -s "$cache/kernel.stamp" ] && [ -s "$cache/vmlinuz" ] || "$here/../rig.sh" fetch >&2
stamp=$(cat "$cache/kernel.stamp" "$here/guest.sh" "$here/image.sh" "$(type -P busybox)" | sha256sum | cut -c 1-16)
image=$cache/leaks-$stamp.cpio
if [ ! -s "$image" ]; then
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	mkdir -p "$dir"/root/{bin,dev,proc,sys,tmp,modules}
	cp "$(type -P busybox)" "$dir/root/bin/busybox"
	for module in $modules; do
		cp "$(find "$cache/kernel/lib/modules" -name "$module.ko")" "$dir/root/modules/"
	done
	echo "$modules" >"$dir/root/modules/order"
	cp "$here/guest.sh" "$dir/root/init"
	chmod 755 "$dir/root/init"
	(cd "$dir/root" && find . | cpio --quiet -o -H newc -R 0:0) >"$dir/cpio"
	rm -f "$cache"/leaks-*.cpio
	mv "$dir/cpio" "$image"
fi
echo "$cache/vmlinuz $image"
