#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A real KVM host in a VM, from Debian packages only. Needs no /dev/kvm, no root, and the network only for apt.
#
#   L0  this machine: QEMU/TCG, which emulates a CPU with AMD's SVM ............ rig.sh
#       RIG_CPU=vmx: Bochs, which emulates a CPU with Intel's VMX, one CPU
#   L1  the host under test: Debian's stock cloud kernel with kvm ............... l1/*.sh
#   L2  a guest of it: Debian's stock QEMU -accel kvm, the same kernel, busybox .. l2/*.sh
#
#   rig.sh fetch       the kernel package, unpacked into the cache (27 MB download)
#   rig.sh build       fetch, then the images: boot.cpio and root.ext4 for L1, l2.cpio for L2
#   rig.sh run DIR     build, then boot L1: DIR/in becomes its /rig, /rig/main.sh runs there, and its
#                      /rig/out is copied to DIR/out; L1's console is DIR/console.log. Exit status: main.sh's.
#                      A boot that panics or makes no progress is ended and repeated; DIR/repeated has the reasons.
#   rig.sh guest FILE INIT MODULE...   fetch, then FILE: an initramfs of busybox, those modules and the script INIT, for
#                      another guest that boots that kernel; prints the kernel's path
#
# RIG_SUITE=bookworm-backports: with the kernel of that suite, in a part of the cache of its own.
#
# The cache is $HOSTRACE_RIG, else $XDG_CACHE_HOME/hostrace-rig. A part is rebuilt when a package that it is
# built from, or a file of this directory, changes; see stamp_is().
#
# No file system is shared: the input and the output are tars on disks; the kernel's command line names them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${HOSTRACE_RIG:-${XDG_CACHE_HOME:-$HOME/.cache}/hostrace-rig}
suite=${RIG_SUITE:-}
cache=$cache${suite:+/$suite}
apt_dir=$cache/apt
. "$here/boot.inc"
. "$here/apt.inc"
run_seconds=${RIG_SECONDS:-1500} # a part takes 20 to 300; if a guest of it is repeated on a loaded machine, this much
cpu=${RIG_CPU:-svm}
stall_seconds=180 # L1's init prints a line every 10 s
# Bochs is ten times as slow as TCG until L1's init runs.
[ "$cpu" = svm ] || stall_seconds=900 run_seconds=${RIG_SECONDS:-1800}
stall_seconds=${RIG_STALL_SECONDS:-$stall_seconds}
out_mb=512
root_mb=768 # sparse; the root holds about 110 MB, two more QEMUs 130, a trace of VMX as text 75
l1_mb=1536
cylinder=$((16 * 63 * 512))
l1_append="console=ttyS0 quiet panic=-1"

# Both lists in the order in which insmod needs them: virtio_ring before virtio.
virtio_modules="virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk"
l1_modules_svm="$virtio_modules irqbypass kvm kvm-amd"
l1_modules_vmx="scsi_common scsi_mod sd_mod libata ata_piix irqbypass kvm kvm-intel"
l2_modules="$virtio_modules failover net_failover virtio_net"
l1_programs="bash busybox qemu-system-x86_64 perf"
firmware="/usr/share/seabios/bios-256k.bin /usr/share/qemu/kvmvapic.bin /usr/share/qemu/linuxboot_dma.bin
	/usr/share/qemu/pvh.bin"

die() {
	echo "rig: $*" >&2
	exit 1
}

# Is part $1 of the cache up to date, that is, built from $2?
stamp_is() {
	[ -n "$2" ] && [ "$(cat "$cache/$1.stamp" 2>/dev/null)" = "$2" ]
}

# Part $1 is about to be rebuilt: it is invalid until it is complete.
stamp_drop() {
	rm -f "$cache/$1.stamp"
}

stamp_set() {
	printf '%s' "$2" >"$cache/$1.stamp"
}

# The packages of the kernel that Debian's metapackage depends on, each as NAME=VERSION: one, of newer kernels several.
# Those in the cache are used without package lists, and for a suite that has been fetched.
kernel_packages() {
	local name
	if [ -n "$suite" ]; then
		cat "$cache/kernel.stamp" 2>/dev/null && return 0
		apt_suite_fetch 2>"$scratch/apt.log" || die "apt-get update failed for $suite: $(tail -n 3 "$scratch/apt.log")"
	fi
	for name in $(apt_of apt-cache depends --recurse --important linux-image-cloud-amd64 2>/dev/null |
		grep -x 'linux-\(image\|base\|binary\|modules\)-[0-9][^ ]*' | sort -u); do
		echo "$name=$(apt_of apt-cache policy "$name" | sed -n 's/.*Candidate: //p')"
	done | grep . || cat "$cache/kernel.stamp" 2>/dev/null ||
		die "apt knows no linux-image-cloud-amd64; run: apt-get update"
}

# $cache/kernel: the unpacked packages; $cache/vmlinuz and $cache/release.
# shellcheck disable=SC2086
fetch() {
	local packages package
	packages=$(kernel_packages)
	stamp_is kernel "$packages" && return 0
	stamp_drop kernel
	echo "rig: fetching" $packages
	rm -rf "$cache/kernel" "$scratch/deb"
	mkdir -p "$cache/kernel" "$scratch/deb"
	(cd "$scratch/deb" && apt_of apt-get download $packages >apt.log 2>&1) ||
		die "apt-get download failed: $(tail -n 3 "$scratch/deb/apt.log")"
	for package in "$scratch"/deb/*.deb; do
		dpkg -x "$package" "$cache/kernel"
	done
	rm -rf "$apt_dir"
	cp "$(find "$cache/kernel" -type f -name 'vmlinuz*')" "$cache/vmlinuz"
	basename "$(dirname "$(find "$cache/kernel" -name modules.builtin)")" >"$cache/release"
	stamp_set kernel "$packages"
}

# Everything that the images are built from: the kernel, the packages that own the programs, and our own files.
images_made_from() {
	cat "$cache/kernel.stamp"
	# shellcheck disable=SC2086
	dpkg-query -W -f '\n${Package} ${Version}' bash busybox-static qemu-system-x86 qemu-system-data \
		seabios linux-perf libc6
	cat "$here/rig.sh" "$here"/l1/{boot,init}.sh "$here"/l2/* | sha256sum
}

# Copies modules $2... into directory $1, except those that are built into the kernel; `order` there lists them.
modules_copy() {
	local dir=$1 module file
	shift
	mkdir -p "$dir"
	for module; do
		file=$(find "$cache/kernel" -name "$module.ko" -o -name "$module.ko.xz")
		case $file in
		*.xz) xz -dc "$file" >"$dir/$module.ko" ;;
		*.ko) cp "$file" "$dir/" ;;
		*)
			grep -rqs --include=modules.builtin "/$module.ko" "$cache/kernel" || die "the kernel package has no $module.ko"
			continue
			;;
		esac
		echo "$module"
	done >"$dir/order"
}

# An initramfs: busybox, modules, an init. Uncompressed, since TCG would unpack it slowly.
initramfs_make() { # DIR INIT MODULE...
	local dir=$1 init=$2
	shift 2
	mkdir -p "$dir"/{bin,dev,proc,sys,tmp,new}
	cp "$(type -P busybox)" "$dir/bin/busybox"
	modules_copy "$dir/modules" "$@"
	cp "$init" "$dir/init"
	chmod 755 "$dir/init"
}

cpio_make() { # DIR FILE
	(cd "$1" && find . | cpio --quiet -o -H newc -R 0:0) >"$2"
}

# Copies a program or library of this machine to the same path under $1, following symbolic links.
file_add() { # ROOT FILE
	[ -e "$1$2" ] && return 0
	mkdir -p "$1$(dirname "$2")"
	cp -L --preserve=mode,timestamps "$2" "$1$2"
}

# The libraries that a program needs, as ldd names them.
libraries_of() {
	ldd "$1" 2>/dev/null | grep -o '/[^ )]*' | sort -u || true
}

program_add() { # ROOT NAME
	local path library
	path=$(type -P "$2") || die "$2 is not installed"
	file_add "$1" "$path"
	for library in $(libraries_of "$path"); do
		file_add "$1" "$library"
	done
}

# L1's root: programs as installed here, busybox for the rest, firmware, and the kernel that L2 boots.
root_make() { # DIR
	local root=$1 link applet
	mkdir -p "$root"/usr/{bin,sbin,lib,lib64,share} "$root"/{dev,proc,sys,tmp,run,root,etc,rig,boot}
	for link in bin sbin lib lib64; do
		ln -s "usr/$link" "$root/$link"
	done
	for program in $l1_programs; do
		program_add "$root" "$program"
	done
	for applet in $(busybox --list); do
		[ -e "$root/usr/bin/$applet" ] || ln -s busybox "$root/usr/bin/$applet"
	done
	for file in $firmware /etc/ld.so.cache; do
		file_add "$root" "$file"
	done
	echo "root:x:0:0:root:/root:/bin/bash" >"$root/etc/passwd"
	cp "$cache/vmlinuz" "$root/boot/"
	cp "$cache/l2.cpio" "$root/boot/"
	cp "$here/l1/init.sh" "$root/init"
	chmod 755 "$root/init"
}

build() {
	local made_from
	fetch
	made_from=$(images_made_from)
	stamp_is images "$made_from" && return 0
	stamp_drop images
	echo "rig: building the images"
	# shellcheck disable=SC2086
	initramfs_make "$scratch/boot.svm" "$here/l1/boot.sh" $l1_modules_svm
	cpio_make "$scratch/boot.svm" "$cache/boot.svm.cpio"
	# shellcheck disable=SC2086
	initramfs_make "$scratch/boot.vmx" "$here/l1/boot.sh" $l1_modules_vmx
	cpio_make "$scratch/boot.vmx" "$cache/boot.vmx.cpio"
	# shellcheck disable=SC2086
	initramfs_make "$scratch/l2" "$here/l2/init.sh" $l2_modules
	cp -r "$here/l2" "$scratch/l2/parts"
	cpio_make "$scratch/l2" "$cache/l2.cpio"
	root_make "$scratch/root"
	rm -f "$cache/root.ext4"
	mke2fs -q -F -t ext4 -O ^has_journal -m 0 -E root_owner=0:0 -d "$scratch/root" \
		"$cache/root.ext4" "${root_mb}M" >/dev/null
	stamp_set images "$made_from"
}

# Ends L1 if its console gets no further line of its own for $stall_seconds; sets $l1_stalled then.
l1_watch() { # CONSOLE
	local lines='' now since=$SECONDS
	l1_stalled=0
	while kill -0 "$l1_job" 2>/dev/null; do
		now=$(grep -a -c '^L1 ' "$1" || true)
		if [ "$now" != "$lines" ]; then
			lines=$now
			since=$SECONDS
		elif ((SECONDS - since >= stall_seconds)); then
			l1_stalled=1
			kill "$l1_job" 2>/dev/null || true
			break
		fi
		sleep 1
	done
}

# Prints the QEMU that emulates SVM: the installed one from 10 on, else that of the backports (qemu-backports.sh). 7.2 has
# two defects. A CPU may keep the translation of code that another CPU changes meanwhile: when L1 enables a tracepoint or
# a static key it then takes a breakpoint that is gone again and again, and L1 stands still. And it computes the flags of
# CMPXCHG16B from a stale CC_OP, so that an interrupt directly after it saves an operand of an earlier instruction as
# EFLAGS; kernels from 6.5 on panic of that in seconds.
emulator_svm() {
	local major
	major=$(qemu-system-x86_64 --version | sed -n '1s/^QEMU emulator version \([0-9]*\).*/\1/p')
	if ((${major:-0} >= 10)); then
		echo qemu-system-x86_64
	else
		"$here/qemu-backports.sh"
	fi
}

# tsc=reliable: TCG has no invariant TSC, and a kernel with two CPUs would otherwise reject the TSC as its clock.
# tsc_early_khz: if this machine gives QEMU no CPU for a while as the kernel measures it, all its clocks are too fast.
# A CPU that is stuck for 100 s ends the boot, with panic=-1 and -no-reboot.
box_svm() { # DIR
	local khz emulator
	emulator=$(emulator_svm) || exit
	khz=$("$here/tsc-khz.sh") || khz=
	exec timeout -k 5 "$run_seconds" "$emulator" -accel tcg -cpu max -smp 2 -m "$l1_mb" \
		-nodefaults -nographic -vga none -serial "file:$1/console.log" -no-reboot \
		-d cpu_reset -D "$1/resets.log" \
		-kernel "$cache/vmlinuz" -initrd "$cache/boot.svm.cpio" \
		-append "$l1_append rig_in=/dev/vda rig_out=/dev/vdb rig_root=/dev/vdc tsc=reliable ${khz:+tsc_early_khz=$khz} softlockup_panic=1 sysctl.kernel.watchdog_thresh=50 ${RIG_APPEND:-}" \
		-drive "file=$scratch/in.tar,if=virtio,format=raw,readonly=on" \
		-drive "file=$scratch/out.tar,if=virtio,format=raw,cache=unsafe" \
		-drive "file=$cache/root.ext4,if=virtio,format=raw,snapshot=on"
}

# Bochs boots from a CD: isolinux, the kernel and the initramfs. Its disks are whole cylinders of 16 x 63 sectors.
box_vmx() { # DIR
	local iso=$scratch/iso disk size
	mkdir -p "$iso/isolinux"
	cp "$cache/vmlinuz" "$cache/boot.vmx.cpio" "$iso/"
	cp /usr/lib/ISOLINUX/isolinux.bin /usr/lib/syslinux/modules/bios/ldlinux.c32 "$iso/isolinux/"
	cat >"$iso/isolinux/isolinux.cfg" <<-END
		DEFAULT l1
		PROMPT 0
		TIMEOUT 1
		LABEL l1
		KERNEL /vmlinuz
		INITRD /boot.vmx.cpio
		APPEND $l1_append rig_root=/dev/sda rig_in=/dev/sdb rig_out=/dev/sdc nosmp nokaslr mitigations=off random.trust_cpu=on tsc=reliable lpj=1000000 ${RIG_APPEND:-}
	END
	xorriso -as mkisofs -quiet -o "$scratch/l1.iso" -b isolinux/isolinux.bin -c isolinux/boot.cat \
		-no-emul-boot -boot-load-size 4 -boot-info-table "$iso" >"$scratch/xorriso.log" 2>&1
	cp --sparse=always "$cache/root.ext4" "$scratch/root.ext4"
	for disk in root.ext4 in.tar out.tar; do
		size=$(stat -c %s "$scratch/$disk")
		truncate -s $(((size + cylinder - 1) / cylinder * cylinder)) "$scratch/$disk"
	done
	# rfb without a viewer is the only display that needs no terminal. The time is instructions / ips.
	cat >"$scratch/bochsrc" <<-END
		config_interface: textconfig
		display_library: rfb, options="timeout=0"
		cpu: model=corei7_skylake_x, count=1, ips=50000000, reset_on_triple_fault=0
		megs: $l1_mb
		romimage: file=/usr/share/bochs/BIOS-bochs-latest
		vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
		ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
		ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15
		ata0-master: type=cdrom, path=$scratch/l1.iso, status=inserted
		ata0-slave: type=disk, mode=flat, path=$scratch/root.ext4
		ata1-master: type=disk, mode=flat, path=$scratch/in.tar
		ata1-slave: type=disk, mode=flat, path=$scratch/out.tar
		boot: cdrom
		log: $1/bochs.log
		panic: action=fatal
		error: action=ignore
		info: action=ignore
		debug: action=ignore
		com1: enabled=1, mode=file, dev=$1/console.log
		sound: driver=dummy
		clock: sync=none, time0=utc
	END
	echo c >"$scratch/bochs.commands" # Debian's build waits for the debugger's "continue"
	exec timeout -k 5 "$run_seconds" bochs -q -f "$scratch/bochsrc" -rc "$scratch/bochs.commands" >"$1/bochs.out" 2>&1
}

l1_boot() { # DIR
	"box_$cpu" "$1" </dev/null &
	l1_job=$!
	l1_watch "$1/console.log"
	wait "$l1_job"
}

# Prints why the boot that has just ended is repeated; status 1 if it is not.
l1_failure() { # DIR STATUS
	if boot_failure "$1/console.log"; then
		return 0
	fi
	if grep -qs '^Triple fault' "$1/resets.log"; then
		echo "the emulated CPU shut down: triple fault"
		return 0
	fi
	case $2 in
	134 | 139) # SIGABRT, SIGSEGV
		echo "the emulator died: $(kill -l "$2")"
		return 0
		;;
	esac
	[ "$l1_stalled" = 1 ] && echo "no progress for $stall_seconds s, after: $(grep -a '^L1 ' "$1/console.log" | tail -n 1 | tr -d '\r')"
}

run() { # DIR
	local dir=${1:?usage: rig.sh run DIR} status boots=0 reason
	[ -f "$dir/in/main.sh" ] || die "$dir/in/main.sh is missing"
	tar -cf "$scratch/in.tar" -C "$dir/in" .
	rm -f "$dir"/console*.log "$dir"/resets*.log "$dir/repeated"
	while :; do
		rm -rf "$dir/out" "$scratch/out.tar"
		mkdir "$dir/out"
		truncate -s "${out_mb}M" "$scratch/out.tar"
		: >"$dir/console.log"
		status=0
		l1_boot "$dir" || status=$?
		tar -xf "$scratch/out.tar" -C "$dir/out" 2>/dev/null || true
		boots=$((boots + 1))
		[ ! -f "$dir/out/status" ] || break
		[ $boots -lt "$BOOTS_MAX" ] || break
		reason=$(l1_failure "$dir" "$status") || break
		echo "$reason" >>"$dir/repeated"
		echo "rig: the boot is repeated: $reason" >&2
		mv "$dir/console.log" "$dir/console.$boots.log"
		[ ! -f "$dir/resets.log" ] || mv "$dir/resets.log" "$dir/resets.$boots.log"
	done
	[ -f "$dir/out/status" ] && status=$(cat "$dir/out/status") || status=${status/#0/1}
	[ "$status" = 0 ] || {
		echo "rig: L1 failed with status $status; the end of its console:" >&2
		tail -n 25 "$dir/console.log" >&2
	}
	return "$status"
}

clean_up() {
	[ -z "$l1_job" ] || kill "$l1_job" 2>/dev/null || true # timeout passes it on to QEMU
	rm -rf "$scratch"
}

l1_job=
mkdir -p "$cache"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/hostrace-rig.XXXXXX")
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

kernel_is_there() {
	stamp_is kernel "$(kernel_packages)"
}

images_are_there() {
	kernel_is_there && stamp_is images "$(images_made_from)"
}

lock() { # [-s]
	flock -w 300 ${1:-} 9 || die "another build has held $cache/lock for 300 s"
}

# Several may run at once; only one may build, and not while others run. If all is built, no lock is waited for.
prepare() { # IS-UP-TO-DATE BUILD
	lock -s
	"$1" || {
		flock -u 9
		lock
		"$1" || "$2" # unless another did meanwhile
		lock -s
	}
}

exec 9>"$cache/lock"
case ${1:-} in
fetch) prepare kernel_is_there fetch ;;
guest)
	file=${2:?usage: rig.sh guest FILE INIT MODULE...}
	init=${3:?usage: rig.sh guest FILE INIT MODULE...}
	shift 3
	prepare kernel_is_there fetch >&2
	initramfs_make "$scratch/guest" "$init" "$@"
	cpio_make "$scratch/guest" "$file"
	echo "$cache/vmlinuz"
	;;
build) prepare images_are_there build ;;
run)
	prepare images_are_there build
	run "${2:-}"
	;;
*)
	sed -n '4,22s/^# \{0,1\}//p' "$0"
	exit 2
	;;
esac
