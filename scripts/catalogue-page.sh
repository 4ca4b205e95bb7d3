#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# doc/catalogue.md from probes/*.def: where each event is seen. Its last section, the figures of one run, is kept from
# the page as it is.
#
#	scripts/catalogue-page.sh > doc/catalogue.new && mv doc/catalogue.new doc/catalogue.md
set -eu
cd "$(dirname "$0")/.."

cat <<'END'
# The catalogue: where each event is seen

Made from `probes/qemu.def` and `probes/kvm.def` (`scripts/catalogue-page.sh`); `hostrace doctor --vm PID` says what they come to on a machine. Marks and functions hold for QEMU 4.2 to 10.2, where nothing else is said. "new \| old" is one place whose name changed.

## QEMU

| event | mark (USDT) | function that stands in | what functions do not tell |
|---|---|---|---|
END
awk '
function text(line,   part) { # the quoted text nearest the end
	return match(line, /"[^"]*"\)/) ? substr(line, RSTART + 1, RLENGTH - 3) : ""
}
function name(line) {
	sub(/^[^(]*\(/, "", line)
	sub(/,.*/, "", line)
	gsub(/\|/, " \\| ", line)
	return line
}
/^PROBE\(/ {
	event = name($0)
	loss = text($0)
	marks = functions = since = ""
	if (match($0, /RELEASE\([0-9]+, [0-9]+\)/)) {
		since = substr($0, RSTART + 8, RLENGTH - 9)
		sub(/, /, ".", since)
		since = " (since " since ")"
	}
}
/^\tMARK\(/ {
	split($0, part, "\"")
	marks = marks (marks ? "; " : "") "`" name($0) "`: " part[2] (part[4] ? " (" part[4] ")" : "")
}
/^\tENTRY\(/ {
	functions = functions (functions ? "; " : "") "`" name($0) "`"
}
/^\tRETURN\(/ {
	functions = functions " and its return"
}
/^END\(/ {
	printf "| %s%s | %s | %s | %s |\n", event, since, marks ? marks : "none", functions, loss
}' probes/qemu.def

cat <<'END'

Marks that no event is made of: `cpu_in`, `cpu_out` (they have not fired for guests since QEMU 1.7 under KVM, 2.4 under TCG), `virtqueue_alloc_element` (also fires on migration), `virtio_pci_notify` (has no caller). Block layer, AioContext, timers and memory are not recorded; `stap/bqlwait.stp`, `iothread.stp`, `kvmrun.stp` and `qemumalloc.stp` look at the big lock, bottom halves, KVM_RUN and malloc by the functions in `stap/tapset/hostrace.stp`.

## KVM and the scheduler

| event | tracepoint | to know |
|---|---|---|
END
awk -F '[(,)] *' '/^TRACEPOINT/ {
	match($0, /"[^"]*"\)/)
	note = substr($0, RSTART + 1, RLENGTH - 3)
	if ($5 == "HARDWARE")
		note = note (note ? "; " : "") "only where VMX or SVM runs the guest"
	printf "| %s | %s:%s | %s |\n", $2, $3, $4, note
}' probes/kvm.def
sed -n '/^## One run through/,$p' doc/catalogue.md | sed '1i\

'
