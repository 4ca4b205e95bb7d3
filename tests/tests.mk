# `make check`: all that proves hostrace on this machine; `make check SAN=1`: the same parts that need no VM, with
# sanitizers; `make fuzz T=60 [FUZZ_NAMES=hrt]`: looks for new crashes. Tests are found by wildcard: a new one is a new file.

UNIT_TESTS = $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/test_*.c))
FUZZ_NAMES ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_PLAIN = $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz/fuzz-%)
LIVE_TESTS = $(sort $(wildcard tests/live/*.sh))
T	  ?= 60

CHECK_ENV  = CHECK_DIR=$(BUILD)/check BUILD=$(BUILD) HOSTRACE=$(BUILD)/hostrace
TAP	   = $(CHECK_ENV) tests/tap.sh

# Tools that were installed a moment ago are only seen by a new make: pkg-config is asked while this file is read.
check:
	@scripts/deps.sh build check live docs
	$(Q)$(MAKE) --no-print-directory check-run

.PHONY: format check-build check-run check-parts check-units check-cases check-fuzz fuzz-build

check-build: all $(UNIT_TESTS) $(FUZZ_PLAIN)

# The score is kept over all parts; only the summary decides.
check-run: check-build
	$(Q)rm -rf $(BUILD)/check && mkdir -p $(BUILD)/check
	$(Q)$(CHECK_ENV) tests/run-units.sh $(UNIT_TESTS)
	$(Q)$(TAP) cases 300 tests/run-cases.sh
	$(Q)$(TAP) broken 120 tests/run-broken.sh
	$(Q)$(foreach f,$(FUZZ_NAMES),$(TAP) fuzz/$(f) 300 $(BUILD)/tests/fuzz/fuzz-$(f) \
		$(wildcard tests/fuzz/corpus/$(f)) $(wildcard tests/broken tests/golden);) true
ifneq ($(SAN),1)
	$(Q)$(TAP) lint 120 tests/lint/lint.sh
	$(Q)$(TAP) stap 60 tests/lint/stap.sh
	$(Q)$(TAP) guest-ring-carried 120 tests/lint/guest-ring.sh
	$(Q)$(TAP) manual 120 tests/lint/manual.sh
	$(Q)$(TAP) install 60 tests/lint/install.sh
	$(Q)$(TAP) without-libbpf 300 tests/lint/without-libbpf.sh
	$(Q)$(CHECK_ENV) tests/run-live.sh $(LIVE_TESTS)
endif
	$(Q)$(TAP) --summary

# One part alone, with its whole output.
check-units: $(UNIT_TESTS)
	$(Q)for t in $^; do $$t || exit 1; done

check-cases: $(BUILD)/hostrace
	$(Q)$(CHECK_ENV) tests/run-cases.sh

check-fuzz: $(FUZZ_PLAIN)
	$(Q)for f in $(FUZZ_NAMES); do \
		$(BUILD)/tests/fuzz/fuzz-$$f $$(ls -d tests/fuzz/corpus/$$f tests/broken) || exit 1; done

lint: $(BUILD)/hostrace
	$(Q)$(CHECK_ENV) tests/lint/lint.sh

# Breaks long lines as the lint wants them; needs clang-format.
format:
	$(Q)tests/lint/format.sh $(FILES)

$(BUILD)/tests/unit/%: tests/unit/%.c $(LIB_OBJS)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $< $(LIB_OBJS) $(LDLIBS) -lcmocka

$(BUILD)/tests/fuzz/fuzz-%: tests/fuzz/fuzz_%.c tests/fuzz/main.c $(LIB_OBJS)
	$(call say,TEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -o $@ \
		tests/fuzz/fuzz_$*.c tests/fuzz/main.c $(LIB_OBJS) $(LDLIBS)

-include $(UNIT_TESTS:=.d)

# Fuzzing needs clang's instrumentation in every object: a build of its own, without the collector.
FUZZ_FOUND = $(FUZZ_NAMES:%=$(BUILD)/fuzz/fuzzer-%)
ifeq ($(FUZZ),1)
$(BUILD)/fuzzer-%: tests/fuzz/fuzz_%.c $(LIB_OBJS)
	$(call say,FUZZ,$@)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) -fsanitize=fuzzer,address,undefined \
		-o $@ $< $(LIB_OBJS) $(LDLIBS)

fuzz-build: $(FUZZ_NAMES:%=$(BUILD)/fuzzer-%)
endif

fuzz:
	@scripts/deps.sh build fuzz
	$(Q)$(MAKE) --no-print-directory FUZZ=1 LIVE=0 CC=$(CLANG) BUILD=$(BUILD)/fuzz fuzz-build
	$(Q)set -e; for f in $(FUZZ_NAMES); do echo "fuzz $$f for $(T) s"; \
		mkdir -p $(BUILD)/fuzz/new/$$f $(BUILD)/fuzz/crash; \
		$(BUILD)/fuzz/fuzzer-$$f -max_total_time=$(T) -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
			-print_final_stats=1 -verbosity=0 -artifact_prefix=$(BUILD)/fuzz/crash/$$f- \
			$(BUILD)/fuzz/new/$$f $$(ls -d tests/fuzz/corpus/$$f 2>/dev/null); done
	$(Q)echo "no crash found"
