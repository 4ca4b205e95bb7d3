#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace for tests/run-cases.sh --names: keeps what it prints, and the file of -o, in the directory $RUNS, but for
# formats that programs read, and colours.
run=$RUNS/$$
"@HOSTRACE@" "$@" >"$run.out" 2>"$run.err"
status=$?
cat "$run.out"
cat "$run.err" >&2
echo "$*" >"$run.words"
case " $* " in
*perfetto* | *pprof* | *" ctf "* | *" trace.dat "* | *"clickhouse"*" -o "* | *pcap* | *tcpdump* | *import* | *"--color"*)
	rm "$run.out"
	;;
*" -o "*)
	file=" $*"
	file=${file#* -o }
	file=${file%% *}
	[ $status = 1 ] || [ ! -f "$file" ] || cp "$file" "$run.file"
	;;
esac
exit $status
