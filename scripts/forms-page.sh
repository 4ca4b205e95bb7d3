#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints doc/forms.md: each case that feeds a form of another tool, with the comment at its head.
cd "$(dirname "$0")/.." || exit 1
export LC_ALL=C

cat <<'END'
# Forms that were tried

Made by `make docs` from the heads of the cases in `tests/cases`. Each case feeds the forms that it names to `hostrace` and compares
what comes out with what is right, which was counted with `grep` and `awk` in the same text as it was, or by the tool that
made it. [testing.md](testing.md#forms-of-the-kernels-events) has what came out before.

END

# The first comment, up to the first other line.
head_of() { # CASE
	awk 'FNR == 1 && /^#!/ { next } /^#/ { sub(/^# ?/, ""); text = text (text == "" ? "" : " ") $0; next } { exit }
		END { gsub(/[|<*_]/, "\\\\&", text); print text }' "tests/cases/$1/cmd"
}

# Those that no group before had.
declare -A shown
group() { # TITLE PATTERN...
	local title=$1 name path
	shift
	printf '## %s\n\n| case | what is fed, and what is right |\n|---|---|\n' "$title"
	for path in tests/cases/*/; do
		name=$(basename "$path")
		for pattern; do
			# shellcheck disable=SC2053
			[[ -z ${shown[$name]} && $name == $pattern ]] || continue
			shown[$name]=1
			printf '| `%s` | %s |\n' "$name" "$(head_of "$name")"
		done
	done
	echo
}

group "Text of ftrace, perf and LTTng" 'text-*' 'interrupts-text' 'vcpu-by-name' 'userspace-failed' 'cpu-not-recorded' 'absent-fields' \
	'any-events' 'hostile-direction' 'halt-storm' 'halts-any-exit'
group "QEMU's logs" 'qemu-*' 'downtime-*'
group "Tables" 'tables-*'
group "Recordings" 'tracedat-*' 'perfdata' 'perfdata-*' 'ctf*' 'perfetto*' 'archives' 'input-pipe' 'old-schema' 'ftrace-pages'
group "Reports of slow or hung VMs" 'reports-public*'
