#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The newest stock QEMU of Debian: that of the next release's backports, with its own C library, unpacked but not installed.
#
#   qemu-newest.sh            fetches it if it is not in the cache, and prints a program that starts it; to run it needs root
#   qemu-newest.sh fill DIR   makes DIR/qemu, the same for another host whose other programs are static or run before it:
#                             the executable and the libraries that it is linked with
#
# 38 MB of download, 180 MB in the cache ($HOSTRACE_RIG, else $XDG_CACHE_HOME/hostrace-rig). Uses only a source list of
# its own; /etc/apt is not changed. NEWEST names other suites, the last of which has QEMU.
#
# It needs a newer glibc than this machine's. So it is started in a mount namespace in which its libraries are mounted
# over this machine's, as of a container: /proc/PID/exe is QEMU itself, and its libraries have other contents there than
# the files of the same name here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/apt.inc"
. "$here/cache.inc"
cache=${HOSTRACE_RIG:-${XDG_CACHE_HOME:-$HOME/.cache}/hostrace-rig}/newest
suite=${NEWEST:-trixie trixie-backports}
apt_dir=$cache/apt
program=$cache/qemu-system-x86_64 # a script that runs the one in root/
libraries=usr/lib/x86_64-linux-gnu

die() {
	echo "qemu-newest: $*" >&2
	exit 1
}

# With an empty list of installed packages apt downloads everything that it depends on.
fetch() {
	local name
	rm -rf "$cache/root" "$program"
	mkdir -p "$cache/root"
	apt_suite_fetch
	: >"$apt_dir/status"
	apt_of apt-get -o Dir::State::status="$apt_dir/status" -t "${suite##* }" -y --no-install-recommends --download-only \
		install qemu-system-x86 >&2 || die "$suite has no qemu-system-x86"
	for name in "$apt_dir"/cache/archives/*.deb; do
		dpkg-deb -x "$name" "$cache/root"
	done
	rm -rf "$apt_dir"
	cat >"$program.new" <<-END
		#!/bin/sh
		unset LD_LIBRARY_PATH
		export QEMU_MODULE_DIR=$cache/root/$libraries/qemu
		exec unshare -m sh -c 'mount --bind "\$0/$libraries" /$libraries &&
			exec "\$0/usr/bin/qemu-system-x86_64" -L "\$0/usr/share/seabios" -L "\$0/usr/share/qemu" "\$@"' $cache/root "\$@"
	END
	chmod +x "$program.new"
	mv "$program.new" "$program"
}

fill() { # DIR
	local qemu=$cache/root/usr/bin/qemu-system-x86_64 loader=$cache/root/$libraries/ld-linux-x86-64.so.2 library
	mkdir -p "$1/lib"
	cp "$qemu" "$1/"
	cp -L "$loader" "$1/lib/"
	for library in $("$loader" --library-path "$cache/root/$libraries" --list "$qemu" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p'); do
		cp -L "$library" "$1/lib/"
	done
	cat >"$1/qemu" <<-END
		#!/bin/sh
		unset LD_LIBRARY_PATH
		exec unshare -m sh -c 'mount --bind "\$0/lib" /$libraries &&
			mount --bind "\$0/lib/ld-linux-x86-64.so.2" /lib64/ld-linux-x86-64.so.2 &&
			exec "\$0/qemu-system-x86_64" -L /usr/share/seabios -L /usr/share/qemu "\$@"' "\$(dirname "\$(realpath "\$0")")" "\$@"
	END
	chmod 755 "$1/qemu"
}

cache_program "$program" "$suite" fetch
case ${1:-} in
fill) fill "${2:?usage: qemu-newest.sh fill DIR}" ;;
*) echo "$program" ;;
esac
