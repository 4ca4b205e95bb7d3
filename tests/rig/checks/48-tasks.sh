# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# record --guest-tasks: the task of each exit, against the task switches that the guest traced itself. The guest traces a
# switch before it does it, so that exits in between have the task before; there may be a few of these per switch.
cat >"$work/tasks.awk" <<'EOF'
function field(name) {
	return match($0, " " name "=[^ \"]*") ? substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 2) : ""
}
{ cpu = field("vcpu") }
$2 == "guest:sched_switch" { truth[cpu] = field("next_pid"); before[cpu] = field("prev_pid"); late[cpu] = 0 }
$2 == "guest_task" { named[cpu] = field("task") == "0x0" ? "unknown" : field("guest_tid") }
$2 == "kvm_exit" && cpu in truth && cpu in named {
	nr++
	if (named[cpu] == "unknown") {
		unknown++
	} else if (named[cpu] == truth[cpu]) {
		same++
		late[cpu] = few # the switch is complete
	} else if (named[cpu] == before[cpu] && late[cpu]++ < few) {
		within++
	} else {
		wrong++
		print "# exit at " $1 ", vCPU " cpu ": " named[cpu] ", the guest ran " truth[cpu] >"/dev/stderr"
	}
}
END { print nr + 0, same + 0, within + 0, wrong + 0, unknown + 0 }
EOF
equal "the guest's trace was copied out completely" "$(grep -vc '^#' "$out/tasks.guest")" "$(l2_said tasks traced)"
timeout 300 "$program" export text -i "$out/tasks.hrt" --guest "$out/tasks.guest" -o "$work/tasks.both" 2>>"$work/stderr"
# up to the guest's last switch: it stops to trace before the recording ends
tac "$work/tasks.both" | sed -n '/ guest:sched_switch /,$p' | tac | awk -v few=20 -f "$work/tasks.awk" >"$work/tasks.counts" 2>"$work/tasks.wrong"
read -r exits same within wrong unknown <"$work/tasks.counts"
holds "exits in a guest that traces its switches" "$exits" -ge 1000
if [ "$wrong" = 0 ]; then
	pass "each has the task that the guest ran ($same), or one that it was leaving ($within)"
else
	not_pass "each has the task that the guest ran, or one that it was leaving" "$wrong of $exits" "$(cat "$work/tasks.wrong")"
fi
holds "the task that it ran, per mille" $((same * 1000 / (exits > unknown ? exits - unknown : 1))) -ge 950
holds "exits whose task is unknown, per mille" $((unknown * 1000 / (exits > 0 ? exits : 1))) -le 100
equal "both guests are recorded" "$(cat "$out/taskpair.record.status")" 0

# Characters that this task wrote, as the console has them, and the exits that it did so by.
wrote=$(grep -a 'written by a task' "$out/taskline.console" | wc -c)
holds "characters on the console of one of two guests" "$wrote" -ge 1000
report taskpair.hrt "count exit-pio" \
	'.rows[] | select(.port == 1016 and .dir == "out") | "\(.vm) \(."guest-task") \(.count)"' \
	--by =vm,port,dir,guest-task | awk '/ busybox-console-/ {n[$1] += $3} END {for (vm in n) print vm, n[vm]}' >"$work/console"
equal "each is an exit of the task that wrote it" "$(cat "$work/console")" "taskline $wrote"
report taskpair.hrt exits '.rows[] | select(."guest-task" | test("^dd-|^busybox-console")) |
	"\(.vm) \(."guest-task" | sub("-[0-9]+$"; "")) \(.count)"' --by =vm,guest-task >"$work/pair"
equal "the other guest has exits of dd, and none of this task" \
	"$(awk '$1 == "taskdisk" && $3 > 0 {print $2}' "$work/pair" | sort -u)" dd
