#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Boots an arm64 host with KVM (QEMU's emulation of EL2, Debian's kernel), in which hostrace, cross-built, records a VMM
# whose exits are known, and compares its recording with tracefs's of the same run. TAP.
#
#   tests/arm64/check.sh BUILD SYSROOT-DIR HOSTRACE    BUILD: of arm64; HOSTRACE: of this machine, which reads the recording, too
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "$1")
sysroot=$(realpath "$2")
hostrace=$(realpath "$3")
work=${CHECK_DIR:-$build/check}/rig
rm -rf "$work"
mkdir -p "$work/root"/{bin,lib,proc,sys,dev,tmp}
cc="aarch64-linux-gnu-gcc --sysroot=$sysroot/root"

# Libraries of a program, and theirs.
libraries_add() { # FILE
	local name file
	for name in $(aarch64-linux-gnu-objdump -p "$1" | awk '/NEEDED/ { print $2 }'); do
		[ ! -e "$work/root/lib/$name" ] || continue
		file=$(find "$sysroot/root" -name "$name" -print -quit)
		[ -n "$file" ] || { echo "Bail out! no $name in $sysroot"; exit 1; }
		cp -L "$file" "$work/root/lib/"
		libraries_add "$work/root/lib/$name"
	done
}

cp "$sysroot/root/bin/busybox" "$work/root/bin/"
cp "$here/init" "$here/reports" "$work/root/"
for program in hostrace hostrace-decode; do
	aarch64-linux-gnu-strip -o "$work/root/bin/$program" "$build/$program"
	libraries_add "$work/root/bin/$program"
done
$cc -static -O2 -Wall -Werror -o "$work/root/bin/vmm" "$here/vmm.c" "$here/guest.S"
(cd "$work/root" && find . | cpio -o -H newc --quiet --owner 0:0 | gzip -1) >"$work/initrd"
timeout "${ARM64_SECONDS:-300}" qemu-system-aarch64 -M virt,virtualization=on,gic-version=3 -cpu cortex-a76 -smp 2 -m 1G \
	-display none -serial stdio -monitor none -no-reboot -kernel "$sysroot/boot/vmlinuz" -initrd "$work/initrd" \
	-append "console=ttyAMA0 quiet panic=-1" </dev/null >"$work/console" 2>&1 ||
	{ echo "Bail out! the machine did not end"; tail -n 20 "$work/console" | sed 's/^/# /'; exit 1; }
exec python3 "$here/compare.py" "$work/console" "$hostrace" "$work"
