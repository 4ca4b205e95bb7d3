# SPDX-License-Identifier: GPL-2.0-or-later
# Lines and branches per folder of src/folders, and per file of the folders that parse foreign bytes, from an lcov file:
#   awk -f report.awk src/folders coverage.lcov

function percent(part, whole) {
	return whole ? sprintf("%5.1f %%", 100 * part / whole) : "      -"
}

function row(name, key) {
	printf "%-40s %6d %6d  %s %7d %6d  %s\n", name, lines[key], hit[key], percent(hit[key], lines[key]),
		branches[key], taken[key], percent(taken[key], branches[key])
}

function add(key) {
	lines[key] += file_lines
	hit[key] += file_hit
	branches[key] += file_branches
	taken[key] += file_taken
}

FNR == NR {
	if (/^[a-z]/)
		folders[++nr] = $1
	next
}
/^SF:/ {
	file = $0
	sub(/^SF:/, "", file)
	sub(/^.*\/src\//, "src/", file)
	sub(/^\.\//, "", file)
	file_lines = file_hit = file_branches = file_taken = 0
}
/^DA:/ {
	split($0, part, ",")
	file_lines++
	file_hit += part[2] > 0
}
/^BRDA:/ {
	file_branches++
	file_taken += !/,(0|-)$/
}
/^end_of_record/ && file ~ /^src\// {
	folder = file
	sub(/^src\//, "", folder)
	if (!sub(/\/[^\/]*$/, "", folder))
		folder = "main.c"
	add(file)
	add(folder)
	add("total")
	if (folder ~ /^(readers|tracefile$|vm$|fetch|symbols$|guestside\/ring$)/) {
		add("foreign")
		foreign[++nr_foreign] = file
	}
}
END {
	printf "%-40s %6s %6s  %7s %7s %6s  %7s\n", "folder", "lines", "run", "", "branch", "taken", ""
	for (i = 1; i <= nr; i++)
		if (lines[folders[i]])
			row(folders[i], folders[i])
	row("main.c", "main.c")
	row("total", "total")
	row("readers, tracefile, vm, fetch, symbols", "foreign")
	print "\nfiles that parse foreign bytes, fewest lines first:"
	sort = "sort -t '\t' -k 1n | cut -f 2"
	for (i = 1; i <= nr_foreign; i++)
		printf "%.3f\t%-40s %4d lines not run of %4d  %s\n", hit[foreign[i]] / lines[foreign[i]], foreign[i],
			lines[foreign[i]] - hit[foreign[i]], lines[foreign[i]], percent(hit[foreign[i]], lines[foreign[i]]) | sort
	close(sort)
	if (!lines["total"])
		exit 1
}
