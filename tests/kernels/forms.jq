# SPDX-License-Identifier: GPL-2.0-or-later
# What `hostrace list -f json` prints of the five forms, each in a file FORM.json, is compared with trace.dat's. Prints what
# is wrong. Variables: version, of the kernel; count: of the events.

# Each without what only some forms have: the process id, the names of threads, and `success` of a wakeup, which formats
# have until 5.19 and texts until 4.2.
def events:
	[.rows[] | select(.event != "thread") | [.time_ns, .cpu, .tid, .vcpu, .event, (.fields | del(.success))]];

def of_event($name; change):
	map(if .[4] == $name then .[5] |= change else . end);

# The events as a form can tell them.
def told($form):
	# Texts have these in parts only, or as a hash.
	if $form != "perf.data" then of_event("kvm:kvm_pic_set_irq"; del(.elcr, .imr)) |
		of_event("kvmmmu:fast_page_fault"; del(.sptep, .ret)) | of_event("kvmmmu:mark_mmio_spte"; del(.sptep)) |
		of_event("kvmmmu:kvm_mmu_set_spte"; del(.u)) |
		of_event("kvm:kvm_inj_exception"; if .has_error == 0 then del(.error_code) else . end)
	else . end |
	# The kernel prints the errno of a KVM_RUN that failed instead of the reason, which libtraceevent prints always. No form
	# has the errno of one that did not fail: texts cannot say it.
	if $form == "trace-cmd.txt" or $form == "perf.txt" then of_event("kvm_userspace_exit"; del(.error))
	else . end |
	# trace-cmd's plugin does not print these. From 6.9 to 6.13 the kernel's text only says that an exit is immediate.
	if $form == "trace-cmd.txt" then of_event("kvm_exit"; del(.intr_info, .error_code, .requests)) |
		of_event("kvm_entry"; del(.intr_info, .error_code, .immediate_exit))
	elif $form != "perf.data" and ($version | test("^6\\.(9|12)$")) then
		of_event("kvm_entry"; if .immediate_exit == 0 then del(.immediate_exit) else . end)
	else . end |
	# trace-cmd's plugin prints 8 bits of prev_state, which had 12 until 4.13.
	if $form == "trace-cmd.txt" and ($version | test("^4\\.[479]$")) then of_event("sched_switch"; del(.prev_state))
	else . end;

reduce inputs as $input ({}; .[input_filename | rtrimstr(".json")] = ($input | events)) | . as $events |
	($events["trace.dat"] // []) as $want |
	if ($want | length) != $count then "trace.dat: \($want | length) of \($count) events" else empty end,
	(("perf.data", "tracefs.txt", "trace-cmd.txt", "perf.txt") as $form |
		($want | told($form)) as $want | ($events[$form] // [] | told($form)) as $have |
		if $want == $have then empty else
			"\($form): \($want - $have | length) events differ, \($have | length) of \($want | length)",
			(($want - $have)[:4][] | "< \(tojson)"), (($have - $want)[:4][] | "> \(tojson)")
		end)
