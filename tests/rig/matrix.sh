#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The same short set on several hosts: `make check-matrix`. TAP; DIR/tested.md, and if all hosts were run and passed
# doc/tested.md.
#
#   matrix.sh HOSTRACE [DIR]    the program; DIR keeps the output of the runs
#
# Each host is a kernel of Debian in the rig (rig.sh), under a CPU with SVM or with VMX, and runs three QEMUs: the installed
# one, that of Debian's backports and that of its next release's backports (l1/cell.sh, checks/99-cell.sh); with VMX, which
# Bochs emulates slowly, the first two. This machine's own KVM runs the demo under all. RIG_QEMUS names some. JOBS: hosts at
# once, default: one per CPU.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "${1:?usage: matrix.sh HOSTRACE [DIR]}")
work=${2:-$(mktemp -d "${TMPDIR:-/tmp}/hostrace-matrix.XXXXXX")}
[ $# -gt 1 ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"

# CPU and suite, "-": that of this machine; "own": its own KVM. $RIG_HOSTS names some.
all="svm/- svm/bookworm-backports svm/trixie-backports vmx/- own"
hosts=${RIG_HOSTS:-$all}
n=0
failed=0

reported() { # HOST
	n=$((n + 1))
	if [ "$(cat "$(dir_of "$1").status")" = 0 ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		grep -A 8 '^not ok' "$(dir_of "$1").tap" | head -n 60
		failed=1
	fi
}

dir_of() { # HOST
	echo "$work/${1/\//.}"
}

rig_host() { # CPU SUITE DIR
	local qemus="installed newer"
	[ "$1" = vmx ] || qemus="$qemus newest"
	env RIG_CPU="$1" RIG_SUITE="${2#-}" RIG_PARTS="cell nested" RIG_CHECKS="98-nested 99-cell" RIG_QEMUS="${RIG_QEMUS:-$qemus}" \
		"$here/check.sh" "$program" "$3"
}

# What doctor says of a VM under this QEMU, which never runs.
own_doctor() { # NAME QEMU
	local status
	"$2" -name "$1" -S -accel kvm -m 32 -nodefaults -display none -daemonize -pidfile "$work/own/pid" </dev/null || return
	timeout 60 "$program" doctor --vm "$(cat "$work/own/pid")" -f json >"$work/own/$1.doctor.json"
	status=$?
	kill "$(cat "$work/own/pid")"
	return $status
}

own_demo() { # NAME QEMU
	timeout 300 "$program" demo --qemu "$2" "$work/own/$1" && own_doctor "$1" "$2" || return
	HOSTRACE=$program QEMU=$2 timeout 250 "$here/../live/gdb-resume.sh" || return
	jq -n -c --arg kernel "$(uname -r)" --slurpfile demo "$work/own/$1/demo.json" --slurpfile doctor "$work/own/$1.doctor.json" \
		--slurpfile info <(timeout 300 "$program" info -f json -i "$work/own/$1/demo.hrt") \
		'{kernel: $kernel, demo: $demo[0].result.checks, doctor: $doctor[0].result, plan: $doctor[0].rows,
		  vm: $info[0].result.vm, probes: $info[0].result.probes, events: $info[0].result.events}' >>"$work/own/out/tested.json"
}

own_host() {
	local newer newest
	rm -rf "$work/own"
	mkdir -p "$work/own/out"
	newer=$("$here/qemu-backports.sh") && newest=$("$here/qemu-newest.sh") || return
	own_demo installed "$(type -P qemu-system-x86_64)" && own_demo newer "$newer" && own_demo newest "$newest"
}

host_run() { # HOST
	if [ "$1" = own ]; then
		own_host
	else
		rig_host "${1%/*}" "${1#*/}" "$(dir_of "$1")"
	fi
}

[ -c /dev/kvm ] || hosts=${hosts/own/} # and so not all
for host in $hosts; do # images are not built while a host of the same suite runs
	suite=${host#*/}
	[ "$host" = own ] || RIG_SUITE=${suite#-} "$here/rig.sh" build >"$work/build.log" 2>&1 || cat "$work/build.log"
done
# shellcheck disable=SC2086
for host in $(printf '%s\n' $hosts | sort -r); do # vmx takes longest
	[ "$(jobs -rp | wc -l)" -lt "${JOBS:-$(nproc)}" ] || wait -n
	{
		host_run "$host" >"$(dir_of "$host").tap" 2>&1
		echo $? >"$(dir_of "$host").status"
	} &
done
wait
facts=
for host in $hosts; do
	reported "$host"
	facts="$facts $(dir_of "$host")/out/tested.json"
done
# shellcheck disable=SC2086
if [ $failed = 0 ]; then
	jq -r -s --arg made "$(date -I) by $("$program" --version | head -n 1)" -f "$here/tested.jq" $facts >"$work/tested.md" || failed=1
	[ "$hosts$failed" != "${all}0" ] || cp "$work/tested.md" "$here/../../doc/tested.md"
fi
echo "1..$n"
exit $failed
