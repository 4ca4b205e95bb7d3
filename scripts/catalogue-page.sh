#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# doc/catalogue.md from probes/*.def: the probe sites of each event. Its last section, the figures of one run, is copied from
# the existing page. The preprocessor turns each row into a line.
#
#	scripts/catalogue-page.sh > doc/catalogue.new && mv doc/catalogue.new doc/catalogue.md
set -eu
cd "$(dirname "$0")/.."

# Kind, then columns between "~".
rows() {
	{
		cat <<-'END'
		#define TEXT(...) #__VA_ARGS__
		#define GROUP(name, doc) @G~name~doc
		#define PROBE(event, since, loss) @P~event~since~loss
		#define MARK(name, program, args, lack) @M~name~0~0~args~lack~
		#define ENTRY(function, program, nr, prototype) @F~function~0~0~
		#define ENTRY_BEFORE(function, program, nr, prototype, before) @F~function~0~before~
		#define RETURN(function, program, nr, prototype) @R~
		#define END(event) @E
		#define INSIDE(event, since, loss) @P~event~since~loss
		#define BY_MARK(event, name, which, since, before, args, lack, ...) @M~name~since~before~args~lack~TEXT(__VA_ARGS__)
		#define BY_ENTRY(event, function, which, since, before, nr, prototype, ...) @F~function~since~before~TEXT(__VA_ARGS__)
		#define BY_RETURN(event, function, which, since, before, prototype, ...) @T~function~since~before~TEXT(__VA_ARGS__)
		#define NO_FUNCTION(event, why) @N~why
		#define INSIDE_END(event) @E
		#define LAYOUT(...)
		#define LAYOUT_CHECKED(...)
		#define RELEASE(major, minor) major.minor
		END
		sed '/^#define/d' probes/qemu.def probes/inside.def
	} | ${CC:-gcc} -E -P -x c - | tr '@' '\n'
}

cat <<'END'
# Catalogue of probe sites

Made from `probes/qemu.def`, `inside.def` and `kvm.def` (`scripts/catalogue-page.sh`); `hostrace doctor --vm PID --probes` prints the ones of a machine. USDT probes are those of QEMU 4.2 to 10.2, functions those of 4.2 to 11.1, unless noted otherwise. "new \| old" is one probe site whose name changed. Where values are given, they are the event's fields in the order of `doc/events.md`: A1 is the first argument, AT64(x) the memory of QEMU at that address, RESULT the return value of a function.

| build of QEMU | probe sites |
|---|---|
| Fedora, RHEL and derivatives, `--enable-trace-backends=dtrace` | USDT probes; functions where there are none (detach, unpop, rewind, reset and all of "none" below), exported because QEMU is built with modules |
| Debian, Ubuntu | functions only; with the `-dbgsym` package also static ones |
| custom build | USDT probes with `--enable-trace-backends=dtrace`, functions with `--enable-modules` or unstripped symbols |

## QEMU
END
rows | awk -F '~' '
function text(s) {
	gsub(/" *"/, "", s)
	gsub(/^ *"|" *$/, "", s)
	gsub(/^ +| +$/, "", s)
	gsub(/\|/, "\\|", s)
	gsub(/ \. /, ".", s)
	return s
}
function name(s) {
	s = text(s)
	gsub(/ *\\\| */, " \\| ", s)
	return s
}
function range(since, before) {
	since = text(since)
	before = text(before)
	return (since != "0" && since != "" ? " since " since : "") (before != "0" && before != "" ? " before " before : "")
}
function values(s) {
	s = text(s)
	return s == "" ? "" : " → " s
}
$1 == "G" {
	printf "\n### %s: %s\n\n| event | USDT probe | function used without USDT | what functions lack |\n|---|---|---|---|\n",
		text($2), text($3)
}
$1 == "P" {
	event = text($2)
	since = text($3) == "0" ? "" : " (since " text($3) ")"
	loss = text($4)
	marks = functions = ""
}
$1 == "M" {
	lack = text($6)
	marks = marks (marks ? "; " : "") "`" name($2) "`: " text($5) values($7) range($3, $4) (lack ? " (" lack ")" : "")
}
$1 == "F" || $1 == "T" {
	functions = functions (functions ? "; " : "") ($1 == "T" ? "return of " : "") "`" name($2) "`" values($5) range($3, $4)
}
$1 == "R" { functions = functions " and its return" }
$1 == "N" { functions = functions (functions ? "; else " : "") "none: " text($2) }
/^E/ {
	printf "| %s%s | %s | %s | %s |\n", event, since, marks ? marks : "none", functions, loss
}'

cat <<'END'

USDT probes that are not used: `cpu_in`, `cpu_out` (they have not fired for guests since QEMU 1.7 under KVM, 2.4 under TCG), `virtqueue_alloc_element` (also fires on migration), `virtio_pci_notify` (has no caller). `g_malloc` and `g_free` have no USDT probes since 2.x and are in glib, not in QEMU; they are called in coroutines, where a return cannot be probed, so their results are unknown: `stap/qemumalloc.stp` probes them at that risk.

Only few functions have return probes, each with the reason why it is safe in `probes/inside.def`: a return probe on a function that yields its coroutine, or that is called in a coroutine while another probed function waits, makes the kernel end QEMU by SIGILL.

## KVM and the scheduler

| event | tracepoint | note |
|---|---|---|
END
awk -F '[(,)] *' '/^TRACEPOINT/ {
	match($0, /"[^"]*"\)/)
	note = substr($0, RSTART + 1, RLENGTH - 3)
	if ($5 == "HARDWARE")
		note = note (note ? "; " : "") "only with VMX or SVM"
	printf "| %s | %s:%s | %s |\n", $2, $3, $4, note
}' probes/kvm.def
sed -n '/^## One run through/,$p' doc/catalogue.md | sed '1i\

'
