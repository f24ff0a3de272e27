// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "dataplane/generations.h"
#include "dataplane/plane.h"
#include "support/bpf_mount.h"
#include "support/small_tables.h"
#include "support/tiny_program.h"

namespace postern::dataplane {
namespace {

const std::string kVersion = "v" + std::to_string(PT_ABI_VERSION) + "-";  // of pins

namespace fs = std::filesystem;
using testing::BpfMount;
using testing::id_of_map;
using testing::id_of_program;
using testing::passing_program;
using testing::small_tables;

struct Pins {
  BpfMount mount;
  fs::path directory = mount.root / "postern" / "mesh" / "east";

  std::unique_ptr<Plane> open() const {
    Result<std::unique_ptr<Plane>> opened = Plane::open(directory);
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message()));
    return std::move(*opened);
  }
  Error refused() const {
    const Result<std::unique_ptr<Plane>> opened = Plane::open(directory);
    REQUIRE_FALSE(opened);
    return opened.error();
  }
};

bool mentions(const Error& error, std::string_view text) {
  return error.context.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a restarted agent takes over the very maps and programs that it left") {
  const Pins pins;
  __u32 selector = 0;
  __u32 program = 0;
  {
    const auto plane = pins.open();
    CHECK_FALSE(plane->taken_over());
    selector = id_of_map(plane->map_fd("selector"));
    program = id_of_program(plane->program_fd(config::Role::underlay));
    REQUIRE(Generations::open(*plane)->adopt(small_tables(9)));
  }
  const auto again = pins.open();
  CHECK(again->taken_over());
  CHECK(id_of_map(again->map_fd("selector")) == selector);
  CHECK(id_of_program(again->program_fd(config::Role::underlay)) == program);
  Result<Generations> generations = Generations::open(*again);
  REQUIRE(generations);
  CHECK(generations->active() == Generation(1));
  CHECK(generations->read_active()->gateway.serial == 9);
  CHECK_FALSE(generations->adopt(small_tables(9))->changed);
}

TEST_CASE("a map that does not exist has no descriptor") {
  const auto plane = Plane::open_unpinned();
  REQUIRE(plane);
  CHECK_FALSE((*plane)->taken_over());
  CHECK((*plane)->map_fd("no such map") == -1);
  CHECK((*plane)->map_fd("owners6") >= 0);
}

TEST_CASE("pins outside of a BPF file system are refused with the command that mounts one") {
  const Result<std::unique_ptr<Plane>> opened = Plane::open("/tmp/postern-no-bpffs/mesh/east");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == errc::pins);
  CHECK(mentions(opened.error(), "mount -t bpf bpf /tmp"));
  CHECK_FALSE(fs::exists("/tmp/postern-no-bpffs"));
}

TEST_CASE("a set of pins that misses a map is refused, naming it, and left as it is") {
  const Pins pins;
  pins.open();
  fs::remove(pins.directory / (kVersion + "fences"));
  const Error error = pins.refused();
  CHECK(error.code == errc::pins);
  CHECK(mentions(error, "missing " + kVersion + "fences"));
  CHECK(fs::exists(pins.directory / (kVersion + "selector")));
}

TEST_CASE("a missing program pin is made good over the pinned maps") {
  const Pins pins;
  const __u32 selector = id_of_map(pins.open()->map_fd("selector"));
  fs::remove(pins.directory / (kVersion + "pt_local"));
  const auto again = pins.open();
  CHECK(again->taken_over());
  CHECK(id_of_map(again->map_fd("selector")) == selector);
  CHECK(fs::exists(pins.directory / (kVersion + "pt_local")));
}

TEST_CASE("a pinned program of other code is replaced by this build's over the pinned maps") {
  const Pins pins;
  const __u32 selector = id_of_map(pins.open()->map_fd("selector"));
  const UniqueFd former = passing_program();
  const fs::path pin = pins.directory / (kVersion + "pt_underlay");
  fs::remove(pin);
  REQUIRE(::bpf_obj_pin(former.get(), pin.c_str()) == 0);
  const auto again = pins.open();
  const __u32 program = id_of_program(again->program_fd(config::Role::underlay));
  CHECK(program != id_of_program(former.get()));
  CHECK(id_of_map(again->map_fd("selector")) == selector);
  const UniqueFd pinned(::bpf_obj_get(pin.c_str()));
  CHECK(id_of_program(pinned.get()) == program);
}

TEST_CASE("pins of another table version are refused") {
  const Pins pins;
  fs::create_directories(pins.directory);
  const UniqueFd map(::bpf_map_create(BPF_MAP_TYPE_ARRAY, "other", 4, 4, 1, nullptr));
  REQUIRE(::bpf_obj_pin(map.get(), (pins.directory / "v9-selector").c_str()) == 0);
  const Error error = pins.refused();
  CHECK(error.code == errc::abi);
  CHECK(mentions(error, "version 9"));
}

TEST_CASE("a pinned map of another layout is refused though its name says this version") {
  const Pins pins;
  pins.open();
  const UniqueFd map(::bpf_map_create(BPF_MAP_TYPE_ARRAY, "other", 4, 16, 1, nullptr));
  fs::remove(pins.directory / (kVersion + "selector"));
  REQUIRE(::bpf_obj_pin(map.get(), (pins.directory / (kVersion + "selector")).c_str()) == 0);
  CHECK(pins.refused().code == errc::abi);
}

TEST_CASE("a directory that holds something foreign is refused") {
  const Pins pins;
  std::string_view named;
  SUBCASE("a name of nobody's") {
    named = "somebody";
  }
  SUBCASE("a name like ours that is none") {
    named = (kVersion + "somebody");
  }
  pins.open();
  fs::create_directories(pins.directory / named);
  const Error error = pins.refused();
  CHECK(error.code == errc::pins);
  CHECK(mentions(error, named));
}

TEST_CASE("what a crash left while pins were made or removed is swept up") {
  const Pins pins;
  const fs::path making = pins.mount.root / "postern" / "mesh" / "east_making";
  const fs::path removing = pins.mount.root / "postern" / "mesh" / "east_removing";
  const UniqueFd map(::bpf_map_create(BPF_MAP_TYPE_ARRAY, "litter", 4, 4, 1, nullptr));
  for (const fs::path& litter : {making, removing}) {
    fs::create_directories(litter);
    REQUIRE(::bpf_obj_pin(map.get(), (litter / (kVersion + "selector")).c_str()) == 0);
  }
  CHECK_FALSE(pins.open()->taken_over());
  CHECK_FALSE(fs::exists(making));
  CHECK_FALSE(fs::exists(removing));
  CHECK(pins.open()->taken_over());
}

TEST_CASE("a crash while one program pin was replaced does not block the next start") {
  const Pins pins;
  pins.open();
  const UniqueFd former = passing_program();
  REQUIRE(::bpf_obj_pin(former.get(), (pins.directory / (kVersion + "pt_underlay_making")).c_str()) == 0);
  CHECK(pins.open()->taken_over());
}

TEST_CASE("unpinning removes the whole set, and twice is fine") {
  const Pins pins;
  pins.open();
  REQUIRE(Plane::unpin(pins.directory));
  CHECK_FALSE(fs::exists(pins.directory));
  REQUIRE(Plane::unpin(pins.directory));
  CHECK_FALSE(pins.open()->taken_over());
}

}  // namespace postern::dataplane
