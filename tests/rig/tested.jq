# SPDX-License-Identifier: GPL-2.0-or-later
# doc/tested.md, from the facts of each cell of the matrix (checks/99-cell.sh, matrix.sh). $made: when and by which hostrace.

def cell: "| " + join(" | ") + " |";
def table(head): (head | cell), (head | map("---") | "|" + join("|") + "|");
def isa: if .events.kvm_exit then {"1": "VMX", "2": "SVM"}["\(.vm.isa)"] else .doctor.backend end;
def release: .kernel | capture("^(?<n>[0-9]+\\.[0-9]+(\\.[1-9][0-9]*)?)").n;
def host: "\(isa), Linux \(release)";
def name: "\(host), QEMU \(.vm.version)";
def form: (.probes[] | select(.event == "kvm_exit").where) as $where
	| if (.events.kvm_exit | not) then "never fires; userspace exits instead"
	  elif $where == "tp_btf/kvm_exit" then "the tracepoint's arguments" else "the formatted record" end;
def is_kernels: test("^(kvm|sched|host)_");
def qemu: .plan | map(select(.event | is_kernels | not));
def ways: qemu | map(select(.how != "absent").how) | group_by(.) | map("\(length) \(.[0])") | join(", ");
def confirmed: .doctor.vms[0].layout | capture(": (?<n>[0-9]+ of [0-9]+) confirmed").n // "no";
# an event's probe sites without offsets and instructions, which differ in each build
def way: if .how == "absent" then "absent: " + .reason else .where | gsub("\\+[0-9]+( [a-z0-9]+)?"; "") end;
def versions: map(.vm.version) | unique | sort_by(split(".") | map(tonumber));
def list: if length < 2 then .[0] else (.[:-1] | join(", ")) + " and " + .[-1] end;
# which of all cells these are, in few words
def those($all):
	. as $some
	| versions as $versions
	| ($all | map(host) | unique) as $hosts
	| if length == ($all | length) then "all"
	  elif $some == ($all | map(select(.vm.version | IN($versions[])))) then "QEMU \($versions | list)"
	  else [$hosts[] as $h | ($some | map(select(host == $h))) as $here
		| if $here == [] then empty elif $here == ($all | map(select(host == $h))) then $h
		  else ($here[] | name) end] | join("; ") end;

. as $cells
| "# Tested hosts",
"",
"Made by `make check-matrix` (`tests/rig/matrix.sh`) on \($made) from runs in which all checks passed; do not edit. Each row is a host that ran hostrace, a stock QEMU under KVM, the demo's guest and a Linux guest with the kernel of the host (on kvm_pvm, the backend of the machine that made this: the demo only).",
"",
"SVM: QEMU/TCG emulates the host's CPU; VMX: Bochs does; how is in [tests/rig](../tests/rig/README.md). Kernels and QEMUs are Debian's packages, except the kernel with kvm_pvm. The newest QEMU has its own C library, in a mount namespace, as in a container. Not tested: real CPUs with SVM or VMX, posted interrupts, kernels before 6.1, encrypted guests (SEV, TDX).",
"",
(["host", "QEMU", "demo: figures right", "exits and entries = tracefs", "`kvm_exit` is read from", "probes of QEMU", "QEMU's structures confirmed", "guest symbols = /proc/kallsyms", "I/O exits of the guest's guests"] | table(.)),
($cells[] | [host, .vm.version, "\(.demo | map(select(.ok)) | length) of \(.demo | length)",
	(if .tracefs then "\(.tracefs) of \(.tracefs)" else "not compared" end), form, ways, confirmed,
	(if .symbols_same then (.symbols | capture("(?<n>[0-9]+) symbols").n) + " of them" elif .symbols then "differ" else "not tried" end),
	(if (.nested // "") == "" then "not tried" else "\(.nested) of \(.nested)" end)] | cell),
"",
"## The demo",
"",
"What the demo's guest does, and what hostrace counted, under QEMU \($cells | versions | list):",
"",
($cells | group_by(isa)) as $by_isa
| (["known workload"] + ($by_isa | map("\(.[0] | isa), Linux \(map(release) | unique | join(", "))")) | table(.)),
($cells[0].demo | to_entries[] | .key as $i
	| ["\(.value.expected) \(.value.what)"] + ($by_isa | map(map(.demo[$i].counted) | unique | map(tostring) | join(" or "))) | cell),
"",
"## Differences",
"",
"Events that not all of these hosts take in the same way: as the traces say (`hostrace info`), and of events that were not recorded, as `hostrace doctor --probes` says. Offsets of instructions are left out.",
"",
([ $cells | to_entries[] | .key as $i
	| (.value.probes | map({key: .event, value: .}) | from_entries) as $taken
	| .value.plan[] | {i: $i, event, way: (if .event | is_kernels then ($taken[.event] // .) else . end | way)} ]
	| group_by(.event) | map(select((map(.way) | unique | length > 1) and any(.[]; .way | startswith("absent") | not)))) as $differ
| if $differ == [] then "None." else
	(["event", "hosts", "taken at"] | table(.)),
	($differ[] | group_by(.way)[] | [.[0].event, (map($cells[.i]) | those($cells)), .[0].way] | cell)
  end,
"",
"Not recorded on any of them:",
"",
(["event", "why (`hostrace doctor --probes`)"] | table(.)),
([ $cells[].plan[] | select(.how == "absent") ] | group_by(.event)[] | select(length == ($cells | length))
	| [.[0].event, (map(.reason) | unique | join("; or: "))] | cell)
