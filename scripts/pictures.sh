#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes the pictures of README and of doc/ again: doc/pictures/*.svg and, with Chromium, doc/report.png from a recording of
# the demo's VM (as root), those of the tutorial from its recordings. The recordings of the pictures in examples/ are not
# kept: these are made with the commands in their README.md.
#
#   scripts/pictures.sh [RECORDING]    of another recording, with requests and QEMU's exits
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
hostrace=$(realpath "${HOSTRACE:-$root/build/hostrace}")
out=$root/doc/pictures
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
if [ $# -gt 0 ]; then
	cp "$1" "$work/demo.hrt"
else
	"$hostrace" demo "$work" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
fi
cd "$work"

# From shortly before the kick for four requests at once.
since=$("$hostrace" timeline -i demo.hrt --wide | awk '$3 == "request" && /#4 / { printf "%.6f", $1 - 0.0002; exit }')
[ -n "$since" ] || { echo "pictures.sh: the recording has no four requests at once" >&2; exit 1; }

"$hostrace" heatmap userspace-exit -i demo.hrt -f svg -o "$out/heatmap.svg"
"$hostrace" blame -i demo.hrt --limit 4 -f svg -o "$out/waterfall.svg"
"$hostrace" blame -i demo.hrt -f flame -o "$out/flame.svg"
"$hostrace" timeline -i demo.hrt --since "${since}s" --period 4ms -f svg -o "$out/timeline.svg"

cp "$root"/doc/tutorial/slow.hrt .
"$hostrace" heatmap virtqueue slow.hrt --since 84s -f svg -o "$root/doc/tutorial/requests.svg"
"$hostrace" timeline slow.hrt --since 87s --period 500ms -f svg -o "$root/doc/tutorial/waits.svg"

ls -l "$out" "$root"/doc/tutorial/*.svg
command -v chromium >/dev/null || { echo "pictures.sh: no chromium: doc/report.png and doc/view.png stay"; exit 0; }
"$hostrace" report -i demo.hrt -o report.html
PYTHONDONTWRITEBYTECODE=1 python3 "$root/scripts/report_picture.py" report.html "$root/doc/report.png"
"$root"/scripts/view_picture.py slow.hrt "$root/doc/view.png" 87000000000 87500000000
