#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The files with which SystemTap's translator builds modules for the rig's kernel on a machine that does not run it.
#
#   stap-tree.sh             makes them in the cache if they are missing, and prints the cache's folder, which holds
#       tree/                for `stap -r`: the kernel's build tree
#       runtime/             for `stap -R`: SystemTap's runtime, patched if it is Debian 12's
#
# Parts, and why:
#   linux-headers-*, linux-kbuild-*, linux-compiler-*   Debian's headers, unpacked in one folder
#   linux-source-*: arch/x86/kvm/trace.h                declares KVM's tracepoints; no headers package has it
#   System.map                                          Debian's is a stub; .return probes of processes need the
#                                                       kernel's names. Read from the kernel itself, in the rig
#   runtime/stp_task_work.c                             task_work_cancel() of 6.1.y has other arguments than
#                                                       SystemTap 4.8 expects: it must call task_work_cancel_func()
#   runtime/transport/relay_v2.c                        a message whose header does not fit the rest of a buffer is
#                                                       dropped ("transport failures"), and stapio then loses all that
#                                                       follows: it must begin the next buffer
#
# 15 MB of headers and 140 MB of sources are downloaded, 90 MB stay. About 25 s.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
base=${HOSTRACE_RIG:-${XDG_CACHE_HOME:-$HOME/.cache}/hostrace-rig}
cache=$base/stap

die() {
	echo "stap-tree: $*" >&2
	exit 1
}

# PACKAGE=VERSION, or with the newest version if the archive does not have this one: between the build of a new kernel
# and that of its signed image, linux-kbuild and linux-compiler are newer than the image. Its headers accept any version.
of_version() { # PACKAGE VERSION
	apt-cache madison "$1" | awk -v package="$1" -v want="$2" '
		NR == 1 { newest = $3 }
		$3 == want { found = 1 }
		END { print package "=" (found ? want : newest) }'
}

# The headers have the version of the rig's kernel package.
fetch() { # RELEASE VERSION
	local release=$1 version=$2 series=${1%.0-*} common=linux-headers-${1%-cloud-amd64}-common
	local gcc
	mkdir "$cache/deb"
	cd "$cache/deb"
	gcc=$(apt-cache depends "linux-headers-$release=$version" | sed -n 's/.*Depends: \(linux-compiler-.*\)/\1/p')
	timeout 300 apt-get -q -o Acquire::Retries=3 download "linux-headers-$release=$version" "$common=$version" \
		"$(of_version "linux-kbuild-$series" "$version")" "$(of_version "$gcc" "$version")" \
		"$(of_version "linux-source-$series" "$version")" >apt.log 2>&1 ||
		die "apt-get download of kernel $version's headers failed: $(tail -n 3 apt.log)"
	for deb in linux-{headers,kbuild,compiler}*.deb; do
		dpkg -x "$deb" "$cache/headers"
	done
	dpkg --fsys-tarfile linux-source-*.deb | tar -xO "./usr/src/linux-source-$series.tar.xz" | xz -dc |
		tar -x -C "$cache/deb" "linux-source-$series/arch/x86/kvm/trace.h"
	mv "$cache"/deb/linux-source-*/arch/x86/kvm/trace.h "$cache/trace.h"
	rm -rf "$cache/deb"
}

# SystemTap compiles every trace header that it finds under tree/source. Two are enough, and ten times faster.
source_make() { # COMMON
	local common=$1 source=$cache/source path
	mkdir -p "$source"/{include/trace/events,arch/x86/kvm}
	for path in "$common"/include/*; do
		[ "${path##*/}" = trace ] || ln -s "$path" "$source/include/"
	done
	for path in "$common"/include/trace/*; do
		[ "${path##*/}" = events ] || ln -s "$path" "$source/include/trace/"
	done
	cp "$common/include/trace/events/kvm.h" "$source/include/trace/events/"
	cp "$cache/trace.h" "$source/arch/x86/kvm/trace.h"
}

# The names and addresses of the kernel itself, as it is linked: without KASLR, without modules.
system_map() { # FILE
	local run
	run=$(mktemp -d "${TMPDIR:-/tmp}/hostrace-map.XXXXXX")
	mkdir "$run/in"
	echo 'echo 0 >/proc/sys/kernel/kptr_restrict; cat /proc/kallsyms >out/kallsyms' >"$run/in/main.sh"
	RIG_APPEND=nokaslr "$here/rig.sh" run "$run" >/dev/null || die "cannot read the symbols of the rig's kernel"
	grep -v '\[' "$run/out/kallsyms" | sort >"$1"
	rm -rf "$run"
	grep -q ' arch_uretprobe_hijack_return_addr$' "$1" || die "the rig's kernel has no uretprobes: arch_uretprobe_hijack_return_addr is missing in kallsyms"
}

runtime_make() {
	cp -r /usr/share/systemtap/runtime "$cache/runtime"
	sed -i -e 's/typeof(&task_work_cancel) task_work_cancel_fn/typeof(\&task_work_cancel_func) task_work_cancel_fn/' \
		-e 's/kallsyms_lookup_name("task_work_cancel")/kallsyms_lookup_name("task_work_cancel_func")/' \
		"$cache/runtime/stp_task_work.c"
	sed -i 's/if (buf->offset >= buf->chan->subbuf_size) {/if (buf->offset + sizeof(struct _stp_trace) >= buf->chan->subbuf_size) {/' \
		"$cache/runtime/transport/relay_v2.c"
}

make_all() {
	local release version tree common
	release=$(cat "$base/release")
	version=$(sed 's/.*=//' "$base/kernel.stamp")
	common=$cache/headers/usr/src/linux-headers-${release%-cloud-amd64}-common
	tree=$cache/headers/usr/src/linux-headers-$release
	(fetch "$release" "$version")
	sed -i "s#/usr/src/#$cache/headers/usr/src/#" "$tree/Makefile"
	source_make "$common"
	ln -sfn "$cache/source" "$tree/source"
	system_map "$tree/System.map"
	runtime_make
	ln -sfn "$tree" "$cache/tree"
}

type -P stap >/dev/null || die "stap is not installed"
"$here/rig.sh" build >&2
mkdir -p "$base"
exec 9>"$base/stap.lock"
flock -w 300 9 || die "another process has held $base/stap.lock for 300 s"
made_from="$(cat "$base/kernel.stamp") $(dpkg-query -W -f '${Version}' systemtap) $(sha256sum <"${BASH_SOURCE[0]}")"
if [ "$(cat "$cache/stamp" 2>/dev/null)" != "$made_from" ]; then
	rm -rf "$cache"
	mkdir "$cache"
	make_all >&2
	echo "$made_from" >"$cache/stamp"
fi
echo "$cache"
