#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Files that every reader must reject: `hostrace info FILE` prints an error message and exits with status 1, no crash.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
hostrace=${HOSTRACE:-$root/build/hostrace}
n=0
failed=0
message=$(mktemp)
trap 'rm -f "$message"' EXIT

for file in "$root"/tests/broken/*; do
	case $file in *.md | */\*) continue ;; esac
	n=$((n + 1))
	timeout 30 "$hostrace" info -i "$file" >/dev/null 2>"$message" </dev/null
	status=$?
	if [ $status = 1 ] && grep -q '^hostrace: ' "$message"; then
		echo "ok $n - ${file##*/}: $(head -c 200 "$message" | head -n 1)"
	else
		echo "not ok $n - ${file##*/}: status $status, message: $(head -c 300 "$message")"
		failed=1
	fi
done
echo "1..$n"
exit $failed
