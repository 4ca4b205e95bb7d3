#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The version is the same everywhere, packages are built from the packages of scripts/deps.sh, and `make dist` packs all.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lint/rule.inc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

version=$("${HOSTRACE:-build/hostrace}" --version | cut -d ' ' -f 2)
rule "debian/changelog, the spec and the changelog have the version of the program" "$(
	head -n 1 debian/changelog | grep -qF "hostrace ($version)" || echo "debian/changelog: not $version"
	grep -qx "Version: *$version" packaging/hostrace.spec || echo "packaging/hostrace.spec: not $version"
	grep -q "^## $version" CHANGELOG.md || echo "CHANGELOG.md: no section $version")"

# Those that every build has: build-essential.
wanted=$(sed -n "s/^	build \+\([^ ]*\).*/\1/p; s/^	docs \+\(scdoc\) .*/\1/p" scripts/deps.sh | grep -vxE 'gcc|make|libc6-dev|linux-libc-dev')
rule "debian/control builds with the packages of scripts/deps.sh" "$(
	diff <(echo "$wanted" | sort -u) <(sed -n '/^Build-Depends:/,/^[A-Z].*:/p' debian/control | sed '$d; s/^Build-Depends://' |
		tr -d ' \n' | tr , '\n' | grep -v '^debhelper-compat' | sort -u))"

if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	make --no-print-directory dist BUILD="$work" >/dev/null
	rule "make dist has every file of HEAD" "$(diff <(git ls-tree -r --name-only HEAD | sort) \
		<(tar -tzf "$work/hostrace-$version.tar.gz" | grep -v '/$' | sed 's,^[^/]*/,,' | sort) 2>&1 | head)"
else
	n=$((n + 1))
	echo "ok $n # SKIP make dist needs a checkout"
fi
echo "1..$n"
exit $failed
