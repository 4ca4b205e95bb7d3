# A VMM of several vCPUs and memory slots, the workload of live tests.
check-build: $(BUILD)/slotvmm

$(BUILD)/slotvmm: tests/live/slotvmm.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -pthread -o $@ $<
