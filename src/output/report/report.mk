# The script and the style of `hostrace report` as C arrays, with the hashes that the page's Content-Security-Policy
# permits. uplot/ is a copy of uPlot as npm has it (uplot/README.md), so that building needs neither npm nor a network.
PAGE_DIR     = src/output/report
PAGE_SCRIPTS = $(PAGE_DIR)/uplot/uPlot.iife.min.js $(call sources,$(PAGE_DIR)/*.js)
PAGE_STYLES  = $(PAGE_DIR)/uplot/uPlot.min.css $(PAGE_DIR)/page.css

# One scope for all own files, so that they need no module loader.
$(BUILD)/report/script.js: $(PAGE_SCRIPTS) src/output/palette.def
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ cat $(firstword $^); printf '(function () {\n"use strict";\n'; cat $(wordlist 2,$(words $(PAGE_SCRIPTS)),$^); \
		echo 'const stateColors = {'; sed -n 's/^STATE(\("[^"]*"\), \("[^"]*"\)).*/\1: \2,/p' src/output/palette.def; echo '};'; \
		printf 'start();\n})();\n'; } >$@

$(BUILD)/report/style.css: $(PAGE_STYLES)
	$(Q)mkdir -p $(@D)
	$(Q)cat $^ >$@

# NAME FILE: an array without NUL at its end. FILE: its SHA-256 in base64 (printf(1) of coreutils, not the shell's).
page_array  = echo 'static const unsigned char $(1)[] = {'; od -An -v -tx1 $(2) | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'; echo '};'
page_sha256 = $$(env printf "$$(sha256sum <$(1) | cut -c1-64 | sed 's/../\\x&/g')" | base64)

$(BUILD)/report_page.h: $(BUILD)/report/script.js $(BUILD)/report/style.css $(PAGE_DIR)/report.mk
	$(Q){ $(call page_array,page_script,$(BUILD)/report/script.js); \
		$(call page_array,page_style,$(BUILD)/report/style.css); \
		echo "#define PAGE_SCRIPT_SHA256 \"$(call page_sha256,$(BUILD)/report/script.js)\""; \
		echo "#define PAGE_STYLE_SHA256 \"$(call page_sha256,$(BUILD)/report/style.css)\""; } >$@

$(BUILD)/src/output/report/page.o: $(BUILD)/report_page.h
