#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs the packages that hostrace needs, or prints the command that does.
#
#   scripts/deps.sh GROUP...    build check live bench fleet rig vmx arm64 usdt fuzz coverage docs package; default: all but fleet,
#                                      vmx, arm64, usdt and package
#   scripts/deps.sh --list GROUP...    only prints missing packages
#
# Debian and derivatives: root installs missing packages; for other users the command is printed and the status is 1.
# Fedora, RHEL and derivatives: the dnf command is printed. Other systems: the names are printed, and the build continues.
# HOSTRACE_DEPS=skip: does nothing (for tools that were installed by hand).
set -eu

# Group, Debian package, Fedora package ("-": part of another package)
packages() {
	cat <<-'END'
	build gcc                gcc
	build libc6-dev          glibc-devel
	build libc6-dev          glibc-static
	build make               make
	build pkg-config         pkgconf-pkg-config
	build clang              clang
	build llvm               llvm
	build bpftool            bpftool
	build libbpf-dev         libbpf-devel
	build libelf-dev         elfutils-libelf-devel
	build libdw-dev          elfutils-devel
	build libpcap-dev        libpcap-devel
	build libiberty-dev      binutils-devel
	build libiberty-dev      binutils-devel
	build libcurl4-openssl-dev libcurl-devel
	build zlib1g-dev         zlib-devel
	build libzstd-dev        libzstd-devel
	build libtraceevent-dev  libtraceevent-devel
	build libjansson-dev     jansson-devel
	build libseccomp-dev     libseccomp-devel
	build libsqlite3-dev     sqlite-devel
	build libreadline-dev    readline-devel
	build libcapstone-dev    capstone-devel
	build libncurses-dev     ncurses-devel
	build libmicrohttpd-dev  libmicrohttpd-devel
	build libcrypt-dev       libxcrypt-devel
	build libprotobuf-c-dev  protobuf-c-devel
	build protobuf-c-compiler protobuf-c-compiler
	build linux-libc-dev     kernel-headers
	check libcmocka-dev      libcmocka-devel
	check systemtap-sdt-dev  systemtap-sdt-devel
	check jq                 jq
	check tcpdump            tcpdump
	check openssl            openssl
	check xz-utils           xz
	check xxd                vim-common
	check libxml2-utils      libxml2
	check socat              socat
	check libcap2-bin        libcap
	check strace             strace
	check bsdutils           util-linux
	check chromium           chromium
	check python3            python3
	check python3-jsonschema python3-jsonschema
	check zsh               zsh
	check fish              fish
	check curl               curl
	check prometheus         golang-github-prometheus
	check babeltrace2        babeltrace2
	check trace-cmd          trace-cmd
	check protobuf-compiler  protobuf-compiler
	check tshark             wireshark-cli
	live  qemu-system-x86    qemu-system-x86-core
	live  qemu-system-common qemu-img
	live  qemu-utils         qemu-img
	live  e2fsprogs          e2fsprogs
	live  mount              util-linux
	live  seabios            seabios-bin
	live  tmux               tmux
	live  less               less
	live  ncurses-base       ncurses-base
	live  procps             procps-ng
	live  busybox-static     busybox
	live  cpio               cpio
	live  util-linux         util-linux
	live  iproute2           iproute
	bench jq                 jq
	bench trace-cmd          trace-cmd
	bench linux-perf         perf
	fleet clickhouse-server  clickhouse-server
	fleet python3-prometheus-client python3-prometheus_client
	rig   busybox-static     busybox
	rig   cpio               cpio
	rig   e2fsprogs          e2fsprogs
	rig   trace-cmd          trace-cmd
	rig   linux-perf         perf
	rig   bpfcc-tools        bcc-tools
	rig   jq                 jq
	rig   systemtap          systemtap
	rig   gcc-12             gcc
	rig   xz-utils           xz
	rig   libxml2-utils      libxml2
	vmx   bochs              bochs
	vmx   bochsbios          bochs
	vmx   vgabios            vgabios
	vmx   isolinux           syslinux
	vmx   syslinux-common    syslinux
	vmx   xorriso            xorriso
	arm64 gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu
	arm64 qemu-system-arm    qemu-system-aarch64-core
	arm64 cpio               cpio
	arm64 python3            python3
	usdt  meson              meson
	usdt  ninja-build        ninja-build
	usdt  dpkg-dev           dpkg-dev
	usdt  python3            python3
	usdt  systemtap-sdt-dev  systemtap-sdt-devel
	usdt  libglib2.0-dev     glib2-devel
	usdt  libpixman-1-dev    pixman-devel
	usdt  libfdt-dev         libfdt-devel
	usdt  libslirp-dev       libslirp-devel
	usdt  libaio-dev         libaio-devel
	usdt  liburing-dev       liburing-devel
	fuzz  clang              clang
	fuzz  libclang-rt-14-dev compiler-rt
	coverage llvm           llvm
	coverage libclang-rt-14-dev compiler-rt
	package dpkg-dev         dpkg-dev
	package debhelper        debhelper
	package fakeroot         fakeroot
	package lintian          lintian
	package mmdebstrap       mmdebstrap
	package rpm              rpm-build
	package cpio             cpio
	docs  scdoc              scdoc
	docs  man-db             man-db
	END
}

# Packages of the groups in $1; $2 is the column.
wanted() {
	packages | while read -r group debian fedora; do
		case " $1 " in *" $group "*) ;; *) continue ;; esac
		[ "$2" = debian ] && echo "$debian" || echo "$fedora"
	done | grep -vx -- - | sort -u
}

# Has a configured archive this package? Without lists it is assumed.
is_packaged() {
	[ -z "$(apt-cache policy linux-libc-dev 2>/dev/null | sed -n '/Candidate: [0-9]/p')" ] ||
		[ -n "$(apt-cache policy "$1" 2>/dev/null | sed -n '/Candidate: [0-9]/p')" ]
}

# libclang-rt-14-dev belongs to clang 14; newer Debian releases have a newer one. Ubuntu has bpftool in linux-tools.
debian_names() {
	wanted "$1" debian | while read -r p; do
		if [ "$p" = bpftool ] && grep -qs '^ID=ubuntu' "${DEPS_OS_RELEASE:-/etc/os-release}"; then
			p=linux-tools-generic
		fi
		if [ "$p" = libclang-rt-14-dev ]; then
			v=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
			p=libclang-rt-${v:-14}-dev
		fi
		echo "$p"
	done
}

debian_missing() {
	have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
	debian_names "$1" | while read -r p; do
		echo "$have" | grep -qxF -- "$p" || echo "$p"
	done
}

fedora_missing() {
	wanted "$1" fedora | while read -r p; do
		rpm -q "$p" >/dev/null 2>&1 || echo "$p"
	done
}

# The rig downloads a kernel package: apt needs a list that matches the mirror.
refresh_lists() {
	case " $1 " in *" rig "*) ;; *) return 0 ;; esac
	[ "$(id -u)" = 0 ] || return 0
	lists=/var/lib/apt/lists
	[ -n "$(find $lists -maxdepth 0 -mtime -1)" ] && ls $lists/*Packages* >/dev/null 2>&1 && return 0
	apt-get -qq -o Acquire::Retries=3 update </dev/null || true
}

one_line() {
	tr '\n' ' ' | sed 's/ $//'
}

install_debian() {
	echo "hostrace needs these packages, installing: $*"
	export DEBIAN_FRONTEND=noninteractive
	opt="-qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0"
	# shellcheck disable=SC2086
	apt-get $opt update </dev/null ||
		echo "apt-get update failed; using the existing package lists" >&2
	for p in "$@"; do # apt-get installs none if one is unknown
		shift
		is_packaged "$p" && set -- "$@" "$p" ||
			echo "this system has no package $p: tests that need it are skipped" >&2
	done
	# shellcheck disable=SC2086
	apt-get $opt install -y --no-install-recommends "$@" </dev/null >/dev/null
}

main() {
	list=0
	if [ "${1:-}" = --list ]; then
		list=1
		shift
	fi
	groups=${*:-build check live bench rig fuzz coverage docs}
	[ "${HOSTRACE_DEPS:-}" = skip ] && return 0

	if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
		missing=$(debian_missing "$groups" | one_line)
		how="apt-get install -y --no-install-recommends"
	elif command -v rpm >/dev/null; then
		missing=$(fedora_missing "$groups" | one_line)
		how="dnf install -y"
	else
		echo "hostrace: unknown package manager; install what Debian calls:" \
			"$(wanted "$groups" debian | one_line)" >&2
		return 0
	fi
	if [ $list = 1 ]; then
		[ -z "$missing" ] || echo "$missing"
		return 0
	fi
	if [ -z "$missing" ]; then
		[ "${how%% *}" = apt-get ] && refresh_lists "$groups"
		return 0
	fi
	if [ "$(id -u)" = 0 ] && [ "${how%% *}" = apt-get ]; then
		# shellcheck disable=SC2086
		install_debian $missing && return 0
	fi
	echo "hostrace: packages are missing. Run as root:" >&2
	echo "    $how $missing" >&2
	echo "(on Fedora and RHEL: dnf install $(wanted "$groups" fedora | one_line))" >&2
	return 1
}

main "$@"
