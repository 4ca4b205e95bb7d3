# libhostrace: the folder's objects, and those of hostrace that they need. All symbols but hostrace_* are hidden: in the
# shared library by its version script, in the static one, a single object, by objcopy.
LIBRARY_ABI  = 0
LIBRARY_SO   = $(BUILD)/libhostrace.so.$(LIBRARY_ABI)
LIBRARY_A    = $(BUILD)/libhostrace.a
LIBRARY_OBJS = $(patsubst %.c,$(BUILD)/%.o,$(call sources,src/library/*.c))

# Sanitizers and coverage belong to programs.
ifeq ($(filter 1,$(SAN) $(COVERAGE))$(FUZZ),)
all: $(LIBRARY_SO) $(LIBRARY_A)
endif

$(LIBRARY_SO): $(LIBRARY_OBJS) $(LIB) src/library/libhostrace.map
	$(call say,LD,$@)
	$(Q)$(CC) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,-soname,$(@F) -Wl,--no-undefined \
		-Wl,--version-script,src/library/libhostrace.map -o $@ $(LIBRARY_OBJS) $(LIB) $(LDLIBS)

$(LIBRARY_A): $(LIBRARY_OBJS) $(LIB)
	$(call say,AR,$@)
	$(Q)$(LD) -r $(patsubst -Wl$(comma)%,%,$(WRAP)) -o $(BUILD)/libhostrace.o $(LIBRARY_OBJS) $(LIB)
	$(Q)$(OBJCOPY) -w --keep-global-symbol='hostrace_*' $(BUILD)/libhostrace.o
	$(Q)rm -f $@
	$(Q)$(AR) rcsD $@ $(BUILD)/libhostrace.o

-include $(LIBRARY_OBJS:.o=.d)
