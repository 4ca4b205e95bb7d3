# `make check` runs all tests that this machine can run; `make check SAN=1` those that need no VM, with sanitizers, and
# replays all fuzz inputs; `make check-fast` runs the quick ones; `make fuzz T=60 [FUZZ_NAMES=hrt]` searches for new
# crashes. Tests are found by wildcard: a new test needs no change here.

TEST_SRCS := $(call sources,tests/unit/*.c tests/fuzz/*.c)
UNIT_TESTS := $(patsubst %.c,$(BUILD)/%,$(call sources,tests/unit/test_*.c))
FUZZ_NAMES ?= $(filter-out $(if $(filter 1,$(LIVE)),,probes),\
	$(patsubst tests/fuzz/fuzz_%.c,%,$(call sources,tests/fuzz/fuzz_*.c)))
FUZZ_PLAIN = $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz/fuzz-%)
CRASH_TESTS := tests/live/record-kill.sh tests/live/power-loss.sh
LIVE_TESTS := $(call sources,tests/live/*.sh)

# Times by which the limits of tests/tap.sh are multiplied. A limit only ends a test that hangs: the machine may be slow or
# do other work, and sanitizers make programs several times slower.
CHECK_ENV  = TAP_SLOWER=$(if $(filter 1,$(SAN)),12,6) CHECK_DIR=$(BUILD)/check BUILD=$(BUILD) HOSTRACE=$(BUILD)/hostrace
TAP	   = $(CHECK_ENV) tests/tap.sh

# In a new make: the Makefile calls pkg-config when it is read, which must be after deps.sh has installed packages.
check:
	@scripts/deps.sh build check live docs
	$(Q)$(MAKE) --no-print-directory check-run

check-fast:
	@scripts/deps.sh build check docs
	$(Q)$(MAKE) --no-print-directory check-fast-run

.PHONY: check-fast format check-build check-run check-fast-run check-units check-unit check-cases check-case check-fuzz fuzz-build fuzz-check fuzz-coverage fuzz-nightly check-crash check-faults check-fleet

check-build: all $(UNIT_TESTS) $(FUZZ_PLAIN) $(BUILD)/tests/bench/osvgen

# What tests/tap.sh runs: NAME,SECONDS,COMMAND. The longest tests start first, so that all CPUs are busy until the end.
LONG_UNITS = $(filter %/test_clock_fit %/test_fast_path %/test_ring_races %/test_tracefile_broken,$(UNIT_TESTS))
UNIT_PARTS = $(foreach u,$(LONG_UNITS) $(filter-out $(LONG_UNITS),$(UNIT_TESTS)),\
	unit/$(patsubst test_%,%,$(notdir $(u))),120,tests/run-unit.sh,$(u))
LINT_PARTS = manual,120,tests/lint/manual.sh lint,120,tests/lint/lint.sh stap,60,tests/lint/stap.sh \
	hardening,60,tests/lint/hardening.sh package,120,tests/lint/package.sh prometheus,60,tests/lint/prometheus.sh tap,60,tests/lint/tap.sh files,60,tests/lint/files.sh boot,60,tests/lint/boot.sh
# With --sort a case must print the same, so that one run checks both. That without is done by check-fast, and with sanitizers.
# They take longest of all with sanitizers: in two parts, which run at once.
CASES_PLAIN  = cases/1,300,tests/run-cases.sh,--part,1/2 cases/2,300,tests/run-cases.sh,--part,2/2
CASES_SORTED = cases,300,tests/run-cases.sh,--sort
FAST_PARTS = $(if $(filter 1,$(SAN)),,$(LINT_PARTS)) $(UNIT_PARTS)
FAULT_PARTS = faults/alloc,300,tests/faults/run.sh,alloc faults/calls,300,tests/faults/run.sh,calls \
	faults/short,120,tests/faults/run.sh,short faults/interrupt,120,tests/faults/interrupt.sh
SLOW_PARTS = $(if $(filter 1,$(SAN)),,without-libbpf,300,tests/lint/without-libbpf.sh agree,600,tests/agree/run.sh agree-states,120,tests/agree/states.py agree-gaps,120,tests/agree/gaps.py scale,900,tests/scale/run.py page,300,tests/page/run.sh pictures,120,tests/page/pictures.sh view,300,tests/page/view.sh \
	exports,120,tests/exports/run.sh schemas,300,tests/exports/schemas.py library,120,tests/library/run.sh mcp,180,tests/mcp/run.py sql,120,tests/sql/run.sh sql-differ,120,tests/sql/differ.py sql-prompt,60,tests/sql/prompt.py,tests/cases/exits/trace.txt filters,60,tests/filters/run.sh seeds,120,tests/seeds/run.py costs,300,tests/costs/run.sh options,300,tests/options/run.py) oracles,60,tests/oracles/run.sh kernels,120,tests/kernels/run.sh \
	osv-original,200,tests/osv/run.sh broken,120,tests/run-broken.sh \
	$(if $(filter 1,$(SAN)),$(FUZZ_PARTS),$(FAULT_PARTS) cases/names,300,tests/run-cases.sh,--names guest-ring-carried,120,tests/lint/guest-ring.sh install,60,tests/lint/install.sh)

# The inputs of a fuzz target: its corpus, and the files of tests/broken and tests/golden that have its format. They are
# replayed with sanitizers only, and counted apart from the tests.
FUZZ_TEXTS   := $(call sources,tests/broken/*.txt tests/golden/*.txt)
FUZZ_FILES_exports := $(FUZZ_TEXTS)
FUZZ_FILES_folds := $(FUZZ_TEXTS)
FUZZ_FILES_hrt := $(call sources,tests/broken/empty tests/broken/*.bin tests/golden/*.hrt)
FUZZ_FILES_perfdata := $(call sources,tests/broken/perfdata-*)
FUZZ_FILES_samples := $(FUZZ_TEXTS)
FUZZ_FILES_stream := $(call sources,tests/broken/stream-*)
FUZZ_FILES_text := $(FUZZ_TEXTS)
FUZZ_FILES_twin := $(FUZZ_TEXTS)
FUZZ_PARTS = $(foreach f,$(FUZZ_NAMES),fuzz/$(f),300,$(BUILD)/tests/fuzz/fuzz-$(f),$(subst \
	$(space),$(comma),$(strip tests/fuzz/corpus/$(f) $(FUZZ_FILES_$(f)))))
comma := ,
space := $(subst ,, )

# Runs parts, JOBS at once. A failure is recorded in the score and does not stop the other parts.
JOBS	?= $(shell nproc)
run_parts = $(Q)printf '%s\n' $(1) | tr , ' ' | $(CHECK_ENV) JOBS=1 xargs -P $(JOBS) -L 1 tests/tap.sh
new_score = $(Q)rm -rf $(BUILD)/check && mkdir -p $(BUILD)/check

check-run: check-build
	$(new_score)
	$(call run_parts,$(if $(filter 1,$(SAN)),$(CASES_PLAIN),$(CASES_SORTED)) $(FAST_PARTS) $(SLOW_PARTS))
ifneq ($(SAN),1)
	$(Q)$(CHECK_ENV) tests/run-live.sh $(LIVE_TESTS)
endif
	$(Q)$(TAP) --summary

check-fast-run: all man $(UNIT_TESTS)
	$(new_score)
	$(call run_parts,$(CASES_PLAIN) $(FAST_PARTS))
	$(Q)$(TAP) --summary

check-units: $(UNIT_TESTS)
	$(new_score)
	$(call run_parts,$(UNIT_PARTS))
	$(Q)$(TAP) --summary

# Recorders and power that fail at N random moments; tests/live/ runs them with fewer.
check-crash: check-build
	$(new_score)
	$(Q)N=$(or $(N),100) LIVE_SECONDS=1200 $(CHECK_ENV) tests/run-live.sh $(CRASH_TESTS)
	$(Q)grep -h '^# \(SEED\|lost\)' $(BUILD)/check/live_*.log
	$(Q)$(TAP) --summary

# Prometheus scrapes two exporters of FLEET_VMS VMs; tests/live/ does it with one. The other tests of the exporter, rules
# and dashboard. Servers of other kinds: tests/fleet/.
check-fleet: check-build $(BUILD)/tests/bench/gen
	@scripts/deps.sh check live fleet
	$(new_score)
	$(Q)FLEET_VMS=$(or $(FLEET_VMS),20) LIVE_SECONDS=600 $(CHECK_ENV) tests/run-live.sh $(sort $(wildcard tests/live/exporter*.sh) $(wildcard tests/fleet/*.sh))
	$(Q)$(TAP) prometheus-rules 300 tests/lint/prometheus.sh
	$(Q)$(TAP) --summary

# More failing allocations and system calls (N per command and kind; N=all) than in `make check`.
check-faults: check-build
	$(new_score)
	$(Q)for kind in alloc calls short; do \
		N=$(or $(N),100) $(TAP) faults/$$kind 7200 tests/faults/run.sh $$kind || exit 1; done
	$(Q)N=$(or $(filter-out all,$(N)),100) $(TAP) faults/interrupt 7200 tests/faults/interrupt.sh
	$(Q)$(TAP) --summary

# One unit test (U=clock_fit); all cases or one (C=exits). Both show the whole output.
check-unit: $(BUILD)/tests/unit/test_$(U)
	$(Q)tests/run-unit.sh $<

check-cases check-case: $(BUILD)/hostrace $(HTTP)
	$(Q)$(CHECK_ENV) JOBS=$(JOBS) tests/run-cases.sh $(C)

ifeq ($(SAN),1)
check-fuzz: $(FUZZ_PLAIN)
	$(new_score)
	$(call run_parts,$(FUZZ_PARTS))
	$(Q)$(TAP) --summary
else
check-fuzz:
	$(Q)$(MAKE) --no-print-directory SAN=1 $@
endif

lint: $(BUILD)/hostrace
	$(Q)$(CHECK_ENV) tests/lint/lint.sh

# Breaks long lines; needs clang-format.
format:
	$(Q)tests/lint/format.sh $(FILES)

# A thin archive of all objects but main.o: the linker picks those that a test uses.
$(LIB): $(LIB_OBJS)
	$(Q)rm -f $@
	$(Q)$(AR) rcsTD $@ $^

# Links a test program and records which objects are in it: it is linked again only when one of them changes.
define link_test
	$(call say,TEST,$@)
	$(Q)$(CC) $(LDFLAGS) -Wl,--trace -o $@ $(1) $(LIB) $(LDLIBS) $(DECODE_LIBS) >$@.trace
	$(Q)sed -n 's|^$(BUILD)/src/.*\.o$$|$@: &\n&:|p' $@.trace >$@.objects
endef

$(UNIT_TESTS:=.o): | $(if $(BPF_SRCS),$(BUILD)/hostrace.skel.h)
$(BUILD)/tests/unit/test_exporter_protobuf.o: $(BUILD)/prometheus.pb-c.h
$(BUILD)/tests/fuzz/fuzz_perfetto.o: $(BUILD)/ftrace_packets.pb-c.h
$(BUILD)/tests/unit/test_exporter_otlp.o: $(BUILD)/opentelemetry.pb-c.h

$(UNIT_TESTS): %: %.o | $(LIB) $(if $(filter 1,$(LIVE)),$(DECODE))
	$(call link_test,$< -lcmocka)

FUZZ_MAIN = $(BUILD)/tests/fuzz/main.o

$(FUZZ_PLAIN): $(BUILD)/tests/fuzz/fuzz-%: $(BUILD)/tests/fuzz/fuzz_%.o $(FUZZ_MAIN) | $(LIB)
	$(call link_test,$< $(FUZZ_MAIN))

-include $(UNIT_TESTS:=.d) $(UNIT_TESTS:=.objects)
-include $(FUZZ_NAMES:%=$(BUILD)/tests/fuzz/fuzz_%.d) $(FUZZ_MAIN:.o=.d) $(FUZZ_PLAIN:=.objects)

# Fuzzing needs clang's instrumentation in every object: separate builds, with sanitizers (FUZZ=1), or to measure
# coverage (FUZZ=cov).
ifneq ($(FUZZ),)
FUZZERS = $(FUZZ_NAMES:%=$(BUILD)/fuzzer-%)
FUZZ_BLOCKS = $(BUILD)/tests/fuzz/blocks.o
# blocks.c has functions of these names, too, and replaces those of base/memory.c.
$(BUILD)/src/base/memory.o: CPPFLAGS += $(foreach f,free malloc calloc realloc reallocarray,-D__wrap_$(f)=memory_$(f))
FUZZ_LINK = -fsanitize=fuzzer $(FUZZ_FLAGS) \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=reallocarray,--wrap=free \
	$(if $(filter cov,$(FUZZ)),-Wl$(comma)-u$(comma)__wrap_strdup) # the counters' runtime calls strdup()

$(FUZZERS): $(BUILD)/fuzzer-%: $(BUILD)/tests/fuzz/fuzz_%.o $(FUZZ_BLOCKS) | $(LIB)
	$(call link_test,$< $(FUZZ_BLOCKS) $(FUZZ_LINK))

-include $(FUZZERS:=.objects)

fuzz-build: $(FUZZERS)
endif

# T: seconds for each target; RUNS: it ends earlier after so many (-1: no limit). FUZZ_STATE has what was found.
T    ?= 60
RUNS ?= -1
FUZZ_STATE ?= $(BUILD)/fuzz
fuzz_make = $(MAKE) --no-print-directory FUZZ=$(1) CC=$(CLANG) BUILD=$(2) fuzz-build

fuzz:
	@scripts/deps.sh build fuzz
	$(Q)$(call fuzz_make,1,$(BUILD)/fuzz)
	$(Q)tests/fuzz/run.sh $(BUILD)/fuzz $(FUZZ_STATE) $(T) $(RUNS) $(FUZZ_NAMES)

# What CI runs: each target for some seconds from its corpus, with a seed of its own. The time ends a target between two
# inputs, and an input may take minutes: a slow machine does fewer runs.
fuzz-check:
	@scripts/deps.sh build fuzz
	$(Q)$(call fuzz_make,1,$(BUILD)/fuzz)
	$(Q)rm -rf $(BUILD)/fuzz/check
	$(Q)JOBS=$(JOBS) INPUT_SECONDS=300 tests/fuzz/run.sh $(BUILD)/fuzz $(BUILD)/fuzz/check $(FUZZ_CHECK_SECONDS) $(RUNS) $(FUZZ_NAMES)
FUZZ_CHECK_SECONDS ?= 8

fuzz-coverage:
	@scripts/deps.sh build check fuzz
	$(Q)$(call fuzz_make,cov,$(BUILD)/fuzz-cov)
	$(Q)tests/fuzz/coverage.sh $(BUILD)/fuzz-cov $(FUZZ_STATE)/new $(FUZZ_NAMES)

# Every target does 10 million runs, or as many as it can in half an hour of CPU time, in slices; it continues where it
# was ended.
fuzz-nightly:
	@scripts/deps.sh build fuzz
	$(Q)$(call fuzz_make,1,$(BUILD)/fuzz)
	$(Q)nice -n 19 tests/fuzz/nightly.sh $(BUILD)/fuzz $(FUZZ_STATE) 10000000 1800 $(FUZZ_NAMES)
