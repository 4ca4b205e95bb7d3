# The page of `hostrace view` as C arrays. One scope for its script, so that it needs no module loader.
BROWSE_DIR = src/browse

$(BUILD)/browse/view.js: $(call sources,$(BROWSE_DIR)/*.js)
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ printf '(function () {\n"use strict";\n'; cat $^; printf 'start();\n})();\n'; } >$@

$(BUILD)/browse_page.h: $(BUILD)/browse/view.js $(BROWSE_DIR)/view.css $(BROWSE_DIR)/view.html $(BROWSE_DIR)/browse.mk
	$(Q){ $(call page_array,browse_script,$(BUILD)/browse/view.js); \
		$(call page_array,browse_style,$(BROWSE_DIR)/view.css); \
		$(call page_array,browse_html,$(BROWSE_DIR)/view.html); } >$@

$(BUILD)/src/browse/answers.o: $(BUILD)/browse_page.h
