# What Java programs without a tracer publish with: classes for JDK 11 and later, and a library as self-contained as the
# agent's, in one jar. Without a JDK it is left out.
CONTEXT_SO   := $(BUILD)/java/libgnomon-context.so
CONTEXT_JAR  := $(BUILD)/gnomon-context.jar
CONTEXT_JAVA := $(wildcard user/java/*.java)
# the few types of OpenTelemetry that GnomonSpanProcessor is compiled against; they are not in the jar
CONTEXT_STUBS := $(shell find user/java/stubs -name '*.java')
CONTEXT_OBJ  := $(BUILD)/obj/user/java/publisher.o
# readers look for a thread-local variable, best by TLSDESC, which is the usual way elsewhere than on x86_64
CONTEXT_TLS_x86_64 := -mtls-dialect=gnu2
CONTEXT_JARCH := $(patsubst x86_64,amd64,$(MACHINE))

$(CONTEXT_OBJ): user/java/publisher.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(AGENT_FLAGS) $(CONTEXT_TLS_$(MACHINE)) $(WARN) -MMD -MP -c $< -o $@

$(CONTEXT_SO): $(CONTEXT_OBJ) $(BUILD)/obj/user/agent/sys.o $(BUILD)/obj/user/agent/str.o
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(subst libgnomon-agent,libgnomon-context,$(AGENT_LINK)) -o $@ $^
	$(Q)if nm -D --undefined-only $@ | grep -q .; then echo "$@ needs symbols" >&2; exit 1; fi
	$(Q)strip --strip-unneeded $@

$(CONTEXT_JAR): $(CONTEXT_JAVA) $(CONTEXT_STUBS) $(CONTEXT_SO)
	$(call say,JAR,$@)
	@rm -rf $(BUILD)/java/classes $(BUILD)/java/stubs && mkdir -p $(BUILD)/java/classes/gnomon $(BUILD)/java/stubs
	$(Q)$(JAVA_HOME)/bin/javac --release 11 -Xlint:all,-try -Werror -d $(BUILD)/java/stubs $(CONTEXT_STUBS)
	$(Q)$(JAVA_HOME)/bin/javac --release 11 -Xlint:all,-try -Werror -cp $(BUILD)/java/stubs -d $(BUILD)/java/classes $(CONTEXT_JAVA)
	$(Q)cp $(CONTEXT_SO) $(BUILD)/java/classes/gnomon/libgnomon-context-$(CONTEXT_JARCH).so
	$(Q)printf 'Automatic-Module-Name: gnomon\n' >$(BUILD)/java/manifest
	$(Q)$(JAVA_HOME)/bin/jar cfm $@ $(BUILD)/java/manifest -C $(BUILD)/java/classes .

ifneq ($(wildcard $(JAVA_HOME)/bin/javac),)
all: $(CONTEXT_JAR)
endif
