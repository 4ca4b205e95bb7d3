# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The SystemTap scripts (../../../stap) and hostrace, one run of one VM (../l1/stap.sh): their counts are equal.
# Two independent programs that probe the same functions.

stap_wanted || return 0 # only with RIG_PARTS=stap: make check-stap

output_of() { # SCRIPT: what it printed
	cat "$out/stap/$1.txt"
}

equal "the recording made together with SystemTap ended with its VM, complete" \
	"$(sed -n 's/.*ended by: //p' "$out/stapped.record") $(report stapped.hrt info '.result.lost | length')" "command ended 0"
stap_lost='error|skipped|transport failures|lost'
for script in "$here"/../../stap/*.stp; do
	script=$(basename "$script" .stp)
	equal "stap $script.stp: started, ended, skipped no probe" \
		"$(output_of "$script" | grep -c '^# watching') $(grep -c -i -E "$stap_lost" "$out/stap/$script.err")" "1 0"
	grep -i -E "$stap_lost" "$out/stap/$script.err" | sed 's/^/# /'
done

# ---- probecount.stp and `info` ----

report stapped.hrt info '.result.events | to_entries[] | select(.value > 0) | "\(.key) \(.value)"' |
	grep -E "^($(output_of probecount | awk 'NF == 2 {print $2}' | paste -s -d '|')) " | sort >"$work/wanted"
output_of probecount | awk 'NF == 2 {print $2, $1}' | sort >"$work/got"
same_lines "probecount: each event as often as hostrace counts it" "$work/got" "$work/wanted"
holds "probecount: KVM's and QEMU's events" "$(wc -l <"$work/got")" -ge 12

# ---- portio.stp and `ports` ----

output_of portio | sed -n 's/^cpu_\(in\|out\) *\(0x[0-9a-f]*\) *\([0-9]*\) *\([0-9]*\) .*/\1 \2 \3 \4/p' |
	while read -r dir port size count; do
		echo "$dir $((port)) $size $count"
	done | sort >"$work/got"
report stapped.hrt ports '.rows[] | "\(.dir) \(.port) \(.size) \(.count)"' | sort >"$work/wanted"
same_lines "portio: each (dir, port, size) as often as hostrace" "$work/got" "$work/wanted"

# ---- exitlatency.stp, exitheatmap.stp and `exits` ----

report stapped.hrt exits '.rows[] | "\(.reason) \(.count)"' | sort >"$work/wanted"
output_of exitlatency | awk 'NF >= 6 && $(NF - 4) ~ /^[0-9]+$/ {
		count = $(NF - 4)
		NF -= 5
		print $0, count
	}' | sort >"$work/got"
same_lines "exitlatency: each reason as often as hostrace's exits" "$work/got" "$work/wanted"
equal "exitheatmap: its cells add up to every span" \
	"$(output_of exitheatmap | awk '$1 == "total" {print $2}')" "$(report stapped.hrt exits '[.rows[].count] | add')"

# ---- kvmrun.stp and `count userspace-exit` ----

equal "kvmrun: KVM_RUN returned as often as kvm_userspace_exit fired" \
	"$(output_of kvmrun | awk '/^KVM_RUN returned/ {n += $3} END {print n + 0}')" \
	"$(report stapped.hrt info .result.events.kvm_userspace_exit)"

# ---- virtqueueleaks.stp and `leaks` ----

report stapped.hrt leaks '.rows[] | "\(.pid) \(.elem) \(.head) \(.queue) \(.verdict) \(.device)"' | sort >"$work/wanted"
output_of virtqueueleaks | awk 'NF == 7 && $2 ~ /^[0-9a-f]+$/ && $3 ~ /^[0-9]+$/ {print $1, "0x" $2, $3, $5, $6, $7}' |
	sort >"$work/got"
same_lines "virtqueueleaks: the same elements as hostrace's leaks" "$work/got" "$work/wanted"
equal "virtqueueleaks: two, both leaked" "$(awk '{print $5}' "$work/got" | paste -s -d ' ')" "leaked leaked"
equal "virtqueueleaks: only the throttled disk leaks" \
	"$(output_of virtqueueleaks | awk '$8 == "leaking" {print $9}' | uniq)" "$(awk '{print $6}' "$work/got" | uniq)"
equal "virtqueueleaks: popped as often as hostrace counted" \
	"$(output_of virtqueueleaks | awk '$8 == "clean" || $8 == "leaking" {n += $3} END {print n + 0}')" \
	"$(report stapped.hrt leaks '.totals // .result.totals | .popped')"

# The two programs' probes are called one after the other, and on a loaded machine a thread may lose its CPU between them:
# then one latency differs by milliseconds, and so do the sums. So the exits are compared one by one, and each program's
# figures with its own latencies.
output_of exitlatency | sed -n 's/^each //p' | sort -s -n -k 1,1 >"$work/each" # TID NS REASON, in order
report stapped.hrt "list-spans exit-latency --limit 0" '.rows[] | "\(.tid) \(.duration_ns) \(.reason)"' |
	sort -s -n -k 1,1 >"$work/spans"
cut -d ' ' -f 1,3- "$work/each" >"$work/got"
cut -d ' ' -f 1,3- "$work/spans" >"$work/wanted"
same_lines "exitlatency: each thread's exits, one by one, have the reasons that hostrace has" "$work/got" "$work/wanted"
paste -d ' ' "$work/each" "$work/spans" | awk '
	{
		ours = $(NF / 2 + 2)
		n++
		close_by += ($2 > ours ? $2 - ours : ours - $2) < ours / 4 + 20000
	}
	END { print n ? int(100 * close_by / n) : 0 }' >"$work/got"
holds "exitlatency: exits whose latency is within a quarter and 20 us of hostrace's, %" "$(cat "$work/got")" -ge 80

# "REASON DEVIATION" of the latencies of a file of lines "TID NS REASON".
deviations() { # FILE
	awk '
	{
		ns = $2
		sub(/^[0-9]+ [0-9]+ /, "")
		n[$0]++
		mean = avg[$0] + (ns - avg[$0]) / n[$0] # Welford
		squares[$0] += (ns - avg[$0]) * (ns - mean)
		avg[$0] = mean
	}
	END { for (reason in n) printf "%s %.0f\n", reason, sqrt(squares[reason] / n[reason]) }' "$1" | sort
}

# Of those that occur often; the script counts in tenths of microseconds.
deviations_agree() { # GOT WANTED, files: within 1 % and 1 us
	join "$1" "$2" | awk '
		$1 ~ /^(hlt|io|msr|npf)$/ && NF == 3 {
			n++
			if (($2 > $3 ? $2 - $3 : $3 - $2) > $3 / 100 + 1000)
				print
		}
		END { if (n != 4) print n + 0, "of 4 reasons" }'
}
output_of exitlatency | awk '$1 ~ /^(hlt|io|msr|npf)$/ && NF == 6 {print $1, $6}' | sort >"$work/got"
deviations "$work/each" >"$work/wanted"
equal "exitlatency: its standard deviations are those of the latencies it printed" \
	"none but: $(deviations_agree "$work/got" "$work/wanted")" "none but: "
report stapped.hrt exits '.rows[] | "\(.reason) \(.stddev_ns)"' | sort >"$work/got"
deviations "$work/spans" >"$work/wanted"
equal "exits: its standard deviations are those of its spans" \
	"none but: $(deviations_agree "$work/got" "$work/wanted")" "none but: "

# ---- QEMU internals: bqlwait.stp, kvmrun.stp, iothread.stp, qemumalloc.stp ----

spans() { # ANALYZER BY JQ-FILTER
	report stapped.hrt "count $1 --by =$2" "$3" | sort -n
}

output_of bqlwait | awk '$0 ~ / wait / {print $2, $(NF - 3)}' | sort -n >"$work/got"
spans bql-wait tid '.rows[] | "\(.tid) \(.count)"' >"$work/wanted"
same_lines "bqlwait: each thread waited for the big lock as often as hostrace counted" "$work/got" "$work/wanted"
output_of bqlwait | awk '$0 ~ / wait / {tid = $2} $1 == "hold" {print tid, $2}' | sort -n >"$work/got"
spans bql-hold tid '.rows[] | "\(.tid) \(.count)"' >"$work/wanted"
same_lines "bqlwait: each thread held it as often as hostrace counted" "$work/got" "$work/wanted"
holds "bqlwait: both vCPUs and the main loop" "$(wc -l <"$work/got")" -ge 3

output_of kvmrun | awk 'NF == 7 && $2 ~ /^[0-9]+$/ {print $2, $(NF - 3)}' | sort -n >"$work/got"
spans pair:vcpu_ioctl,vcpu_ioctl_done,tid tid,cmd \
	'.rows[] | select(.cmd == 44672 or .cmd == "0xae80") | "\(.tid) \(.count)"' >"$work/wanted"
same_lines "kvmrun: each vCPU called KVM_RUN as often as hostrace counted" "$work/got" "$work/wanted"
holds "kvmrun: two vCPUs" "$(wc -l <"$work/got")" -eq 2

equal "iothread: as many bottom halves were waited for as hostrace counted" \
	"$(output_of iothread | awk 'NF == 7 && $2 ~ /^[0-9]+$/ {n += $(NF - 3)} END {print n + 0}')" \
	"$(report stapped.hrt "count pair:bh_schedule,bh_call,bh --by =pid" '[.rows[].count] | add')"
equal "qemumalloc: as much aligned memory was freed as hostrace counted" \
	"$(output_of qemumalloc | tr -d ',;:' | awk '$1 == "qemu_memalign" {print $7}')" \
	"$(report stapped.hrt 'list --event heap_free' '[.rows[] | select(.fields.address != "0x0")] | length')"

# Two clocks, two probes each: an exit whose length is close to the limit may be on either side.
longer=$(output_of exitlog | awk '/were longer/ {print $1}')
wanted=$(report stapped.hrt "list-spans exit-latency --limit 0" \
	'[.rows[] | select(.reason != "hlt" and .duration_ns > 10000000)] | length')
holds "exitlog: $longer exits were longer than 10 ms, $wanted by hostrace; difference" \
	"$((longer > wanted ? longer - wanted : wanted - longer))" -le "$((wanted / 5 + 3))"

# ---- each script's numbers are consistent ----

equal "iothread: some work had to wait" "$(output_of iothread | awk '$4 ~ /^[0-9]+$/ && $4 > 0 {n = 1} END {print n + 0}')" 1
equal "qemumalloc: no block was freed by the wrong function" "$(output_of qemumalloc | grep -c MISMATCH)" 0
equal "qemumalloc: blocks made - freed + unknown = kept + not followed + freed unseen" \
	"$(output_of qemumalloc | tr -d ',;:' | awk '$2 == "made" {left += $3 - $7 + $11} END {print left + 0}')" \
	"$(output_of qemumalloc | tr -d ',;:' | awk '/^kept/ {print $5 + $9 + $12}')"
holds "exitlog: counts the slow exits it printed" \
	"$(output_of exitlog | awk '/ took / {n++} /were longer/ {print n + 0 == $1}')" -eq 1
