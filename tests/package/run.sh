#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the Debian packages from an archive of `make dist`, checks them with lintian, installs them with their
# dependencies and QEMU into a new root folder, and goes a new user's way there, from the installed package to the cause of
# a slow request. Builds the RPMs with Debian's libraries. As TAP: minutes, and the network. `make check-package`.
#
#   tests/package/run.sh ARCHIVE
set -u -o pipefail
archive=$(realpath "$1")
version=$(basename "$archive" .tar.gz)
version=${version#hostrace-}
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
export LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS="parallel=$(nproc)"
. "$(dirname "$0")/../tap.inc"

check() { # NAME COMMAND...
	local name=$1
	shift
	"$@" >"$work/out" 2>&1 </dev/null
	result "$name" $? "$work/out"
}

build() {
	tar -C "$work" -xzf "$archive" && (cd "$work/hostrace-$version" && timeout 1800 dpkg-buildpackage -b -us -uc)
}

# Debian's own root folder with what the packages depend on, QEMU and Python, then the packages.
install() {
	local debs depends deb hooks=()
	debs=("$work"/hostrace_"$version"_*.deb "$work"/libhostrace0_"$version"_*.deb "$work"/libhostrace-dev_"$version"_*.deb
		"$work"/python3-hostrace_"$version"_*.deb)
	depends=$(for deb in "${debs[@]}"; do
		dpkg-deb -f "$deb" Depends | tr , '\n' | sed 's/ *([^)]*)//; s/|.*//; s/ //g'
	done | grep -v '^libhostrace' | sort -u | paste -sd ,)
	for deb in "${debs[@]}"; do
		hooks+=(--customize-hook="copy-in $deb /tmp")
	done
	timeout 1500 mmdebstrap --variant=minbase --include="$depends,qemu-system-x86,python3" "${hooks[@]}" \
		--customize-hook="chroot \"\$1\" sh -c 'dpkg -i /tmp/*.deb'" bookworm "$work/root"
}

# With the host's devices and kernel interfaces, in a mount namespace of its own.
inside() {
	# shellcheck disable=SC2016 # $0 and $@ are the inner shell's
	timeout 600 unshare --mount --propagation private sh -c 'for d in proc sys dev; do mount --rbind /$d "$0/$d" || exit; done
		exec chroot "$0" "$@"' "$work/root" "$@"
}

version_is() {
	[ "$(inside hostrace --version)" = "hostrace $version" ]
}

reads_traces() {
	cp tests/cases/exits/trace.txt "$work/root/tmp/" && inside hostrace exits -i /tmp/trace.txt | grep '^reason'
}

# The pages are not compressed, and the recordings are next to them.
reads_tutorial() {
	inside grep -q hostrace /usr/share/doc/hostrace/doc/tutorial/1-record.md &&
		inside hostrace exits -i /usr/share/doc/hostrace/doc/tutorial/slow.hrt | grep '^reason'
}

reads_with_library() {
	inside python3 /usr/share/doc/libhostrace-dev/examples/exits.py /tmp/trace.txt | grep '[1-9]'
}

# A new user: the demo, then the cause of its slowest exits and requests.
new_user() {
	local begin=$SECONDS
	inside hostrace demo /tmp/demo && inside hostrace blame -i /tmp/demo/demo.hrt && inside hostrace virtio -i /tmp/demo/demo.hrt &&
		inside hostrace leaks -i /tmp/demo/demo.hrt && echo "# from the package to a cause: $((SECONDS - begin)) s" >"$work/time"
}

# No RPM database knows Debian's packages: --nodeps.
build_rpms() {
	timeout 1800 rpmbuild --nodeps --define "_topdir $work/rpm" -tb "$archive"
}

rpm_runs() {
	mkdir "$work/unpacked" && rpm2cpio "$work"/rpm/RPMS/*/hostrace-"$version"-*.rpm | (cd "$work/unpacked" && cpio -idm --quiet) &&
		[ "$("$work/unpacked/usr/bin/hostrace" --version)" = "hostrace $version" ] &&
		rpm -qpl "$work"/rpm/RPMS/*/libhostrace-devel-"$version"-*.rpm | grep 'libhostrace[.]pc$'
}

cd "$(dirname "$0")/../.." || exit 1
check "dpkg-buildpackage -b" build
check "lintian finds no error" lintian --fail-on error "$work"/hostrace_*.changes
if [ "$(id -u)" = 0 ]; then
	check "the package is installed into a new root folder" install
	check "it has the version of the archive" version_is
	check "it reads a trace there" reads_traces
	check "it reads the tutorial's recording there" reads_tutorial
	check "the library's Python example reads it by python3-hostrace" reads_with_library
	check "the demo runs there, and what it shows has causes" new_user
	cat "$work/time" 2>/dev/null
else
	skip "only root may change the root folder"
fi
check "rpmbuild -tb builds the RPMs" build_rpms
check "the program of the RPM has the version of the archive" rpm_runs
results_end
