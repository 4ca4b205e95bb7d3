# `make bench [QUICK=1]`: what recording and reading cost, beside the peers, in one run. doc/performance.md says how.

.PHONY: bench-tools

QUICK ?= 0
BENCH_DIR = $(BUILD)/tests/bench
BENCH_TOOLS = $(addprefix $(BENCH_DIR)/,vmloop measure gen empty empty.bpf.o)

bench-tools: $(BUILD)/hostrace $(BENCH_TOOLS)

bench: bench-tools
	$(Q)QUICK=$(QUICK) tests/bench/bench.sh $(BUILD)

$(addprefix $(BENCH_DIR)/,vmloop measure): $(BENCH_DIR)/%: tests/bench/%.c
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

$(BENCH_DIR)/gen: tests/bench/gen.c $(LIB_OBJS)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -o $@ $< $(LIB_OBJS) $(LDLIBS)
