# `make coverage` builds with clang's counters, runs the tests, and prints lines and branches per folder; the details are
# in build/coverage. COVERAGE_PARTS="" only reports what was measured before.
COVERAGE_PARTS ?= units cases broken agree live

coverage:
	@scripts/deps.sh build check live coverage
	$(Q)LLVM_PROFILE_FILE=/dev/null $(MAKE) --no-print-directory COVERAGE=1 CC=$(CLANG) BUILD=$(BUILD)/coverage check-build
	$(Q)BUILD=$(BUILD)/coverage JOBS=$(JOBS) tests/coverage/coverage.sh $(COVERAGE_PARTS)

# The lines of FILE with their counts and branches.
coverage-show:
	$(Q)llvm-cov show $(BUILD)/coverage/hostrace -instr-profile=$(BUILD)/coverage/all.profdata -show-branches=count \
		$(addprefix -object $(BUILD)/coverage/,hostrace-http hostrace-httpd hostrace-decode hostrace-guest) -sources $(FILE)

.PHONY: coverage coverage-show
