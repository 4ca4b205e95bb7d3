# SPDX-License-Identifier: GPL-2.0-or-later
# Reads the TAP of one program, for tap.sh. Prints "PASSED FAILED SKIPPED QUARANTINED QUARANTINED_FAILED", then one line
# for each fault of the output as a whole: no plan, another number of results, wrong numbers. On stderr: skips, accepted
# or not, and quarantined tests.
#
# A plan "1..N" stands before its results (cmocka prints one per group of tests) or after them; the results of a plan are
# numbered from 1.
#
# Variables: name, of the program; quarantine, a file; partial: 1 if the program was told to run only some of its tests;
# strict: 1 if a skip must have a reason that begins with "kernel:" or "hardware:".
BEGIN {
	split("", rate) # by test
	while (quarantine != "" && (getline line <quarantine) > 0)
		entry_read(line)
}

function entry_read(line, part) {
	if (line ~ /^(#|$)/ || index(line, name ": ") != 1)
		return
	split(substr(line, length(name) + 3), part, " [|] ")
	rate[part[1]] = part[2]
	why[part[1]] = part[3]
}

function fault(text) {
	faults[++nr_faults] = text
}

# Which entry is this test? Some tests add what they measured: "NAME (12)".
function entry_of(test, entry) {
	for (entry in rate)
		if (test == entry || index(test, entry " (") == 1)
			return entry
	return ""
}

function skip(line) {
	sub(/^.*# *[Ss][Kk][Ii][Pp][Pp]?[Ee]?[Dd]?:? */, "", line)
	if (line == "")
		line = "no reason given"
	if (strict == 1 && line !~ /^(kernel|hardware):/) {
		failed++
		print "  FAIL    " name ": must not be skipped here: " line >"/dev/stderr"
	} else {
		skipped++
		print "  skip    " name ": " line >"/dev/stderr"
	}
}

function number_check(number) {
	if (number !~ /^[0-9]+$/)
		fault("a result has no number: " $0)
	else if (number != last + 1 && !(number == 1 && plan_read))
		fault("result " number " follows result " last)
	last = number + 0
	plan_read = 0
}

/^1\.\.[0-9]+/ {
	planned += substr($1, 4)
	nr_plans++
	plan_read = 1
	if ($1 == "1..0" && /# *[Ss][Kk][Ii][Pp]/)
		skip($0)
	next
}

/^Bail out!/ {
	fault($0)
}

/^(not )?ok([ \t]|$)/ {
	not_ok = /^not ok/
	test = $0
	sub(/^(not )?ok[ \t]*/, "", test)
	number_check(test ~ /^[0-9]/ ? test + 0 : "none")
	sub(/^[0-9]*[ \t]*(- )?/, "", test)
	seen++
	entry = entry_of(test)
	if (entry != "")
		present[entry] = 1
	if (/# *[Ss][Kk][Ii][Pp]/) {
		skip($0)
	} else if (entry != "") {
		quarantined++
		quarantined_failed += not_ok
		printf "  %s %s: %s: %s; known rate of failure: %s (%s)\n", "quarant.", name, entry, not_ok ? "failed" : "passed",
			rate[entry], why[entry] >"/dev/stderr"
	} else if (not_ok) {
		failed++
	} else {
		passed++
	}
}

END {
	if (!nr_plans)
		fault("the plan (1..N) is missing")
	else if (planned != seen)
		fault("the plan has " planned " results, " seen + 0 " were printed")
	else if (!seen && !skipped && !failed)
		fault("no result was printed")
	# A program that failed may have ended before its last test.
	if (!nr_faults && !failed && !skipped && partial != 1)
		for (entry in rate)
			if (!(entry in present))
				fault("no test has this name: '" entry "' (" quarantine ")")
	print passed + 0, failed + 0, skipped + 0, quarantined + 0, quarantined_failed + 0
	for (i = 1; i <= nr_faults; i++)
		print faults[i]
}
