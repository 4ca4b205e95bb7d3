# Stops a thread as a debugger does, for tests.
check-build: $(BUILD)/holdthread

$(BUILD)/holdthread: tests/live/holdthread.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP,$(CFLAGS)) $(LDFLAGS) -o $@ $<
