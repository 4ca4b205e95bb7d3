# `make bench [QUICK=1]` measures recording and reading, and the peers in the same run; see doc/performance.md.

.PHONY: bench-tools bench-ratios bench-ratios-run bench-diagnose

QUICK ?= 0
BENCH_DIR = $(BUILD)/tests/bench
BENCH_TOOLS = $(addprefix $(BENCH_DIR)/,vmloop measure gen osvgen empty empty.bpf.o)

bench-tools: $(BUILD)/hostrace $(BENCH_TOOLS) $(BUILD)/taskguest.elf

bench: bench-tools
	$(Q)QUICK=$(QUICK) tests/bench/bench.sh $(BUILD)

# Faults of known kinds, and what diagnose says of them; see doc/diagnose.md.
VARIATIONS ?= 12
KINDS ?=
bench-diagnose: $(BUILD)/hostrace $(BUILD)/countguest.bin $(BUILD)/slowmem.so \
		$(addprefix $(BUILD)/blameguest-,touch.elf write.elf slow.elf bar.elf)
	$(Q)tests/diagnose/bench.py $(BUILD) --variations $(VARIATIONS) --kinds '$(KINDS)' -o $(BUILD)/diagnose

# Reading next to the peers, in CI: compared with the ratios in tests/bench/ratios.
bench-ratios:
	@scripts/deps.sh build check bench
	$(Q)$(MAKE) --no-print-directory bench-ratios-run

bench-ratios-run: $(BUILD)/hostrace $(BENCH_DIR)/measure $(BENCH_DIR)/gen $(BUILD)/tests/gen/tracedat $(BUILD)/tests/gen/perfdata
	$(Q)rm -rf $(BUILD)/ratios && mkdir -p $(BUILD)/ratios
	$(Q)CHECK_DIR=$(BUILD)/ratios TAP_SLOWER=3 tests/tap.sh --show bench/ratios 180 tests/bench/ratios.sh $(BUILD)
	$(Q)CHECK_DIR=$(BUILD)/ratios tests/tap.sh --summary

$(addprefix $(BENCH_DIR)/,vmloop measure osvgen): $(BENCH_DIR)/%: tests/bench/%.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -o $@ $<

$(BENCH_DIR)/empty: tests/bench/empty.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -o $@ $< -lbpf

$(BENCH_DIR)/empty.bpf.o: tests/bench/empty.bpf.c
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -O2 -g -Wall $(BPF_SYS) -c -o $@ $<

$(BENCH_DIR)/gen: tests/bench/gen.c $(LIB)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)

.PHONY: bench-page

# Updates the tables and the picture of doc/performance.md from the newest build/bench.json.
bench-page:
	$(Q)jq -r -f tests/bench/page.jq $(BUILD)/bench.json >$(BUILD)/bench.md
	$(Q)awk -v page=$(BUILD)/bench.md '/^<!-- bench -->/ { print; while ((getline line < page) > 0) print line; skip = 1 } \
		/^<!-- end of bench -->/ { skip = 0 } !skip' doc/performance.md >$(BUILD)/performance.md
	$(Q)cp $(BUILD)/performance.md doc/performance.md
	$(Q)cp $(BUILD)/bench.svg doc/performance.svg
