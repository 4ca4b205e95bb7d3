#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs the build under test in the rig (rig.sh) and checks its results: `make check-live`.
#
#   check.sh HOSTRACE [DIR]    the program; DIR keeps the traces, consoles and logs (else they are removed)
#
# RIG_PARTS="healthy traced" runs these parts only, RIG_CHECKS="20-exits 90-sync" runs only these checks (for
# work on one of them; `make check-live` does all). RIG_QEMUS="installed newest": only these in the part `cell`.
#
# L1 is booted for each part, so that a boot that fails costs one part (boot.inc). Prints TAP, for tests/tap.sh; it
# skips if packages are missing. checks/*.sh are sourced in order; their common functions are here.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=${1:?usage: check.sh HOSTRACE [DIR]}
program=$(realpath "$program")
needed="qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils busybox:busybox-static cpio:cpio mke2fs:e2fsprogs
	perf:linux-perf trace-cmd:trace-cmd jq:jq stap:systemtap xmllint:libxml2-utils dpkg-deb:dpkg apt-get:apt"
n=0
failed=0

pass() {
	n=$((n + 1))
	echo "ok $n - $1"
}

# DESCRIPTION, then the lines that explain it
not_pass() {
	local what=$1 line
	shift
	n=$((n + 1))
	failed=$((failed + 1))
	echo "not ok $n - $what"
	for line; do
		printf '%s\n' "$line" | head -n 30 | cut -c 1-300 | sed 's/^/# /'
	done
}

equal() { # DESCRIPTION GOT WANTED; an empty GOT always fails
	if [ -n "$2" ] && [ "$2" = "$3" ]; then
		pass "$1"
	else
		not_pass "$1" "got:    $2" "wanted: $3"
	fi
}

# Two files have the same lines, and at least one.
same_lines() { # DESCRIPTION GOT WANTED
	if [ -s "$2" ] && diff -u "$3" "$2" >"$work/diff"; then
		pass "$1 ($(wc -l <"$2") lines)"
	else
		not_pass "$1" "$(wc -l <"$2") lines, wanted $(wc -l <"$3"); - wanted, + got:" "$(tail -n +3 "$work/diff")"
	fi
}

succeeds() { # DESCRIPTION COMMAND...
	local what=$1
	shift
	if "$@" >"$work/output" 2>&1; then
		pass "$what"
	else
		not_pass "$what" "status $? of: $*" "$(tail -n 5 "$work/output")"
	fi
}

# A number compared as test(1) does: DESCRIPTION GOT -ge WANTED
holds() {
	if test "$2" "$3" "$4" 2>/dev/null; then
		pass "$1 ($2)"
	else
		not_pass "$1" "$2 is not $3 $4"
	fi
}

# A report of hostrace as JSON, run through jq: TRACE REPORT JQ-FILTER [OPTION...]
report() {
	local trace=$out/$1 name=$2 filter=$3
	shift 3
	# shellcheck disable=SC2086
	timeout 300 "$program" $name -f json -i "$trace" "$@" 2>>"$work/stderr" | jq -r "$filter"
}

# What hostrace lost, as "kvm_exit=2", or "nothing". Not kvm_set_irq: an interrupt may cause one while its CPU runs the
# program that records another one, and the kernel does not run a program within itself (CAVEATS in hostrace-record(1)).
lost_in() { # TRACE
	report "$1" info '.result.lost | del(.kvm_set_irq) | to_entries | map("\(.key)=\(.value)") | join(" ") |
		if . == "" then "nothing" else . end'
}

# Options for the time window of a trace from the first to the second line of FILE: seconds since L1's boot.
window_of() { # TRACE FILE
	awk -v start="$(report "$1" info .result.start_ns)" '
		{ printf "%s %.0fns ", NR == 1 ? "--since" : "--until", $1 * 1e9 - start }' "$2"
}

# All events of a trace, one a line: "TIME EVENT key=value...". Made once per trace.
events_text() { # TRACE
	[ -s "$work/$1.txt" ] ||
		timeout 300 "$program" export text -i "$out/$1" -o "$work/$1.txt" 2>>"$work/stderr"
	grep -v '^#' "$work/$1.txt"
}

# tracefs's trace of a VM, one event a line: "TID TIME EVENT: text", text as the kernel prints it.
oracle() { # NAME, default healthy
	local name=${1:-healthy}
	[ -s "$work/$name.oracle" ] || sed -n \
		's/^ *[^#]*-\([0-9]*\) *\[[0-9]*\] *[^ ]* *\([0-9.]*\): \(kvm_.*\)/\1 \2 \3/p' \
		"$out/$name.trace" >"$work/$name.oracle"
	cat "$work/$name.oracle"
}

# Each vCPU's exits and entries in their order, "TID exit REASON RIP INFO1 INFO2" and "TID entry RIP", by tracefs. It prints
# reasons by name: they are translated to numbers by the kernel's own table, whose VMX part is in decimal.
oracle_sequence() { # NAME
	grep -o '{ [0-9a-fx+ ]*, "[^"]*" }' "$out/$1.trace.kvm_exit" | sed 's/{ \(.*\), "\(.*\)" }/\1,\2/' |
		awk -v isa="$(oracle "$1" | grep -c -m 1 'kvm_exit: .*reason [a-z]')" -F , '($1 ~ /^0x/) == (isa > 0)' |
		while IFS=, read -r number name; do
			echo "$((number)) $name"
		done >"$work/reasons"
	oracle "$1" | awk '
	NR == FNR {
		number = $1
		sub(/^[0-9]+ /, "")
		number_of[$0] = number
		next
	}
	function hex(name) { # as hostrace prints it
		if (!match($0, " " name " 0x[0-9a-f]+"))
			return "none"
		digits = substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4)
		sub(/^0+/, "", digits)
		return "0x" (digits == "" ? 0 : digits)
	}
	match($0, / rip 0x[0-9a-f]+/) { rip = substr($0, RSTART + 5, RLENGTH - 5) }
	$3 == "kvm_exit:" {
		tid = $1
		infos = hex("info1") " " hex("info2")
		sub(/.* reason /, "")
		sub(/ rip .*/, "")
		print tid, "exit", number_of[$0], rip, infos
	}
	$3 == "kvm_entry:" { print $1, "entry", rip }' "$work/reasons" - | sort -s -n -k 1,1
}

# The same by hostrace.
hostrace_sequence() { # TRACE
	events_text "$1" |
		sed -n 's/.* kvm_exit .*tid=\([0-9]*\) .*rip=\(0x[0-9a-f]*\) info1=\(0x[0-9a-f]*\) info2=\(0x[0-9a-f]*\) reason=\([0-9]*\).*/\1 exit \5 \2 \3 \4/p
			s/.* kvm_entry .*tid=\([0-9]*\) .*rip=\(0x[0-9a-f]*\).*/\1 entry \2/p' |
		sort -s -n -k 1,1
}

# What L2 printed: NAME-OF-VM WORD -> the rest of the line "l2: WORD ..."
l2_said() {
	sed -n "s/.*l2: $2 *//p" "$out/$1.console" | tr -d '\r' | tail -n 1
}

# Is NAME in LIST? An empty list has everything.
wanted() {
	case " ${2:-$1} " in *" $1 "*) return 0 ;; esac
	return 1
}

# Minutes of compiling: only where it is asked for by name (make check-stap).
stap_wanted() {
	[ -n "${RIG_PARTS:-}" ] && wanted stap "$RIG_PARTS"
}

missing() {
	local pair
	for pair in $needed; do
		type -P "${pair%%:*}" >/dev/null || echo "${pair##*:}"
	done
}

# bin/ and lib/ for L1: the program with every library it needs.
rig_fill() { # DIR
	local library
	mkdir -p "$1/bin" "$1/lib"
	cp "$here"/l1/*.sh "$1/"
	cp "$program" "$1/bin/hostrace"
	cp "$(type -P trace-cmd)" "$1/bin/"
	cp "$(dirname "$program")"/{hostrace-httpd,hostrace-decode,minivmm,demo-guest.elf} "$1/bin/"
	cp "$(dirname "$program")"/{sampleguest,blameguest-touch,ring-guest}.elf "$(dirname "$program")/slowmem.so" "$1/"
	qemu-img create -q -f qcow2 "$1/snapshots.qcow2" 1M
	for library in $("$here/libraries.sh" "$program" "$1/bin/hostrace-httpd" "$1/bin/hostrace-decode") \
		$(ldd "$1/bin/trace-cmd" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p'); do
		cp -L "$library" "$1/lib/"
	done
}

# What only the part `agent` needs: an L2 of its own that runs the agent, modules for L1. It is not in a run
# of all parts (make check-agent runs it): under load L1 has hung in it.
agent_fill() { # DIR
	local vmlinuz module
	mkdir -p "$1/modules"
	# shellcheck disable=SC2046
	vmlinuz=$("$here/rig.sh" guest "$1/agent.cpio" "$here/l2/agent-init.sh" virtio_ring virtio virtio_pci_modern_dev \
		virtio_pci_legacy_dev virtio_pci virtio_blk virtio_console vsock vmw_vsock_virtio_transport_common \
		vmw_vsock_virtio_transport) || return
	(cd "$(dirname "$program")" && echo hostrace-guest | cpio --quiet -o -H newc -R 0:0) >>"$1/agent.cpio"
	for module in vhost_iotlb vhost vsock vmw_vsock_virtio_transport_common vhost_vsock; do
		find "$(dirname "$vmlinuz")/kernel/lib/modules" -name "$module.ko" -exec cp '{}' "$1/modules/" ';'
	done
}

# What only the part `nested` needs: an L2 with KVM and minivmm.
nested_fill() { # DIR
	local vendor=kvm-amd
	[ "${RIG_CPU:-}" != vmx ] || vendor=kvm-intel
	"$here/rig.sh" guest "$1/nested.cpio" "$here/l2/nested-init.sh" virtio_ring virtio virtio_pci_modern_dev \
		virtio_pci_legacy_dev virtio_pci virtio_blk irqbypass kvm $vendor || return
	cc -O1 -static -D_GNU_SOURCE -o "$work/minivmm" "$here/../live/minivmm.c" || return
	(cd "$work" && echo minivmm | cpio --quiet -o -H newc -R 0:0) >>"$1/nested.cpio"
}

# newer/ and newest/ for L1: the QEMUs of Debian's backports (qemu-backports.sh) and of those of its next release
# (qemu-newest.sh), which the part `cell` runs in addition to the installed one.
qemus_fill() { # DIR
	echo "$qemus" >"$1/qemus"
	! wanted newer "$qemus" || newer_fill "$1" || return
	! wanted newest "$qemus" || "$here/qemu-newest.sh" fill "$1/newest"
}

newer_fill() { # DIR
	local qemu library
	qemu=$(dirname "$("$here/qemu-backports.sh")")/root/usr/bin/qemu-system-x86_64 || return
	mkdir -p "$1/newer"
	cp "$qemu" "$1/newer/" || return
	printf '#!/bin/sh\nexec /rig/newer/qemu-system-x86_64 -L /usr/share/seabios -L /usr/share/qemu "$@"\n' >"$1/newer/qemu"
	chmod 755 "$1/newer/qemu"
	for library in $("$here/libraries.sh" "$qemu"); do
		cp -L "$library" "$1/lib/"
	done
}

# A probe waits 10 s for a variable's lock (default: 10 ms, then it is skipped): the machine below may take the CPU from
# the holder. MAXACTION: statements per probe.
stap_limits='-D MAXTRYLOCK=1000000 -D STP_NO_OVERLOAD -D MAXACTION=1000000'

# stap/ for L1: the SystemTap scripts as modules for its kernel, and the programs that load them. Rebuilt when one changes.
stap_fill() { # DIR
	local stap library
	stap=$("$here/stap-tree.sh") || return
	mkdir -p "$1/stap" "$stap/cache" "$work/stap"
	# This one also prints each latency, so that checks/80-stap.sh can compare it exit by exit. At the end, from
	# one CPU, so that the lines are in order.
	{
		sed 's/^\(\t*\)latency\[isa, reason\] <<< ns$/&\n\1each[exits++, tid(), ns, isa, reason] = 1/' \
			"$here/../../stap/exitlatency.stp"
		cat <<-'EOF'
			global exits, each[100000]
			probe end(1)
			{
				foreach ([n+, thread, ns, isa, reason] in each)
					printf("each %d %d %s\n", thread, ns, hostrace_reason(isa, reason))
			}
		EOF
	} >"$work/stap/exitlatency.stp"
	{
		find "$here/../../stap" -name '*.stp' -path '*/stap/*' -not -path '*/tapset/*' -not -name exitlatency.stp
		echo "$work/stap/exitlatency.stp"
	} | sort |
		(cd "$1/stap" && SYSTEMTAP_DIR=$stap/cache xargs -P 2 -I '{}' bash -c \
			'exec timeout 600 stap -w $3 -R "$1/runtime" -r "$1/tree" -p4 \
				-m "stap_$(basename "$2" .stp)" "$2"' - "$stap" '{}' "$stap_limits") || return
	cp "$(type -P staprun)" /usr/lib/systemtap/stapio "$1/stap/"
	for library in $(ldd "$1/stap/staprun" "$1/stap/stapio" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p'); do
		cp -L "$library" "$1/lib/"
	done
}

# marks/ for L1: a QEMU with USDT probes (HOSTRACE_USDT), the demo's guest, two SystemTap scripts built for that program.
marks_fill() { # DIR QEMU
	local stap name library
	stap=$("$here/stap-tree.sh") || return
	mkdir -p "$1/marks" "$stap/cache"
	for name in probecount virtqueueleaks; do
		(cd "$1/marks" && PATH=$(dirname "$2"):$PATH SYSTEMTAP_DIR=$stap/cache timeout 600 stap -w $stap_limits \
			-R "$stap/runtime" -r "$stap/tree" -p4 -m "marks_$name" \
			"$here/../../stap/$name.stp") || return
	done
	echo "$2" >"$1/marks/path"
	cp "$2" "$(dirname "$program")/demo-guest.elf" "$(type -P staprun)" /usr/lib/systemtap/stapio "$1/marks/"
	for library in $(ldd "$2" "$1/marks/staprun" "$1/marks/stapio" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p'); do
		cp -L "$library" "$1/lib/"
	done
}

# Resolves every SystemTap alias for QEMU internals in the installed QEMU; prints the probe points.
stap_inside() {
	local stap
	stap=$("$here/stap-tree.sh") || return
	{
		echo 'global n'
		sed -n 's/^probe \(hostrace\.[a-z_]*\) =.*/probe \1 ? { n[name] <<< 1 }/p' "$here/../../stap/tapset/inside.stp"
	} >"$work/inside.stp"
	timeout 600 stap -w -R "$stap/runtime" -r "$stap/tree" -I "$here/../../stap/tapset" -p2 "$work/inside.stp" |
		grep -o '^process[^ ]*' | sort -u
}

# Boots L1 for one part; adds its results to $out, and to $rig/repeated why its boot was repeated.
part_run() { # PART
	local dir=$rig/boot.$1 file status=0
	mkdir -p "$dir"
	ln -sfn ../in "$dir/in"
	echo "$1" >"$rig/in/parts"
	"$here/rig.sh" run "$dir" >>"$work/rig.log" 2>&1 &
	rig_job=$!
	wait "$rig_job" || status=$?
	rig_job=
	cp -r "$dir/out/." "$out/"
	for file in "$dir/repeated" "$dir/out/repeated"; do
		[ ! -f "$file" ] || sed "s/^/$1: /" "$file" >>"$rig/repeated"
	done
	tr -d '\r' <"$dir/console.log" | grep -a '^L1' | grep -v ' runs$' | sed 's/^/# /'
	return $status
}

finish() {
	[ ! -s "$rig/repeated" ] || echo "# boots repeated: $(wc -l <"$rig/repeated") ($(paste -s -d ';' "$rig/repeated"))"
	echo "1..$n"
	exit $((failed > 0))
}

lacking=$(missing | tr '\n' ' ')
if [ -n "$lacking" ]; then
	echo "1..0 # SKIP packages are missing: $lacking"
	exit 0
fi

qemus=${RIG_QEMUS:-installed newer newest}
work=$(mktemp -d "${TMPDIR:-/tmp}/hostrace-check.XXXXXX")
clean_up() {
	[ -z "$rig_job" ] || kill "$rig_job" 2>/dev/null
	rm -rf "$work"
}
rig_job=
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
rig=${2:-$work/rig}
out=$rig/out
rm -rf "$rig/in" "$rig/out" "$rig"/boot.* "$rig/repeated"
mkdir -p "$rig/in" "$out"
rig_fill "$rig/in"
if [ -n "${RIG_PARTS:-}" ] && wanted agent "$RIG_PARTS" && ! agent_fill "$rig/in" >"$work/agent.log" 2>&1; then
	not_pass "the agent's guest is built" "$(tail -n 20 "$work/agent.log")"
fi
if [ -n "${RIG_PARTS:-}" ] && wanted nested "$RIG_PARTS" && ! nested_fill "$rig/in" >"$work/nested.log" 2>&1; then
	not_pass "the guest that runs guests is built" "$(tail -n 20 "$work/nested.log")"
fi
if [ -n "${RIG_PARTS:-}" ] && wanted cell "$RIG_PARTS" && ! qemus_fill "$rig/in" >"$work/qemus.log" 2>&1; then
	not_pass "the QEMUs are available" "$(tail -n 20 "$work/qemus.log")"
fi
if ! stap_wanted; then
	echo "# SystemTap skipped: not in RIG_PARTS"
elif stap_fill "$rig/in" >"$work/stap.log" 2>&1; then
	pass "SystemTap's translator compiles every script"
else
	not_pass "SystemTap's translator compiles every script" "$(tail -n 20 "$work/stap.log")"
fi
if ! stap_wanted; then
	:
elif points=$(stap_inside 2>"$work/stap.log") && [ "$(wc -l <<<"$points")" -ge 25 ]; then
	pass "SystemTap's translator resolves the aliases for QEMU internals ($(wc -l <<<"$points") probe points)"
else
	not_pass "SystemTap's translator resolves the aliases for QEMU internals" "$(tail -n 20 "$work/stap.log")"
fi
if [ -n "${HOSTRACE_USDT:-}" ]; then
	if marks_fill "$rig/in" "$HOSTRACE_USDT" >"$work/stap.log" 2>&1; then
		pass "SystemTap's translator finds QEMU's USDT probes"
	else
		not_pass "SystemTap's translator finds QEMU's USDT probes" "$(tail -n 20 "$work/stap.log")"
	fi
fi
parts=${RIG_PARTS:-healthy pair stat sample tasks steal blame traced host ${HOSTRACE_USDT:+marks}}
for part in $parts; do
	[ "$part" != stap ] || [ -d "$rig/in/stap" ] || continue # it could not be built, see above
	part_run "$part" || bad_parts="${bad_parts:-} $part"
done
if [ -z "${bad_parts:-}" ]; then
	pass "a KVM host boots in the rig for each part, runs its guests and powers off"
else
	not_pass "a KVM host boots in the rig for each part, runs its guests and powers off" "failed:$bad_parts" \
		"$(cat "$out"/*.processes 2>/dev/null)" "$(tail -n 40 "$work/rig.log")"
	finish
fi
for file in "$here"/checks/*.sh; do
	wanted "$(basename "$file" .sh)" "${RIG_CHECKS:-}" || continue
	echo "# $(basename "$file" .sh)"
	# shellcheck source=/dev/null
	. "$file"
done
[ "$failed" = 0 ] || [ ! -s "$work/stderr" ] || tail -n 20 "$work/stderr" | sed 's/^/# stderr: /'
finish
