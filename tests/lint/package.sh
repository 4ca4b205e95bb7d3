#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The version is the same everywhere, packages are built from the packages of scripts/deps.sh, and `make dist` packs all.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lint/rule.inc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

rule "debian/changelog, the spec and the changelog have the version of VERSION" "$(
	version=$(cat VERSION)
	head -n 1 debian/changelog | grep -qF "hostrace ($version)" || echo "debian/changelog: not $version"
	grep -qx "Version: *$version" packaging/hostrace.spec || echo "packaging/hostrace.spec: not $version"
	grep -q "^## $version" CHANGELOG.md || echo "CHANGELOG.md: no section $version")"

version=$(scripts/version.sh)
rule "the programs have the version that scripts/version.sh prints" "$(
	for program in "${HOSTRACE:-build/hostrace}" "${BUILD:-build}/hostrace-guest"; do
		"$program" --version | grep -qxE "hostrace(-guest)? ${version//+/[+]}" || echo "$program: not $version"
	done)"

# Those that every build has: build-essential.
wanted=$(sed -n "s/^	build \+\([^ ]*\).*/\1/p; s/^	docs \+\(scdoc\) .*/\1/p" scripts/deps.sh | grep -vxE 'gcc|make|libc6-dev|linux-libc-dev')
rule "debian/control builds with the packages of scripts/deps.sh" "$(
	diff <(echo "$wanted" | sort -u) <(sed -n '/^Build-Depends:/,/^[A-Z].*:/p' debian/control | sed '$d; s/^Build-Depends://' |
		tr -d ' \n' | tr , '\n' | grep -v '^debhelper-compat' | sort -u))"

# By group: what a build needs is in all of them. clickhouse and perf come from elsewhere, or are not needed by all.
rule "packages of scripts/deps.sh exist in Debian 12 and 13, Ubuntu 22.04 and 24.04" "$(
	sed -n '/^	cat <<-/,/^	END/s/^	\([a-z]\+\) \+\([a-z][^ ]*\) .*/\1 \2/p' scripts/deps.sh | sort -u | while read -r group name; do
		read -r _ systems < <(grep "^$name " tests/lint/packages)
		if [ -z "$systems" ]; then
			echo "$name: not in tests/lint/packages"
		elif [ "$group" = build ] && [ "$name" != bpftool ] && [[ $systems == *n* ]]; then
			echo "$name: a build needs it, and a system has none ($systems)"
		fi
	done)"
echo ID=ubuntu >"$work/ubuntu"
echo ID=debian >"$work/debian"
for system in ubuntu debian; do
	mkdir -p "$work/bin"
	printf '#!/bin/sh\n' | tee "$work/bin/dpkg-query" "$work/bin/apt-get" "$work/bin/apt-cache" >/dev/null
	chmod +x "$work/bin"/*
	PATH=$work/bin:$PATH DEPS_OS_RELEASE=$work/$system scripts/deps.sh --list build | tr ' ' '\n' >"$work/$system.names"
done
rule "bpftool is linux-tools-generic on Ubuntu" "$(
	diff "$work/debian.names" "$work/ubuntu.names" | grep '^[<>]' | diff - <(printf '< bpftool\n> linux-tools-generic\n'))"

# A clone with a tag, and with a commit after it.
tagged_clone() {
	git -c advice.detachedHead=false clone -q . "$work/clone" 2>&1 &&
		cp VERSION "$work/clone/" && cp scripts/version.sh "$work/clone/scripts/" && cp doc/install.mk "$work/clone/doc/" &&
		cp Makefile "$work/clone/" && cd "$work/clone" && git config user.name x && git config user.email x@example.org &&
		git add -A && git commit -q --allow-empty -m release
}

version_of_tag() {
	tagged_clone || return
	[ -n "$(git tag)" ] || [ "$(scripts/version.sh)" = "$(cat VERSION)" ] || echo "without a tag: $(scripts/version.sh)"
	git tag -f "v$(cat VERSION)" >/dev/null
	[ "$(scripts/version.sh)" = "$(cat VERSION)" ] || echo "at the tag: $(scripts/version.sh)"
	git commit -q --allow-empty -m later
	[ "$(scripts/version.sh)" = "$(cat VERSION)+1.g$(git rev-parse --short HEAD)" ] || echo "after it: $(scripts/version.sh)"
}

archive_of_commit() {
	cd "$work/clone" || return
	local now
	now=$(scripts/version.sh)
	make --no-print-directory dist BUILD="$work/dist" >/dev/null && mkdir "$work/unpacked" &&
		tar -C "$work/unpacked" -xzf "$work/dist/hostrace-$now.tar.gz" && cd "$work/unpacked/hostrace-$now" || return
	[ "$(scripts/version.sh)" = "$now" ] || echo "the archive's version is $(scripts/version.sh), not $now"
	grep -qx "Version: *$now" packaging/hostrace.spec || echo "the spec's version is not $now"
}

other_tag() {
	cd "$work/clone" && git tag v99.0 && ! make --no-print-directory dist BUILD="$work/dist" 2>&1 >/dev/null |
		grep -q 'HEAD has the tag v99.0' && echo "make dist packs v99.0, which is not that of VERSION"
}

if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	make --no-print-directory dist BUILD="$work" >/dev/null
	rule "make dist has every file of HEAD" "$(diff <(git ls-tree -r --name-only HEAD | sort) \
		<(tar -tzf "$work/hostrace-$version.tar.gz" | grep -v '/$' | sed 's,^[^/]*/,,' | sort) 2>&1 | head)"
	rule "the version is that of the tag, and of the commits after it" "$(version_of_tag)"
	rule "an archive has the version of its commit" "$(archive_of_commit)"
	rule "make dist refuses a tag of another version" "$(other_tag)"
else
	n=$((n + 1))
	echo "ok $n # SKIP make dist needs a checkout"
fi
echo "1..$n"
exit $failed
