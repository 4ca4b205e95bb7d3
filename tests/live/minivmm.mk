# A minimal VMM, the workload of live tests.
check-build: $(BUILD)/minivmm

$(BUILD)/minivmm: tests/live/minivmm.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -fno-omit-frame-pointer -pthread -o $@ $<
