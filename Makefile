# gnomon: build, test and try. `make help` lists the goals.
#
# Everything is built under BUILD (default build/), so several trees can be kept side by side:
#   make BUILD=/tmp/asan SAN=1 check-unit

BUILD    ?= build
# One spelling per directory, or the dependencies written under one would not count under another.
override BUILD := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
V        ?= 0
SAN      ?= 0
CC       ?= gcc
CLANG    ?= clang
BPFTOOL  ?= $(firstword $(wildcard /usr/sbin/bpftool /usr/bin/bpftool) bpftool)
FORMAT   ?= clang-format
JAVA_HOME ?= $(firstword $(wildcard /usr/lib/jvm/java-17-openjdk-$(DEBARCH) /usr/lib/jvm/java-21-openjdk-$(DEBARCH) /usr/lib/jvm/default-java))
DEBARCH  := $(shell dpkg --print-architecture 2>/dev/null || echo amd64)
MACHINE  := $(shell uname -m)
BPFARCH  := $(patsubst x86_64,x86,$(patsubst aarch64,arm64,$(MACHINE)))
VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1)

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-8s %s\n' "$(1)" "$(2)"
endif

WARN     := -Wall -Wextra -Werror -Wno-unused-parameter -Wmissing-prototypes -Wshadow=local \
            -Wvla -Wformat=2 -Wstrict-prototypes -Wno-missing-field-initializers
CPPFLAGS := -D_GNU_SOURCE -I. -Iuser -I$(BUILD)/gen
CFLAGS   ?= -O2 -g
CFLAGS   += -std=gnu11 -fno-strict-aliasing -fstack-protector-strong
# Debian 13's libelf.a (0.192) calls functions that it does not contain: only the shared one links.
LIBELF   := $(if $(shell grep -ls eu_search_tree_init /usr/lib/*/libelf.a),-lelf,-l:libelf.a)
LDLIBS   := -l:libbpf.a $(LIBELF) -l:libz.a -l:liblzma.a -l:libiberty.a -l:libinih.a -lpthread
# -O1 takes half of the time to compile; what it warns of beyond that is no news.
ifeq ($(SAN),1)
WARN     := -w
CFLAGS   += -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LDFLAGS  += -fsanitize=address,undefined
endif

# ---- what there is ---------------------------------------------------------------------------
USER_SRC  := $(sort $(filter-out user/agent/% user/send/% user/http/%,$(wildcard user/*/*.c)))
SEND_SRC  := $(sort $(wildcard user/send/*.c))
SEND_OBJ  := $(SEND_SRC:%.c=$(BUILD)/obj/%.o)
HTTP_SRC  := $(sort $(wildcard user/http/*.c))
HTTP_OBJ  := $(HTTP_SRC:%.c=$(BUILD)/obj/%.o)
LIB_SRC   := $(filter-out user/cli/main.c,$(USER_SRC))
LIB_ASM   := $(sort $(wildcard user/*/*.S))
LIB_OBJ   := $(LIB_SRC:%.c=$(BUILD)/obj/%.o) $(LIB_ASM:%.S=$(BUILD)/obj/%.o)
BPF_SRC   := $(sort $(wildcard kern/*.bpf.c))
BPF_OBJ   := $(BPF_SRC:kern/%.bpf.c=$(BUILD)/kern/%.bpf.o)
SKEL      := $(BUILD)/gen/gnomon.skel.h
AGENT_SO  := $(BUILD)/agent/libgnomon-agent.so
UNIT_SRC  := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN  := $(UNIT_SRC:tests/unit/%.c=$(BUILD)/tests/unit/%)
BPFT_SRC  := $(sort $(wildcard tests/bpf/test_*.c))
BPFT_BIN  := $(BPFT_SRC:tests/bpf/%.c=$(BUILD)/tests/bpf/%)
FUZZ_SRC  := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BIN  := $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/tests/fuzz/%)
C_FILES   := $(sort $(wildcard kern/*.[ch] vmlinux/*.h user/*/*.[ch] tests/*/*.[ch] tools/*/*.[ch]))

.PHONY: all help tests tests-unit check check-all redteam check-unit check-bpf check-jvm check-kernels check-browser check-peers check-arm64 check-format bench accuracy results soak soak-push soak-surge soak-daemon \
        fuzz fuzzers format install uninstall clean demo picture deps
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/gnomon $(BUILD)/gnomon-send $(BUILD)/gnomon-http ## build gnomon, what it sends profiles with, and what answers by HTTP

help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-14s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

# ---- BPF: one object, one skeleton --------------------------------------------------------------
BPFFLAGS := -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Werror -Wno-unused-parameter \
            -Wno-missing-declarations -D__TARGET_ARCH_$(BPFARCH) -Ikern -Ivmlinux -I.

$(BUILD)/kern/%.bpf.o: kern/%.bpf.c
	$(call say,BPF,$<)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPFFLAGS) -MMD -MP -MT $@ -MF $(@:.o=.d) -c $< -o $@

$(BUILD)/kern/gnomon.o: $(BPF_OBJ)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(SKEL): $(BUILD)/kern/gnomon.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name gnomon > $@

# ---- the agent: one freestanding library, embedded into the binary -------------------------------
-include user/agent/agent.mk

# ---- for Java programs that publish their requests ------------------------------------------------
-include user/java/java.mk

# ---- user space ---------------------------------------------------------------------------------
# A newcomer hears what is missing and how to get it, not only that there is no 'cc'.
DEPS_STAMP := $(BUILD)/gen/deps
$(DEPS_STAMP):
	@mkdir -p $(@D)
	@tools/deps.sh --check build && touch $@ || true
$(LIB_OBJ) $(SEND_OBJ) $(HTTP_OBJ) $(AGENT_OBJ) $(BPF_OBJ) $(BUILD)/obj/user/cli/main.o: | $(DEPS_STAMP)

# Only capture/, the BPF tests and the one that adds up their stack see the skeleton.
# (A pattern rule without a recipe would say nothing: the objects have to be named.)
$(filter $(BUILD)/obj/user/capture/%,$(LIB_OBJ)) $(BPFT_BIN:%=%.o) $(BUILD)/tests/unit/test_bpfstack.o: | $(SKEL)

$(BUILD)/obj/%.o: %.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -MMD -MP -c $< -o $@

$(BUILD)/obj/%.o: %.S
	$(call say,AS,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

# the reader alone, for others to link; user/jfr/read.h says how
JFR_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard user/jfr/read*.c) \
             user/base/buffer.c user/base/error.c user/base/frame.c user/base/idmap.c user/base/utf8.c)
$(BUILD)/libgnomon-jfr.a: $(JFR_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)ar rcs $@ $^

# What knows the version is compiled anew when that changes.
VERSION_STAMP := $(BUILD)/gen/version
ifneq ($(VERSION),$(shell cat $(VERSION_STAMP) 2>/dev/null))
.PHONY: $(VERSION_STAMP)
endif
$(VERSION_STAMP):
	@mkdir -p $(@D)
	@echo '$(VERSION)' >$@
VERSIONED := $(BUILD)/obj/user/cli/main.o $(BUILD)/obj/user/cli/cmd_daemon.o $(BUILD)/obj/user/run/session.o
$(VERSIONED): CPPFLAGS += -DGNOMON_VERSION='"$(VERSION)"'
$(VERSIONED): $(VERSION_STAMP)

# what assets.S takes in is not seen by -MMD
$(BUILD)/obj/user/out/assets.o: $(wildcard user/out/page/*) user/out/svg.js

$(BUILD)/libgnomon.a: $(LIB_OBJ)
	$(call say,AR,$@)
	@rm -f $@
	$(Q)ar rcs $@ $^
	@# An archive takes the first of two functions of one name without a word.
	@twice=$$(nm -g --defined-only $@ 2>/dev/null | awk 'NF == 3 { print $$3 }' | sort | uniq -d); \
	  [ -z "$$twice" ] || { rm -f $@; echo "$@: defined twice:" $$twice >&2; exit 1; }

$(BUILD)/gnomon: $(BUILD)/obj/user/cli/main.o $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# The one program that has libcurl: a process without rights (user/send/README.md).
$(BUILD)/gnomon-send: $(SEND_OBJ) $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcurl

# The one that has libmicrohttpd, likewise (user/http/README.md).
$(BUILD)/gnomon-http: $(HTTP_OBJ) $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lmicrohttpd -lpthread

# ---- tests --------------------------------------------------------------------------------------
$(BUILD)/tests/%.o: tests/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests $(CFLAGS) $(WARN) -MMD -MP -c $< -o $@

$(BUILD)/tests/unit/%: $(BUILD)/tests/unit/%.o $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS) -lm

# What the sender does without a network.
$(BUILD)/tests/unit/test_retry: $(BUILD)/tests/unit/test_retry.o $(BUILD)/obj/user/send/retry.o
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka

# What answers by HTTP, likewise.
HTTP_PURE := $(patsubst %,$(BUILD)/obj/user/http/%.o,route access address)
$(BUILD)/tests/unit/test_http: $(BUILD)/tests/unit/test_http.o $(HTTP_PURE) $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka

$(BUILD)/tests/browser/%: $(BUILD)/tests/browser/%.o $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)
$(BUILD)/tests/browser/%.o: CPPFLAGS += -Itests/unit

# What others link is enough to read a recording.
$(BUILD)/tests/unit/test_jfrread: $(BUILD)/tests/unit/test_jfrread.o $(BUILD)/libgnomon-jfr.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka

$(BUILD)/tests/bpf/%: $(BUILD)/tests/bpf/%.o $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS) -lm

# What tests/jvm/context_*.sh read with.
$(BUILD)/tests/jvm/context_probe: $(BUILD)/tests/jvm/context_probe.o $(BUILD)/libgnomon.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

tests-unit: $(UNIT_BIN)
tests: tests-unit $(BPFT_BIN)

check: ## install what is missing (root), build, run the tests, in minutes
	@BUILD=$(BUILD) tools/check.sh

check-all: ## the same, with every case of every test on every JDK, as CI does
	@BUILD=$(BUILD) EVERY_JDK=all tools/check.sh

check-jvm: $(BUILD)/gnomon $(BUILD)/gnomon-send $(BUILD)/gnomon-http ## end-to-end tests on every JDK found (root)
	@BUILD=$(BUILD) tests/jvm/run.sh

redteam: $(BUILD)/gnomon ## what a hostile process may try beside a JVM that is recorded (root)
	@BUILD=$(BUILD) tests/jvm/run.sh 'hostile_*'
	@ISOLATE=1 BUILD=$(BUILD) tests/jvm/run.sh 'hostile_*'

check-unit: $(UNIT_BIN) ## unit tests (no root)
	@set -e; for t in $(UNIT_BIN); do $$t; done

check-bpf: $(BPFT_BIN) ## BPF tests in this kernel (root)
	@set -e; for t in $(BPFT_BIN); do $$t; done

check-browser: $(BUILD)/gnomon $(BUILD)/tools/bench/jfrgen $(BUILD)/tests/browser/scene $(BUILD)/tests/browser/served ## the pages, in a headless Chromium (needs chromium, node)
	@BUILD=$(BUILD) tests/browser/run.sh

check-peers: ## recordings in other people's readers: JMC, jfr-parser, jfrconv, pprof, speedscope, the Firefox Profiler; fetched once (root)
	@BUILD=$(BUILD) tools/check.sh --only peers

# ---- aarch64: compiled, on any machine -----------------------------------------------------------
# The BPF side down to its skeleton, and all of user space against aarch64's C library.
ARM64      := $(BUILD)/arm64
ARM64_BPF  := $(BPF_SRC:kern/%.bpf.c=$(ARM64)/kern/%.bpf.o)
ARM64_SKEL := $(ARM64)/gen/gnomon.skel.h
ARM64_OBJ  := $(patsubst %.c,$(ARM64)/%.o,$(wildcard user/*/*.c))
# (other libraries' headers do not depend on the machine, but may lie in a folder of this one's)
ARM64_INC  := $(addprefix -isystem ,$(wildcard /usr/aarch64-linux-gnu/include)) \
              -idirafter /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)
ARM64_FLAGS := --target=aarch64-linux-gnu -std=gnu11 -D_GNU_SOURCE -I. -Iuser -I$(ARM64)/gen \
               -DGNOMON_VERSION='""' $(ARM64_INC) \
               $(filter-out -Wshadow=local,$(WARN)) -Wno-format-nonliteral

$(ARM64)/kern/%.bpf.o: kern/%.bpf.c
	$(call say,BPF,$< (aarch64))
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(subst -D__TARGET_ARCH_$(BPFARCH),-D__TARGET_ARCH_arm64,$(BPFFLAGS)) \
	  -MMD -MP -MT $@ -MF $(@:.o=.d) -c $< -o $@

$(ARM64)/kern/gnomon.o: $(ARM64_BPF)
	$(call say,BPFLINK,$@)
	$(Q)$(BPFTOOL) gen object $@ $^

$(ARM64_SKEL): $(ARM64)/kern/gnomon.o
	$(call say,SKEL,$@)
	@mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name gnomon > $@

$(ARM64)/user/%.o: user/%.c | $(ARM64_SKEL)
	$(call say,CC,$< (aarch64))
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(ARM64_FLAGS) -MMD -MP -c $< -o $@

check-arm64: $(ARM64_SKEL) $(ARM64_OBJ) ## that it compiles for aarch64: the BPF side and user space (no root)

# ---- fuzzing: libFuzzer, clang ------------------------------------------------------------------
FUZZ_SECONDS ?= 20
FUZZ_SEED ?= 0
FUZZ_FLAGS := -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined
$(BUILD)/fuzz/%.o: %.c
	$(call say,CC,$< (fuzz))
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(CPPFLAGS) -std=gnu11 $(FUZZ_FLAGS) -MMD -MP -c $< -o $@

# What a fuzzer takes in stands in its source, which is read when its program is asked for.
fuzz_objects = $(patsubst %.S,$(BUILD)/obj/%.o,$(patsubst %.c,$(BUILD)/fuzz/%.o,\
                 $(wildcard $(shell sed -n 's,^// FUZZ-LINK: ,,p' $(1)))))
.SECONDEXPANSION:
$(BUILD)/tests/fuzz/%: $(BUILD)/fuzz/tests/fuzz/%.o $$(call fuzz_objects,tests/fuzz/$$*.c)
	$(call say,FUZZ,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(FUZZ_FLAGS) -o $@ $^ -l:libbpf.a $(LIBELF) -l:libz.a -l:liblzma.a -l:libiberty.a

fuzzers: $(FUZZ_BIN)
fuzz: $(FUZZ_BIN) ## every fuzzer for FUZZ_SECONDS each (default 20); FUZZ_SEED=1: as CI does it
	@set -e; for f in $(FUZZ_BIN); do n=$$(basename $$f); c=$(BUILD)/corpus/$$n; mkdir -p $$c; \
	  s=tests/data/corpus/$$n; [ -d $$s ] || s=; echo "== $$n"; \
	  $$f -max_total_time=$(FUZZ_SECONDS) -seed=$(FUZZ_SEED) -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
	    -verbosity=0 -artifact_prefix=$(BUILD)/ $$c $$s; done

# ---- housekeeping -------------------------------------------------------------------------------
format: ## clang-format everything in place
	$(Q)$(FORMAT) -i $(C_FILES)

check-format: ## fail where clang-format would change something
	$(Q)$(FORMAT) --dry-run --Werror $(C_FILES)

deps: ## install what building and testing need (root, Debian)
	$(Q)tools/deps.sh

# ---- what it costs and how true it is ------------------------------------------------------------
# measure SET,SCRIPT,FILES: what the script needs is installed and built; without some of the set it still
# does what it can, and says so. `sudo make bench` leaves a tree that its owner can build in.
define measure
	$(Q)tools/deps.sh build && { tools/deps.sh $(1) || true; }
	$(Q)$(MAKE) $(BUILD)/gnomon $(BUILD)/tools/bench/meter $(3)
	@BUILD=$(BUILD) $(2); rc=$$?; [ -z "$$SUDO_UID" ] || chown -R "$$SUDO_UID:$${SUDO_GID:-0}" $(BUILD); exit $$rc
endef

$(BUILD)/tools/%: tools/%.c
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(WARN) -o $@ $<

$(BUILD)/tools/bench/jfrgen: tools/bench/jfrgen.c tests/unit/jfrbuild.h $(BUILD)/libgnomon.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests/unit $(CFLAGS) $(LDFLAGS) $(WARN) -o $@ $(filter %.c %.a,$^)

$(BUILD)/tools/bench/vitals_poll: tools/bench/vitals_poll.c $(BUILD)/libgnomon.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) $(WARN) -o $@ $(filter %.c %.a,$^) $(LDLIBS)

bench: ## what profilers cost, side by side, in a quarter of an hour; BENCH=full: in three hours (root)
	$(call measure,bench,tools/bench/bench.sh)

accuracy: ## every ground-truth program, expected and measured (root)
	$(call measure,bench programs,tools/accuracy/suite.sh,$(BUILD)/tools/bench/jfrgen $(BUILD)/tests/bpf/test_capture)

results: ## all of RESULTS.md on this commit: bench, accuracy and more, 40 minutes (root)
	@BUILD=$(BUILD) tools/bench/all.sh

soak: ## SOAK_SECONDS (3600) of recording what comes and goes: memory and descriptors stay flat (root)
	$(call measure,bench,tools/soak/soak.sh)

soak-push: ## SOAK_SECONDS (3600) of sending what ten JVMs do: nothing is refused or lost; what that costs (root)
	$(call measure,bench,tools/soak/push.sh,$(BUILD)/gnomon-send)

soak-surge: ## a daemon with a budget, and a JVM whose load rises tenfold ten times: the budget is kept, shares are true, 5 minutes (root)
	$(call measure,bench,tools/soak/surge.sh)

soak-daemon: ## SOAK_SECONDS (3600) of a daemon with ten JVMs: cost, memory, disk, and totals beside the kernel's account (root)
	$(call measure,bench,tools/soak/daemon.sh)

check-kernels: ## load, record and run the BPF tests in other kernels under qemu: 6.1, 6.12, one between, one too old (root)
	$(call measure,kernels,tools/kernels/kernels.sh,$(BPFT_BIN))

demo: ## record a busy Java server for 10 s and show where its time goes (root)
	@BUILD=$(BUILD) tools/demo.sh

picture: ## the README's picture, of the page that make demo left (needs chromium)
	@BUILD=$(BUILD) tools/demo/picture.sh

# ---- installing ---------------------------------------------------------------------------------
PREFIX  ?= /usr/local
MANUALS := $(wildcard user/man/*.[1-8])
SHARE   := $(DESTDIR)$(PREFIX)/share
BASHDIR := $(SHARE)/bash-completion/completions
ZSHDIR  := $(SHARE)/zsh/site-functions
UNITDIR := $(DESTDIR)$(PREFIX)/lib/systemd/system
UNITS   := gnomon.service gnomon-http.service
TMPFILES := $(DESTDIR)$(PREFIX)/lib/tmpfiles.d
SYSUSERS := $(DESTDIR)$(PREFIX)/lib/sysusers.d
CONFDIR := $(DESTDIR)/etc/gnomon

install: all ## to PREFIX (default /usr/local), below DESTDIR
	install -D -m 755 $(BUILD)/gnomon $(DESTDIR)$(PREFIX)/bin/gnomon
	install -D -m 755 $(BUILD)/gnomon-send $(DESTDIR)$(PREFIX)/bin/gnomon-send
	install -D -m 755 $(BUILD)/gnomon-http $(DESTDIR)$(PREFIX)/bin/gnomon-http
	install -d $(BASHDIR) $(ZSHDIR)
	for page in $(MANUALS); do \
	  install -D -m 644 $$page $(SHARE)/man/man$${page##*.}/$${page##*/} || exit 1; done
	$(BUILD)/gnomon completion bash >$(BASHDIR)/gnomon
	$(BUILD)/gnomon completion zsh >$(ZSHDIR)/_gnomon
	[ ! -e $(CONTEXT_JAR) ] || install -D -m 644 $(CONTEXT_JAR) $(SHARE)/java/gnomon-context.jar
	install -d $(UNITDIR)
	for unit in $(UNITS); do sed 's,@BINDIR@,$(PREFIX)/bin,' user/service/$$unit >$(UNITDIR)/$$unit || exit 1; done
	install -D -m 644 user/service/gnomon.tmpfiles $(TMPFILES)/gnomon.conf
	install -D -m 644 user/service/gnomon.sysusers $(SYSUSERS)/gnomon.conf
	install -D -m 644 user/service/gnomon.conf $(CONFDIR)/gnomon.conf.sample
	install -D -m 644 user/service/grafana.json $(SHARE)/gnomon/grafana.json

uninstall: ## what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,gnomon gnomon-send gnomon-http) \
	    $(foreach page,$(notdir $(MANUALS)),$(SHARE)/man/man$(subst .,,$(suffix $(page)))/$(page)) \
	    $(BASHDIR)/gnomon $(ZSHDIR)/_gnomon $(addprefix $(UNITDIR)/,$(UNITS)) $(TMPFILES)/gnomon.conf $(SYSUSERS)/gnomon.conf \
	    $(CONFDIR)/gnomon.conf.sample $(SHARE)/gnomon/grafana.json $(SHARE)/java/gnomon-context.jar

clean: ## remove build/
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
