# Measures the cost of one record of the guest ring, and tests the fitted clock with generated pairs of traces.

.PHONY: bench-ring

bench-ring: $(BUILD)/tests/bench/ring-locked $(BUILD)/tests/bench/ring-local
	$(Q)$(BUILD)/tests/bench/ring-locked
	$(Q)$(BUILD)/tests/bench/ring-local --check 40

$(BUILD)/tests/bench/ring-%: tests/bench/ring.c src/guestside/ring/ring.c src/guestside/ring/ring.h
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(if $(filter local,$*),-DRING_LOCAL) $(LDFLAGS) \
		-o $@ tests/bench/ring.c src/guestside/ring/ring.c

.PHONY: check-clock

# Takes ten minutes.
PAIRS ?= 1000
SEED  ?= 1

check-clock: $(BUILD)/tests/bench/clockgen
	$(Q)$< --pairs $(PAIRS) --seed $(SEED)

$(BUILD)/tests/bench/clockgen: tests/bench/clockgen.c tests/bench/clockgen.h $(LIB)
	$(call say,BENCH,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -o $@ $< $(LIB) $(LDLIBS)
