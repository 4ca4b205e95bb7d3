# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# hostrace-guest in a Linux guest of its own outside the rig, under TCG (../agent-linux.sh): its results are repeated here.

agent_linux="$work/agent-linux.tap"
status=0
mkdir -p "$work/agent-linux"
env -u NO_COLOR -u COLUMNS -u LINES LC_ALL=C TERM=dumb TZ=UTC ROOT="$here/../.." BUILD="$(dirname "$program")" \
	HOSTRACE="$program" TEST_TMP="$work/agent-linux" timeout -k 10 400 bash "$here/agent-linux.sh" \
	>"$agent_linux" 2>&1 </dev/null || status=$?
sed -n 's/^# boots repeated: [0-9]* (\(.*\))$/agent in Linux: \1/p' "$agent_linux" >>"$rig/repeated"
before=$failed
if [ "${HOSTRACE_REQUIRE_LIVE:-0}" != 1 ] && grep -q '^1\.\.0 # SKIP' "$agent_linux"; then
	sed 's/^1\.\.0 /# /' "$agent_linux" # it needs root
	return 0
fi
while IFS= read -r line; do
	case $line in
	"ok "*) pass "agent in Linux: ${line#* - }" ;;
	"not ok "*) not_pass "agent in Linux: ${line#* - }" "$(grep '^#' "$agent_linux")" ;;
	esac
done <"$agent_linux"
if [ "$failed" = "$before" ]; then # also a run that ended early: no plan, a skip, a bail out
	equal "agent in Linux: ran to its end$([ $status = 0 ] || printf ': %s' "$(tail -n 20 "$agent_linux")")" \
		"$status $(grep -c '^ok ' "$agent_linux")" "0 $(sed -n 's/^1\.\.//p' "$agent_linux")"
fi
