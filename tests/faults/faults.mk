# Failing allocations and system calls (tests/faults/run.sh).
check-build: $(BUILD)/faults.so

$(BUILD)/faults.so: tests/faults/faults.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP -fPIE,$(CFLAGS)) -U_FORTIFY_SOURCE -fPIC -shared -o $@ $< -ldl
