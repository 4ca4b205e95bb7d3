#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A QEMU with USDT probes, as Fedora and RHEL ship it, for distributions whose QEMU has none.
#
#   qemu-usdt.sh      builds it if it is not in the cache, and prints the program's path
#
# Debian's source package of the installed version, built with the dtrace trace backend and the few devices that
# our tests use: about 3 minutes on two CPUs, 24 MB of download; 10 MB remain in the cache ($HOSTRACE_RIG, else
# $XDG_CACHE_HOME/hostrace-rig). It is not stripped, so that functions without a USDT probe are found too. Uses only a
# source list of its own; /etc/apt is not changed. Packages: `scripts/deps.sh usdt`.
set -euo pipefail

. "$(dirname "${BASH_SOURCE[0]}")/cache.inc"
cache=${HOSTRACE_RIG:-${XDG_CACHE_HOME:-$HOME/.cache}/hostrace-rig}/usdt
jobs=${JOBS:-2}

die() {
	echo "qemu-usdt: $*" >&2
	exit 1
}

# apt-get with a state of its own, with the source packages of the suites that this machine uses.
apt() {
	apt-get -q -o Dir::Etc::sourcelist="$cache/apt/list" -o Dir::Etc::sourceparts="$cache/apt/parts" \
		-o Dir::State::lists="$cache/apt/lists" -o Dir::Cache="$cache/apt/cache" \
		-o APT::Sandbox::User=root -o Acquire::Retries=3 "$@"
}

source_lists() {
	mkdir -p "$cache"/apt/{parts,lists/partial,cache/archives/partial}
	sed -s 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/*.sources >"$cache/apt/parts/src.sources" \
		2>/dev/null || true
	sed 's/^deb /deb-src /' /etc/apt/sources.list >"$cache/apt/list" 2>/dev/null || : >"$cache/apt/list"
	apt update >&2
}

fetch() { # VERSION
	source_lists
	rm -rf "$cache/source" "$cache/deb"
	mkdir -p "$cache/deb"
	(cd "$cache/deb" && apt source --download-only "qemu=$1" >&2) || die "no source package qemu $1"
	dpkg-source --no-copy --no-check -x "$cache"/deb/qemu_*.dsc "$cache/source" >&2
	rm -rf "$cache/deb" "$cache/apt"
}

# The machine and devices of the demo guest and of the rig; everything else is omitted to build faster.
devices() {
	local name
	for name in I440FX Q35 VIRTIO_PCI VIRTIO_BLK VIRTIO_NET VIRTIO_SCSI VIRTIO_SERIAL VIRTIO_BALLOON VIRTIO_RNG \
		SERIAL_ISA ISA_DEBUG TEST_DEVICES HPET; do
		echo "CONFIG_$name=y"
	done
}

build() {
	devices >"$cache/source/configs/devices/x86_64-softmmu/hostrace.mak"
	rm -rf "$cache/build"
	mkdir "$cache/build"
	cd "$cache/build"
	../source/configure --target-list=x86_64-softmmu --enable-trace-backends=dtrace,log --meson=meson \
		--without-default-features --without-default-devices --with-devices-x86_64=hostrace \
		--enable-system --enable-kvm --enable-tcg --enable-linux-aio --enable-linux-io-uring --enable-slirp \
		--enable-fdt=system --firmwarepath=/usr/share/qemu:/usr/share/seabios --disable-user --disable-tools \
		--disable-docs --disable-guest-agent --disable-werror --disable-install-blobs >configure.log 2>&1 ||
		die "configure failed: $(tail -n 5 configure.log)"
	nice ninja -j "$jobs" qemu-system-x86_64 >ninja.log 2>&1 || die "the build failed: $(tail -n 5 ninja.log)"
	strip -g -o "$cache/qemu-system-x86_64" qemu-system-x86_64
	rm -rf "$cache/build" "$cache/source"
}

fetch_and_build() { # VERSION
	fetch "$1"
	(build)
}

version=$(dpkg-query -W -f '${source:Version}' qemu-system-x86 2>/dev/null) || die "qemu-system-x86 is not installed"
cache_program "$cache/qemu-system-x86_64" "$version" fetch_and_build "$version"
echo "$cache/qemu-system-x86_64"
