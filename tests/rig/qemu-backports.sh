#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A newer stock QEMU in addition to the installed one: the package of Debian's backports, unpacked but not installed.
#
#   qemu-backports.sh     fetches it if it is not in the cache, and prints a program that starts it
#
# 25 MB of download, 100 MB in the cache ($HOSTRACE_RIG, else $XDG_CACHE_HOME/hostrace-rig). Uses only a source list of
# its own; /etc/apt is not changed. It runs with the libraries of the installed one; if one is missing the script
# fails with an error message. BACKPORTS names another suite (default: VERSION_CODENAME-backports).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/apt.inc"
. "$here/cache.inc"
cache=${HOSTRACE_RIG:-${XDG_CACHE_HOME:-$HOME/.cache}/hostrace-rig}/backports
suite=${BACKPORTS:-$(. /etc/os-release && echo "$VERSION_CODENAME")-backports}
apt_dir=$cache/apt
program=$cache/qemu-system-x86_64 # a script that runs the one in root/

die() {
	echo "qemu-backports: $*" >&2
	exit 1
}

fetch() {
	local name
	rm -rf "$cache/root" "$cache/deb" "$program"
	mkdir -p "$cache"/{deb,root}
	apt_suite_fetch
	for name in qemu-system-x86 qemu-system-common; do
		(cd "$cache/deb" && apt_of apt-get download "$name/$suite" >&2) || die "$suite has no $name"
	done
	for name in "$cache"/deb/*.deb; do
		dpkg-deb -x "$name" "$cache/root"
	done
	rm -rf "$cache/deb" "$apt_dir"
	if ldd "$cache/root/usr/bin/qemu-system-x86_64" | grep 'not found' >&2; then
		die "libraries are missing"
	fi
	{
		echo "#!/bin/sh"
		echo "export QEMU_MODULE_DIR=$(echo "$cache"/root/usr/lib/*/qemu)"
		echo "exec $cache/root/usr/bin/qemu-system-x86_64 -L /usr/share/seabios -L /usr/share/qemu \"\$@\""
	} >"$program.new"
	chmod +x "$program.new"
	mv "$program.new" "$program"
}

cache_program "$program" "$suite" fetch
echo "$program"
