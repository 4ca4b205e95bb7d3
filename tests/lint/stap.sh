#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The SystemTap scripts agree with the tables of probes/ and with each other, as TAP. tests/rig/checks/80-stap.sh tests
# that they compile and that their counts are right.
set -u
cd "$(dirname "$0")/../.." || exit 1
tapset=stap/tapset/hostrace.stp
. tests/lint/rule.inc

# Prints "EVENT KIND NAME" for each probe site; a name that changed ("new|old") gives several lines.
ways() {
	awk -F '[(,)]' '
		/^PROBE\(/ { event = $2 }
		/^\t(MARK|ENTRY|ENTRY_BEFORE|RETURN)\(/ {
			kind = $1
			gsub(/^\t|_BEFORE/, "", kind)
			nr = split($2, name, "|")
			for (i = 1; i <= nr; i++)
				print event, kind, name[i]
		}' probes/qemu.def
}

# Prints the tapset's text about one event: its alias and the aliases it consists of (hostrace.EVENT.PART).
text_of() { # EVENT
	awk -v RS= -v event="$1" 'index($0, "probe hostrace." event " ") || index($0, "probe hostrace." event ".")' $tapset
}

# Not port I/O under TCG, which has no script yet.
rule "every event of probes/qemu.def has an alias with all its USDT probes and functions" "$(
	ways | grep -v '^qemu_pio ' | while read -r event kind name; do
		case $kind in
		MARK) wanted="mark(\"$name\")" also='mark("virtio_notify*")' ;;
		ENTRY) wanted="function(\"$name\")" also=$wanted ;;
		RETURN) wanted="function(\"$name\").return" also=$wanted ;;
		esac
		# Where a USDT probe or the return passes the element, the other probe site is not needed.
		text=$(text_of "$event")
		[[ $text == *"$wanted"* || $text == *"$also"* ]] || echo "$event: $wanted is not in $tapset"
	done)"

rule "the tapset's KVM events are in probes/kvm.def" "$(
	grep -oE 'kernel\.trace\("kvm:[a-z_]+"\)' $tapset | sed 's/.*kvm:\(.*\)".*/\1/' | while read -r event; do
		grep -q "^TRACEPOINT($event, kvm, $event," probes/kvm.def || echo "$event"
	done)"

# Offsets of VirtQueue.vdev, DeviceState.canonical_path, VirtQueue.queue_index.
rule "offsets equal those of probes/qemu.def" "$(
	awk -F '[(),]+ *' '/^LAYOUT\(RELEASE/ {print $5; print $6; print $8}' probes/qemu.def | sort -u |
		while read -r offset; do
			grep -qE "(vq|vdev) \+ $offset\)" $tapset || echo "$offset is not used"
		done)"

rule "scripts are up to date with the tapset (stap/fill.sh)" "$(stap/fill.sh --check)"

rule "tapset/inside.stp is up to date with probes/inside.def (stap/inside.sh)" "$(stap/inside.sh --check)"

rule "no alias is defined twice" "$(sed -n 's/^probe \(hostrace\.[a-z_.]*\) =.*/\1/p' stap/tapset/*.stp | sort | uniq -d)"

rule "every script describes its output" "$(for script in stap/*.stp; do
	awk '/^#	/ {n++} /@@OUT/ {n = -99} END {exit n < 4}' "$script" || echo "$script"
done)"

rule "doc/catalogue.md is up to date with probes/*.def (make docs)" "$(
	scripts/catalogue-page.sh | diff -u doc/catalogue.md - | head -n 20)"

rule "every test case in doc/leaks.md exists" "$(grep -oE '\bleak-[a-z-]+' doc/leaks.md | sort -u | while read -r name; do
	[ -d "tests/cases/$name" ] || echo "tests/cases/$name"
done)"

rule "every leak case is in doc/leaks.md" "$(for dir in tests/cases/leak-*; do
	grep -qE "\b${dir##*/}\b" doc/leaks.md || echo "$dir"
done)"

echo "1..$n"
exit $failed
