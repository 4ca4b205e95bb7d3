#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# In the installed pages of folder $1, makes links to files that are not installed (sources) plain text.
cd "$1" || exit 1
find . -name '*.md' | while read -r page; do
	grep -oE '\]\([^)# ]+' "$page" | cut -c 3- | grep -v '^https\?:' | sort -u | while read -r target; do
		[ -e "$(dirname "$page")/$target" ] || sed -i "s,\[\([^][]*\)\]($target[^)]*),\1,g" "$page"
	done
done
