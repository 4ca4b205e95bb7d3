#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes a directory of Debian's arm64 packages that hostrace is built with (SYSROOT) and runs on in the rig: by apt with
# a state of its own, so that the host's packages stay as they are.
#
#   tests/arm64/sysroot.sh DIR    DIR/root, DIR/boot/vmlinuz; nothing is done if they are there
set -euo pipefail
dir=$(mkdir -p "$1" && cd "$1" && pwd)
top=$(cd "$(dirname "$0")/../.." && pwd)
[ ! -e "$dir/complete" ] || exit 0
export APT_CONFIG=$dir/apt.conf

# Paths of links in packages begin at the root.
links_move() {
	find "$dir/root" -type l -lname '/*' | while read -r link; do
		ln -sfn "$dir/root$(readlink "$link")" "$link"
	done
}

mkdir -p "$dir"/{state/lists,cache/archives}/partial "$dir/boot"
: >"$dir/status"
cat >"$APT_CONFIG" <<END
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
Acquire::Retries "3";
Dir::State "$dir/state";
Dir::State::status "$dir/status";
Dir::Cache "$dir/cache";
END
apt-get -qq update
kernel=$(apt-cache search --names-only '^linux-image-6.1.0-[0-9]+-cloud-arm64-unsigned$' | cut -d' ' -f1 | sort -V | tail -n 1)
# shellcheck disable=SC2046
apt-get -qq install -y --no-install-recommends --download-only busybox-static systemtap-sdt-dev \
	$(sed -n 's/^\tbuild \([a-z0-9.+-]*-dev\) .*/\1/p' "$top/scripts/deps.sh" | sort -u) >/dev/null
(cd "$dir/cache/archives" && apt-get -qq download "$kernel")
for package in "$dir"/cache/archives/*.deb; do
	case $package in
	*/linux-image-*) dpkg-deb --fsys-tarfile "$package" | tar -xO --wildcards './boot/vmlinuz-*' >"$dir/boot/vmlinuz" ;;
	*) dpkg-deb -x "$package" "$dir/root" ;;
	esac
done
links_move
rm -rf "$dir"/{state,cache}
touch "$dir/complete"
