# SPDX-License-Identifier: Apache-2.0
# Plain GNU make. `make demo` and `make test` are enough on a fresh Debian 12; everything is built under build/.

VERSION := 0.1.0
BUILD := build
CXX := g++
CLANG := clang
BPFTOOL := $(or $(shell command -v bpftool 2>/dev/null),/usr/sbin/bpftool)
PYTHON := /usr/bin/python3

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

# ---- what Debian brings -----------------------------------------------------------------------------------------

PACKAGES_BUILD := g++ clang llvm bpftool libbpf-dev libxdp-dev linux-libc-dev libelf-dev libsodium-dev \
  libsimdjson-dev libyaml-cpp-dev libcli11-dev libspdlog-dev libfmt-dev libasio-dev libexpected-dev libnl-3-dev \
  libnl-route-3-dev libnftables-dev prometheus-cpp-dev libcpp-httplib-dev libcurl4-openssl-dev \
  libxxhash-dev pkg-config
PACKAGES_TEST := doctest-dev python3 python3-pytest python3-scapy iproute2 nftables iputils-ping ethtool tcpdump iperf3 strace \
  prometheus procps util-linux e2fsprogs curl jq git openssl wireguard-tools wireguard-go mold
# For the rig that loses writes: a FUSE file under a loop device under ext4 and xfs.
PACKAGES_RIG := python3-fusepy fuse3 xfsprogs
# Only `make bench` needs what the journal is measured against.
PACKAGES_BENCH := libsqlite3-dev librocksdb-dev liblmdb-dev
# For `make test-vm`, which boots Debian's own kernel in QEMU.
PACKAGES_VM := qemu-system-x86 mmdebstrap e2fsprogs cpio kmod
PACKAGES_LINT := clang-format clang-tidy
PACKAGES_FUZZ := libclang-rt-14-dev

DEPS := $(BUILD)/.deps
.PHONY: deps
deps: $(DEPS)
$(DEPS): Makefile deploy/install-packages
	@deploy/install-packages $(PACKAGES_BUILD) $(PACKAGES_TEST) $(PACKAGES_RIG) $(PACKAGES_LINT) $(PACKAGES_FUZZ)
	@mkdir -p $(@D) && touch $@

# ---- flags ------------------------------------------------------------------------------------------------------

# GCC 12 sees overruns in std::string's own concatenation that are not there (GCC PR 105651); ASan looks for real ones.
WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Werror -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
CXXFLAGS := -std=c++20 -O2 -g1 -fno-omit-frame-pointer -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE $(WARNINGS)
SANFLAGS := -std=c++20 -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all $(WARNINGS)
CPPFLAGS := -Iuserspace -Ibpf -I$(BUILD)/gen -DPOSTERN_VERSION='"$(VERSION)"' \
  -DSPDLOG_COMPILED_LIB -DSPDLOG_SHARED_LIB -DSPDLOG_FMT_EXTERNAL -DASIO_STANDALONE -I/usr/include/libnl3
LDLIBS := -lsodium -lsimdjson -lyaml-cpp -lxdp -lbpf -lelf -lnl-route-3 -lnl-3 -lnftables -lspdlog -lfmt \
  -lprometheus-cpp-core -lcpp-httplib -lcurl -lxxhash -lpthread
LDFLAGS := -pie -Wl,-z,relro,-z,now
# Test programs are large and many; this linker takes a fifth of the other's time.
TEST_LDFLAGS := -fuse-ld=mold
BPFFLAGS := -O2 -g -target bpf -mcpu=v3 -Ibpf -I/usr/include/$(shell uname -m)-linux-gnu -Wall -Wextra -Werror \
  -Wno-unused-parameter -Wno-address-of-packed-member

# ---- packet path ------------------------------------------------------------------------------------------------

SKELETON := $(patsubst bpf/%.bpf.c,$(BUILD)/gen/%.skel.h,$(wildcard bpf/*.bpf.c))
.PHONY: bpf
bpf: $(SKELETON)
$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h) | $(DEPS)
	@mkdir -p $(@D)
	@echo "  BPF    $<"
	@$(CLANG) $(BPFFLAGS) -c $< -o $@
.PRECIOUS: $(BUILD)/bpf/%.bpf.o
# The packet path once more, compiled to explain.
$(BUILD)/bpf/explain.bpf.o: bpf/gateway.bpf.c
$(BUILD)/gen/%.skel.h: $(BUILD)/bpf/%.bpf.o
	@mkdir -p $(@D)
	@$(BPFTOOL) gen skeleton $< name $*_bpf > $@

# ---- agent and command-line tool --------------------------------------------------------------------------------

LIB_MODULES := core wire config authority ledger mesh sync claims dataplane observe agent
LIB_SOURCES := $(filter-out %/main.cpp,$(foreach m,$(LIB_MODULES),$(wildcard userspace/$(m)/*.cpp)))
AGENT_SOURCES := userspace/agent/main.cpp
CLI_SOURCES := $(wildcard userspace/cli/*.cpp)

lib_objects = $(LIB_SOURCES:%.cpp=$(BUILD)/$(1)/%.o)
AGENT_OBJECTS := $(AGENT_SOURCES:%.cpp=$(BUILD)/release/%.o)
CLI_OBJECTS := $(CLI_SOURCES:%.cpp=$(BUILD)/release/%.o)

.PHONY: all userspace
all: userspace
userspace: $(BUILD)/posternd $(BUILD)/postern

# A precompiled header a set of flags; a file with other flags (the tests) passes it by.
PRECOMPILED := userspace/core/precompiled.h
$(BUILD)/release/precompiled.h.gch: $(PRECOMPILED) | $(DEPS)
	@mkdir -p $(@D)
	@$(CXX) $(CXXFLAGS) -x c++-header $< -o $@
$(BUILD)/asan/precompiled.h.gch: $(PRECOMPILED) | $(DEPS)
	@mkdir -p $(@D)
	@$(CXX) $(SANFLAGS) -x c++-header $< -o $@
# The text beside it is what a compiler reads that cannot use the precompiled form.
$(BUILD)/%/precompiled.h: $(BUILD)/%/precompiled.h.gch
	@cp $(PRECOMPILED) $@
.PRECIOUS: $(BUILD)/%/precompiled.h $(BUILD)/%/precompiled.h.gch

$(BUILD)/release/%.o: %.cpp | $(DEPS) $(SKELETON) $(BUILD)/release/precompiled.h
	@mkdir -p $(@D)
	@echo "  CXX    $<"
	@$(CXX) -include $(BUILD)/release/precompiled.h $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -c $< -o $@
# The tool waits for the disk, the agent or its user; CLI11 is what its compiler works at.
$(BUILD)/release/userspace/cli/%.o: CXXFLAGS += -O1
$(BUILD)/asan/%.o: %.cpp | $(DEPS) $(SKELETON) $(BUILD)/asan/precompiled.h
	@mkdir -p $(@D)
	@echo "  ASAN   $<"
	@$(CXX) -include $(BUILD)/asan/precompiled.h $(CPPFLAGS) $(SANFLAGS) -MMD -MP -c $< -o $@
# Tests are compiled quickly, what they test as it ships. Under the sanitizers tests are checked for bad memory
# accesses, what they test for undefined behaviour too.
TESTFLAGS := -std=c++20 -O0 -g1 -fno-omit-frame-pointer $(WARNINGS)
TEST_CPPFLAGS := $(CPPFLAGS) -Itest -DDOCTEST_CONFIG_SUPER_FAST_ASSERTS
define test_rules
$(BUILD)/$(1)/test/precompiled.h.gch: $(PRECOMPILED) | $(DEPS)
	@mkdir -p $$(@D)
	@$$(CXX) $$(TESTFLAGS) $(2) -x c++-header $$< -o $$@
$(BUILD)/$(1)/test/precompiled.h: $(BUILD)/$(1)/test/precompiled.h.gch
	@cp $(PRECOMPILED) $$@
$(BUILD)/$(1)/test/%.o: test/%.cpp | $(DEPS) $(SKELETON) $(BUILD)/$(1)/test/precompiled.h
	@mkdir -p $$(@D)
	@echo "  TEST   $$<"
	@$$(CXX) -include $(BUILD)/$(1)/test/precompiled.h $$(TEST_CPPFLAGS) $$(TESTFLAGS) $(2) -MMD -MP -c $$< -o $$@
endef
$(eval $(call test_rules,release,-fPIE))
$(eval $(call test_rules,asan,-fsanitize=address -fno-sanitize-recover=all))

$(BUILD)/libpostern.a: $(call lib_objects,release)
	@rm -f $@ && $(AR) crs $@ $^
$(BUILD)/libpostern-asan.a: $(call lib_objects,asan)
	@rm -f $@ && $(AR) crs $@ $^
$(BUILD)/posternd: $(AGENT_OBJECTS) $(BUILD)/libpostern.a
	@echo "  LINK   $@"
	@$(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(BUILD)/postern: $(CLI_OBJECTS) $(BUILD)/libpostern.a
	@echo "  LINK   $@"
	@$(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@

# ---- tests ------------------------------------------------------------------------------------------------------

UNIT_SOURCES := $(wildcard test/unit/*.cpp test/unit/*/*.cpp test/support/*.cpp test/sim/simulated_*.cpp)
BPF_TEST_SOURCES := $(wildcard test/bpf/*.cpp test/support/*.cpp)

# The library's copies of inline functions come first: they are the ones with both sanitizers.
$(BUILD)/test-unit: $(BUILD)/libpostern-asan.a $(UNIT_SOURCES:%.cpp=$(BUILD)/asan/%.o)
	@echo "  LINK   $@"
	@$(CXX) $(TEST_LDFLAGS) -fsanitize=address,undefined -Wl,--whole-archive $< -Wl,--no-whole-archive $(filter %.o,$^) $(LDLIBS) -o $@
$(BUILD)/test-bpf: $(BPF_TEST_SOURCES:%.cpp=$(BUILD)/release/%.o) $(BUILD)/libpostern.a
	@echo "  LINK   $@"
	@$(CXX) $(TEST_LDFLAGS) $(LDFLAGS) $^ $(LDLIBS) -o $@

# Where threads meet, under ThreadSanitizer.
TSAN_MODULES := core wire ledger sync
# What the ledger needs of the authority: signed revocations.
LEDGER_AUTHORITY := $(addprefix userspace/authority/,envelope.cpp revocation.cpp root_codec.cpp)
TSAN_SOURCES := $(foreach m,$(TSAN_MODULES),$(wildcard userspace/$(m)/*.cpp)) $(LEDGER_AUTHORITY) test/unit/main.cpp \
  $(addprefix test/unit/ledger/,group_commit_test.cpp journal_image.cpp recording_directory.cpp scratch_journal.cpp) \
  test/unit/sync/verify_pool_test.cpp userspace/agent/orders.cpp test/unit/agent/orders_test.cpp
$(BUILD)/tsan/%.o: %.cpp | $(DEPS)
	@mkdir -p $(@D)
	@echo "  TSAN   $<"
	@$(CXX) $(TEST_CPPFLAGS) -std=c++20 -O1 -g1 -fno-omit-frame-pointer -fsanitize=thread $(WARNINGS) -Wno-maybe-uninitialized -Wno-tsan -MMD -MP -c $< -o $@
$(BUILD)/test-tsan: $(TSAN_SOURCES:%.cpp=$(BUILD)/tsan/%.o)
	@echo "  LINK   $@"
	@$(CXX) $(TEST_LDFLAGS) -fsanitize=thread $^ -lsodium -lsimdjson -lxxhash -lpthread -o $@

# The fuzzers' bodies over their corpora and a fixed number of mutations, as the unit tests are built.
REPLAYS := $(patsubst test/fuzz/corpus/%,$(BUILD)/replay-%,$(wildcard test/fuzz/corpus/*))
$(BUILD)/replay-%: $(BUILD)/asan/test/fuzz/fuzz_%.o $(BUILD)/asan/test/fuzz/replay.o \
    $(BUILD)/asan/test/support/reference_json.o $(BUILD)/libpostern-asan.a
	@echo "  LINK   $@"
	@$(CXX) $(TEST_LDFLAGS) -fsanitize=address,undefined $^ $(LDLIBS) -o $@
.PRECIOUS: $(BUILD)/asan/test/fuzz/%.o

# The journal and what it stands on, for programs that need no more.
LEDGER_OBJECTS := $(foreach m,core wire ledger,$(patsubst %.cpp,$(BUILD)/release/%.o,$(wildcard userspace/$(m)/*.cpp))) \
  $(LEDGER_AUTHORITY:%.cpp=$(BUILD)/release/%.o)
LEDGER_LDLIBS := -lsodium -lsimdjson -lxxhash -lpthread
$(BUILD)/journal-driver: $(BUILD)/release/test/crash/journal_driver.o $(LEDGER_OBJECTS)
	@echo "  LINK   $@"
	@$(CXX) $(TEST_LDFLAGS) $(LDFLAGS) $^ $(LEDGER_LDLIBS) -o $@

# Crashes on simulated disks. One program has the journal compiled once more, with segments so small that rolls and
# compactions come often; the other has it as it ships.
SIMULATION_SOURCES := $(wildcard test/sim/*.cpp)
COMPILE_SIMULATION = $(CXX) -include $(BUILD)/release/precompiled.h $(CPPFLAGS) $(CXXFLAGS) -Itest -MMD -MP
$(BUILD)/simulation/%.o: %.cpp | $(DEPS) $(BUILD)/release/precompiled.h
	@mkdir -p $(@D)
	@echo "  SIM    $<"
	@$(COMPILE_SIMULATION) -DPOSTERN_SIMULATED_SEGMENT_BYTES=65536 -c $< -o $@
$(BUILD)/simulation-8m/%.o: %.cpp | $(DEPS) $(BUILD)/release/precompiled.h
	@mkdir -p $(@D)
	@echo "  SIM 8M $<"
	@$(COMPILE_SIMULATION) -c $< -o $@
$(BUILD)/journal-simulation: $(SIMULATION_SOURCES:%.cpp=$(BUILD)/simulation/%.o) \
  $(LEDGER_OBJECTS:$(BUILD)/release/userspace/ledger/%=$(BUILD)/simulation/userspace/ledger/%)
$(BUILD)/journal-simulation-8m: $(SIMULATION_SOURCES:%.cpp=$(BUILD)/simulation-8m/%.o) $(LEDGER_OBJECTS)
# Whole gateways on such disks, with segments that small too.
MESH_SOURCES := $(addprefix test/sim/mesh/,exchange_memo.cpp gateway.cpp oracle.cpp paced_journal.cpp signature_memo.cpp) $(addprefix test/sim/simulated_,directory.cpp disk.cpp)
MESH_SIMULATION_SOURCES := $(MESH_SOURCES) $(addprefix test/sim/mesh/,life.cpp meddling.cpp mesh_simulation.cpp sealed_uplink.cpp shrinker.cpp wires.cpp)
STORY_SOURCES := $(MESH_SOURCES) $(addprefix test/sim/mesh/,network.cpp shrinker.cpp) $(wildcard test/sim/stories/*.cpp) test/unit/main.cpp
MESH_OBJECTS := $(foreach m,core wire config authority mesh sync claims,$(patsubst %.cpp,$(BUILD)/release/%.o,$(wildcard userspace/$(m)/*.cpp))) \
  $(patsubst %.cpp,$(BUILD)/simulation/%.o,$(wildcard userspace/ledger/*.cpp))
$(BUILD)/mesh-simulation: $(MESH_SIMULATION_SOURCES:%.cpp=$(BUILD)/simulation/%.o) $(MESH_OBJECTS)
$(BUILD)/test-stories: $(STORY_SOURCES:%.cpp=$(BUILD)/simulation/%.o) $(MESH_OBJECTS)
COMMA := ,
MEMOS := $(addprefix -Wl$(COMMA)--wrap=,crypto_sign_verify_detached crypto_sign_detached crypto_scalarmult_base crypto_scalarmult \
  sodium_malloc sodium_free)
$(BUILD)/mesh-simulation $(BUILD)/test-stories:
	@echo "  LINK   $@"
	@$(CXX) $(TEST_LDFLAGS) $(LDFLAGS) $(MEMOS) $^ $(LEDGER_LDLIBS) -lyaml-cpp -o $@
$(BUILD)/journal-simulation $(BUILD)/journal-simulation-8m:
	@echo "  LINK   $@"
	@$(CXX) $(TEST_LDFLAGS) $(LDFLAGS) $^ $(LEDGER_LDLIBS) -o $@

# A wrong wall clock for one process of a lab.
$(BUILD)/stepped-clock.so: test/support/stepped_clock.cpp | $(DEPS)
	@mkdir -p $(@D)
	@echo "  LINK   $@"
	@$(CXX) -std=c++20 -O2 $(WARNINGS) -shared -fPIC $< -o $@

# All that tries to let a stale owner win.
.PHONY: claim_fencing_tests
claim_fencing_tests: tests-built
	@$(BUILD)/test-unit -tc='*claim*,*multi_stream_convergence*,*beat*'
	@$(BUILD)/test-stories
	@$(BUILD)/mesh-simulation --seeds 10000 --jobs $(shell nproc)
	@$(PYTHON) -B -m pytest -q -p no:cacheprovider test/e2e/test_claims*.py

# All that tries to make the journal lose something.
.PHONY: journal_durability_tests
journal_durability_tests: tests-built
	@$(BUILD)/test-unit -ts=journal_durability_tests
	@test/run crash

TEST_TIERS := unit stories fuzz tsan bpf e2e crash
.PHONY: test $(TEST_TIERS:%=test-%) tests-built
tests-built: all $(REPLAYS) $(BUILD)/test-unit $(BUILD)/test-tsan $(BUILD)/test-bpf $(BUILD)/journal-driver $(BUILD)/journal-simulation \
  $(BUILD)/journal-simulation-8m $(BUILD)/mesh-simulation $(BUILD)/test-stories $(BUILD)/stepped-clock.so
test: tests-built
	@test/run $(TEST_TIERS)
$(TEST_TIERS:%=test-%): test-%: tests-built
	@test/run $*

# Not among `make test`: a software CPU is slow, and its image is some minutes' work, once.
VM_DEPS := $(BUILD)/.deps-vm
$(VM_DEPS): Makefile deploy/install-packages
	@deploy/install-packages $(PACKAGES_VM)
	@mkdir -p $(@D) && touch $@
.PHONY: test-vm
test-vm: all $(BUILD)/test-bpf | $(VM_DEPS)
	@TIER_TIMEOUT_S=7200 test/run vm

.PHONY: demo
demo: all
	@KEEP=$(KEEP) $(PYTHON) -B deploy/demo/demo.py

.PHONY: mutants
mutants: $(SKELETON)
	@CXX='$(CXX)' $(PYTHON) -B test/mutants/run.py $(MUTANT)

# Each check of the packet path left out, one at a time; `make sweep FILES="own.h policy.h"` of these files alone.
.PHONY: sweep
sweep: $(BUILD)/test-bpf
	@CXX='$(CXX)' $(PYTHON) -B test/mutants/sweep.py $(FILES)

# ---- measurements -----------------------------------------------------------------------------------------------

BENCH_OBJECTS := $(addprefix $(BUILD)/release/,bench/datapath.o test/bpf/mesh.o test/bpf/network.o test/support/frame.o)
$(BUILD)/release/bench/%.o: CPPFLAGS += -Ibench -Itest -Itest/bpf
$(BUILD)/bench-datapath: $(BENCH_OBJECTS) $(BUILD)/libpostern.a
	@echo "  LINK   $@"
	@$(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@
BENCH_DEPS := $(BUILD)/.deps-bench
$(BENCH_DEPS): Makefile deploy/install-packages
	@deploy/install-packages $(PACKAGES_BENCH)
	@mkdir -p $(@D) && touch $@
BENCH_JOURNAL_OBJECTS := $(addprefix $(BUILD)/release/bench/,journal.o stores.o)
$(BENCH_JOURNAL_OBJECTS): | $(BENCH_DEPS)
$(BUILD)/bench-journal: $(BENCH_JOURNAL_OBJECTS) $(LEDGER_OBJECTS)
	@echo "  LINK   $@"
	@$(CXX) $(LDFLAGS) $^ $(LEDGER_LDLIBS) -lsqlite3 -lrocksdb -llmdb -o $@
$(BUILD)/bench-snapshot: $(BUILD)/release/bench/snapshot.o $(BUILD)/libpostern.a
	@echo "  LINK   $@"
	@$(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@
$(BUILD)/bench-fold: $(BUILD)/release/bench/fold.o $(LEDGER_OBJECTS)
	@echo "  LINK   $@"
	@$(CXX) $(LDFLAGS) $^ $(LEDGER_LDLIBS) -o $@
$(BUILD)/bench-sync: $(BUILD)/release/bench/sync.o $(BUILD)/libpostern.a
	@echo "  LINK   $@"
	@$(CXX) $(LDFLAGS) $^ $(LDLIBS) -o $@
# Minutes of waiting for leases to run out; and two large meshes in memory.
.PHONY: bench-failover bench-restart bench-resources
bench-resources: all
	@$(PYTHON) -B bench/resources.py
bench-failover: all
	@$(PYTHON) -B bench/failover.py
bench-restart: all
	@$(PYTHON) -B bench/restart.py
.PHONY: bench
bench: $(BUILD)/bench-datapath $(BUILD)/bench-journal $(BUILD)/bench-fold $(BUILD)/bench-sync $(BUILD)/bench-snapshot
	@$(BUILD)/bench-datapath
	@$(BUILD)/bench-journal
	@$(BUILD)/bench-fold
	@$(BUILD)/bench-sync
	@$(BUILD)/bench-snapshot

# What a change must pass before it is taken in: fuzzers for 60 s each, besides all tests.
.PHONY: ci
ci: lint
	@$(MAKE) test
	@$(MAKE) fuzz

# Long runs: the same suites with NIGHTLY=1, the stock kernel, every mutant, an hour of fuzzing.
.PHONY: nightly
nightly: tests-built
	@$(BUILD)/journal-simulation --crashes 1000000 --jobs $(shell nproc)
	@$(BUILD)/mesh-simulation --seeds 1000000 --jobs $(shell nproc)
	@NIGHTLY=1 test/run $(TEST_TIERS)
	@$(MAKE) test-vm
	@$(MAKE) mutants
	@$(MAKE) sweep
	@$(MAKE) fuzz FUZZ_SECONDS=720

# ---- fuzzers: clang, libFuzzer, the parsers' own objects with coverage ------------------------------------------

FUZZ_SECONDS := 60
FUZZERS := $(patsubst test/fuzz/%.cpp,$(BUILD)/fuzz/%,$(wildcard test/fuzz/fuzz_*.cpp))
FUZZ_MODULES := core wire config authority mesh
FUZZ_OBJECTS := $(patsubst %.cpp,$(BUILD)/fuzz/%.o,$(foreach m,$(FUZZ_MODULES),$(wildcard userspace/$(m)/*.cpp)) \
  test/support/reference_json.cpp)
# The journal's fuzzer opens journals on the simulated disk, with small segments.
FUZZ_JOURNAL := $(patsubst %.cpp,$(BUILD)/fuzz/%.o,$(wildcard userspace/ledger/*.cpp test/sim/simulated_*.cpp) \
  test/sim/journals.cpp)
.SECONDARY: $(FUZZ_OBJECTS) $(FUZZ_JOURNAL) $(BUILD)/fuzz/userspace/sync/message.o $(BUILD)/fuzz/userspace/sync/snapshot_message.o $(BUILD)/fuzz/userspace/claims/beat.o
$(BUILD)/fuzz/fuzz_journal: $(FUZZ_JOURNAL)
$(BUILD)/fuzz/fuzz_sync: $(BUILD)/fuzz/userspace/sync/message.o $(BUILD)/fuzz/userspace/sync/snapshot_message.o
$(BUILD)/fuzz/fuzz_beat: $(BUILD)/fuzz/userspace/claims/beat.o
$(BUILD)/fuzz/%: CPPFLAGS += -Itest -DPOSTERN_SIMULATED_SEGMENT_BYTES=65536
FUZZFLAGS := -std=c++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all
$(BUILD)/fuzz/%.o: %.cpp | $(DEPS)
	@mkdir -p $(@D)
	@echo "  FUZZ   $<"
	@$(CLANG)++ $(CPPFLAGS) -Itest $(FUZZFLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c $< -o $@
$(BUILD)/fuzz/fuzz_%: test/fuzz/fuzz_%.cpp $(FUZZ_OBJECTS)
	@$(CLANG)++ $(CPPFLAGS) -Itest $(FUZZFLAGS) -fsanitize=fuzzer $^ -lsodium -lsimdjson -lyaml-cpp -lxxhash -o $@
.PHONY: fuzz
fuzz: $(FUZZERS)
	@for f in $^; do echo "== $$f, $(FUZZ_SECONDS) s"; mkdir -p $$f.corpus; \
	  $$f -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
	    -artifact_prefix=$$f. $$f.corpus $$(ls -d test/fuzz/corpus/$${f##*fuzz_} 2>/dev/null) 2>&1 | grep -E 'stat::|ERROR|SUMMARY|BINGO' || exit 1; \
	done

# ---- form -------------------------------------------------------------------------------------------------------

CXX_FILES := $(wildcard userspace/*/*.h userspace/*/*.cpp test/*/*.h test/*/*.cpp test/unit/*/*.cpp)
BPF_FILES := $(wildcard bpf/*.h bpf/*.c)
.PHONY: lint format
lint: $(SKELETON) | $(DEPS)
	@$(PYTHON) -B test/lint/source_tree.py
	@clang-format --dry-run -Werror $(CXX_FILES) $(BPF_FILES)
	@printf '%s\n' $(filter %.cpp,$(CXX_FILES)) | xargs -P $(shell nproc) -n 4 sh -c \
	  'clang-tidy --quiet "$$@" -- $(subst ','\'',$(CPPFLAGS)) -Itest -std=c++20 2>/dev/null' lint
	@echo "lint: clean"
format: | $(DEPS)
	@clang-format -i $(CXX_FILES) $(BPF_FILES)

.PHONY: clean
clean:
	@rm -rf $(BUILD)

.PHONY: config deploy docs
config: all
	@$(BUILD)/postern config check config/postern.yaml
deploy:
	@sh -n deploy/install-packages && $(PYTHON) -B -m py_compile deploy/demo/demo.py && rm -rf deploy/demo/__pycache__
docs:
	@$(PYTHON) -B test/lint/source_tree.py --write

PREFIX := /usr
.PHONY: install
install: all
	install -D -m 755 $(BUILD)/posternd $(DESTDIR)$(PREFIX)/sbin/posternd
	install -D -m 755 $(BUILD)/postern $(DESTDIR)$(PREFIX)/bin/postern
	install -D -m 644 deploy/systemd/posternd.service $(DESTDIR)/etc/systemd/system/posternd.service
	install -D -m 644 config/postern.yaml $(DESTDIR)$(PREFIX)/share/doc/postern/postern.yaml
	install -D -m 644 config/policy.yaml $(DESTDIR)$(PREFIX)/share/doc/postern/policy.yaml

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
