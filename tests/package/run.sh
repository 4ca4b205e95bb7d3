#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the Debian package from an archive of `make dist`, checks it with lintian, installs it with its dependencies into
# a new root folder, and runs it there, as TAP: minutes, and the network. `make check-package`.
#
#   tests/package/run.sh ARCHIVE
set -u -o pipefail
archive=$(realpath "$1")
version=$(basename "$archive" .tar.gz)
version=${version#hostrace-}
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
export LC_ALL=C.UTF-8 DEB_BUILD_OPTIONS="parallel=$(nproc)"
nr=0
failed=0

check() { # NAME COMMAND...
	local name=$1
	shift
	nr=$((nr + 1))
	if "$@" >"$work/out" 2>&1 </dev/null; then
		echo "ok $nr - $name"
	else
		echo "not ok $nr - $name"
		tail -n 30 "$work/out" | sed 's/^/# /'
		failed=1
	fi
}

build() {
	tar -C "$work" -xzf "$archive" && (cd "$work/hostrace-$version" && timeout 1800 dpkg-buildpackage -b -us -uc)
}

# Debian's own root folder with what the package depends on, then the package.
install() {
	local deb depends
	deb=$(echo "$work"/hostrace_"$version"_*.deb)
	depends=$(dpkg-deb -f "$deb" Depends | sed 's/ *([^)]*)//g; s/ *|[^,]*//g; s/, */,/g')
	timeout 900 mmdebstrap --variant=minbase --include="$depends" --customize-hook="copy-in $deb /tmp" \
		--customize-hook="chroot \"\$1\" dpkg -i /tmp/${deb##*/}" bookworm "$work/root"
}

inside() {
	timeout 300 chroot "$work/root" "$@"
}

version_is() {
	[ "$(inside hostrace --version)" = "hostrace $version" ]
}

reads_traces() {
	cp tests/cases/exits/trace.txt "$work/root/tmp/" && inside hostrace exits -i /tmp/trace.txt | grep '^reason'
}

cd "$(dirname "$0")/../.." || exit 1
check "dpkg-buildpackage -b" build
check "lintian finds no error" lintian --fail-on error "$work"/hostrace_"$version"_*.changes
if [ "$(id -u)" = 0 ]; then
	check "the package is installed into a new root folder" install
	check "it has the version of the archive" version_is
	check "it reads a trace there" reads_traces
else
	nr=$((nr + 1))
	echo "ok $nr # SKIP only root may change the root folder"
fi
echo "1..$nr"
exit $failed
