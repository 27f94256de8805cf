# The JVMTI library: no libc and no other library, so that the one file loads into glibc and musl
# processes. Its flags are its own: sanitizers and stack protectors need a runtime.
AGENT_SRC   := $(sort $(wildcard user/agent/*.c))
AGENT_OBJ   := $(AGENT_SRC:%.c=$(BUILD)/obj/%.o)
AGENT_FLAGS := -std=gnu11 -O2 -g0 -fPIC -ffreestanding -fno-builtin -fvisibility=hidden \
               -fno-strict-aliasing -fno-stack-protector -fno-tree-loop-distribute-patterns \
               -fno-asynchronous-unwind-tables -U_FORTIFY_SOURCE -Iuser -I.
AGENT_LINK  := -shared -nostdlib -nostartfiles -Wl,-z,defs -Wl,-z,noexecstack -Wl,-z,relro \
               -Wl,-z,now -Wl,--hash-style=both -Wl,--build-id=sha1 -Wl,-soname,libgnomon-agent.so

$(AGENT_OBJ): $(BUILD)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(AGENT_FLAGS) $(WARN) -MMD -MP -c $< -o $@

$(AGENT_SO): $(AGENT_OBJ)
	$(call say,AGENT,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(AGENT_LINK) -o $@ $^
	$(Q)if nm -D --undefined-only $@ | grep -q .; then echo "$@ needs symbols" >&2; exit 1; fi
	$(Q)strip --strip-unneeded $@

$(BUILD)/obj/user/jvm/agentblob.o: $(AGENT_SO)
$(BUILD)/obj/user/jvm/agentblob.o: CPPFLAGS += -DAGENT_SO='"$(AGENT_SO)"'

# What tests/jvm/agent_*.sh drive.
$(BUILD)/tests/jvm/agent_probe: $(BUILD)/tests/jvm/agent_probe.o $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
