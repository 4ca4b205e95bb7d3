# Failing allocations and system calls (tests/faults/run.sh); checked sorting (tests/run-cases.sh --sort).
check-build: $(BUILD)/faults.so $(BUILD)/sort.so

$(BUILD)/faults.so $(BUILD)/sort.so: $(BUILD)/%.so: tests/faults/%.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE $(filter-out -MMD -MP -fPIE,$(CFLAGS)) -U_FORTIFY_SOURCE -fPIC -shared -o $@ $< -ldl
