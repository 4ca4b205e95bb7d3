# `make check`: all that proves hostrace on this machine; `make check SAN=1`: the same parts that need no VM, with
# sanitizers; `make fuzz T=60 [FUZZ_NAMES=hrt]`: looks for new crashes. Tests are found by wildcard: a new one is a new file.

UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(call sources,tests/unit/test_*.c))
FUZZ_NAMES ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(call sources,tests/fuzz/fuzz_*.c))
FUZZ_PLAIN = $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz/fuzz-%)
LIVE_TESTS := $(call sources,tests/live/*.sh)
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
	$(Q)$(TAP) hardening 60 tests/lint/hardening.sh
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

# The program's objects but main.o, by reference, so that the linker picks what a test uses.
LIB = $(BUILD)/hostrace.a

$(LIB): $(LIB_OBJS)
	$(Q)rm -f $@
	$(Q)$(AR) rcsTD $@ $^

# Links a test program and records which of the program's objects are in it: it is linked again when one of them changes.
define link_test
	$(call say,TEST,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--trace -o $@ $(1) $(LIB) $(LDLIBS) >$@.trace
	$(Q)sed -n 's|^$(BUILD)/src/.*\.o$$|$@: &\n&:|p' $@.trace >$@.objects
endef

$(UNIT_TESTS): %: %.o | $(LIB)
	$(call link_test,$< -lcmocka)

FUZZ_MAIN = $(BUILD)/tests/fuzz/main.o

$(FUZZ_PLAIN): $(BUILD)/tests/fuzz/fuzz-%: $(BUILD)/tests/fuzz/fuzz_%.o $(FUZZ_MAIN) | $(LIB)
	$(call link_test,$< $(FUZZ_MAIN))

-include $(UNIT_TESTS:=.d) $(UNIT_TESTS:=.objects)
-include $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz/fuzz_%.d) $(FUZZ_MAIN:.o=.d) $(FUZZ_PLAIN:=.objects)

# Fuzzing needs clang's instrumentation in every object: a build of its own, without the collector.
ifeq ($(FUZZ),1)
FUZZERS = $(FUZZ_NAMES:%=$(BUILD)/fuzzer-%)

$(FUZZERS): $(BUILD)/fuzzer-%: $(BUILD)/tests/fuzz/fuzz_%.o | $(LIB)
	$(call link_test,-fsanitize=fuzzer,address,undefined $<)

-include $(FUZZERS:=.objects)

fuzz-build: $(FUZZERS)
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
