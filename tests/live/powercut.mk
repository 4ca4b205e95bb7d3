# Power failures of a logged disk, and a program that writes traces to it.
check-build: $(BUILD)/powercut

$(BUILD)/powercut: $(BUILD)/tests/live/powercut.o | $(LIB)
	$(call link_test,$<)

-include $(BUILD)/tests/live/powercut.d $(BUILD)/powercut.objects
