# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `stuck` with kvm_amd: the VM whose throttled disk holds two writes, and whose vCPU is halted; the VM that works; the
# guest that never leaves its two loops.

# Of a VM's answer: NAME JQ-FILTER
stuck() {
	jq -c "$2" "$out/$1.stuck"
}

# Is the vCPU's instruction in the code of the guest's kernel, or (WHERE any) of a module or a process?
at_guest_code() { # NAME WHERE
	local rip text
	rip=$(stuck "$1" '.vcpus[0].rip' | tr -d '"')
	read -r text _ <<<"$(l2_said "$1" text)"
	if [[ $rip != 0x* || -z $text ]]; then
		echo "'$rip', the kernel begins at '$text'"
	elif ((rip - 0x$text >= 0 && rip - 0x$text < 32 << 20)); then
		echo "kernel"
	elif [ "$2" = any ] && ((rip > 0 && rip < 1 << 47 || rip - 0x$text > 0)); then
		echo "any"
	else
		echo "$rip, the kernel begins at $text"
	fi
}

equal "stuck: the writes that the throttled disk holds" \
	"$(stuck leaky '[.rows[] | [(.device | contains("/slow/")), .queue, .stage, .op, .bytes, .certain, .stands]] | unique')" \
	'[[true,0,"popped","write",65536,"yes","yes"]]'
equal "... are two, with two heads" "$(stuck leaky '[.rows[].head] | [length, (unique | length)]')" "[2,2]"
equal "... at sectors that the guest has written" \
	"$(stuck leaky '[.rows[].sector] | [length, (. - [0, 2560, 5120] | length)]')" "[2,0]"
equal "... with exact ages, longer than 1 s" "$(stuck leaky '[.rows[] | [.age_exact, .age_ns > 1e9]] | unique')" '[["yes",true]]'
equal "... as the only finding" "$(stuck leaky '[.findings[].kind]')" '["throttled"]'
equal "... its vCPU is halted, out of guest mode, without an interrupt" \
	"$(stuck leaky '.vcpus | map([.vcpu, .where, .in_guest, .pending_vectors])')" '[[0,"halted",false,[]]]'
equal "... in the kernel's code" "$(at_guest_code leaky kernel)" kernel
equal "stuck: a VM that works has no findings" "$(stuck busy '.findings')" "[]"
holds "... its vCPU is in the guest's code" "$(at_guest_code busy any | grep -cxE 'kernel|any')" -eq 1
equal "stuck: a vCPU that does not leave its loops is in guest mode" "$(stuck sampled '.vcpus | map([.vcpu, .where])')" '[[0,"guest"]]'
equal "... in one of them" "$(stuck sampled '.vcpus[0].function' | sed 's/hot\|warm/X/')" '"spin_X"'
