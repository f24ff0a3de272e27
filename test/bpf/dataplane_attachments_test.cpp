// SPDX-License-Identifier: Apache-2.0
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/if_link.h>

#include "core/unique_fd.h"
#include "dataplane/attachments.h"
#include "dataplane/errors.h"
#include "support/bpf_mount.h"
#include "support/fresh_netns.h"
#include "support/tiny_program.h"

namespace postern::dataplane {
namespace {

using testing::FreshNetns;
using testing::id_of_program;
using testing::passing_program;

struct Fixture {
  FreshNetns netns;
  std::unique_ptr<Plane> plane = [] {
    Result<std::unique_ptr<Plane>> opened = Plane::open_unpinned();
    REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message()));
    return std::move(*opened);
  }();
  SitePort up0;

  Fixture() {
    netns.add_veth("up0", "far0");
    up0 = port("up0", config::Role::underlay);
  }
  static SitePort port(const std::string& name, config::Role role) {
    return {name, IfIndex(::if_nametoindex(name.c_str())), role, "blue", 0};
  }
  Attachment attached(const SitePort& where, bool allow_generic = false) const {
    Result<Attachment> out = attach(*plane, where, allow_generic);
    REQUIRE_MESSAGE(out, (out ? "" : out.error().message()));
    return *out;
  }
  __u32 running(const SitePort& where) const {
    __u32 id = 0;
    REQUIRE(::bpf_xdp_query_id(static_cast<int>(where.ifindex.value), 0, &id) == 0);
    return id;
  }
  // Alone, or in the dispatcher, where the kernel has it: test/vm/test_dispatcher.py looks into that.
  bool runs(const SitePort& where, config::Role role) const {
    const __u32 id = running(where);
    const UniqueFd program(::bpf_prog_get_fd_by_id(id));
    bpf_prog_info info{};
    __u32 bytes = sizeof info;
    REQUIRE(::bpf_obj_get_info_by_fd(program.get(), &info, &bytes) == 0);
    return id == id_of_program(plane->program_fd(role)) || std::string_view(info.name) == "xdp_dispatcher";
  }
  void attach_by_hand(const SitePort& where, int program) const {
    REQUIRE(::bpf_xdp_attach(static_cast<int>(where.ifindex.value), program, XDP_FLAGS_DRV_MODE, nullptr) ==
            0);
  }
  bool may_leave_by(const char* map, const SitePort& where) const {
    __u32 value = 0;
    return ::bpf_map_lookup_elem(plane->map_fd(map), &where.ifindex.value, &value) == 0;
  }
};

}  // namespace

TEST_CASE("a program is attached in native mode, once, and its interface may be left by") {
  const Fixture f;
  const Attachment first = f.attached(f.up0);
  CHECK(first.changed);
  CHECK(first.mode == XdpMode::native);
  CHECK(f.runs(f.up0, config::Role::underlay));
  CHECK(f.may_leave_by("egress_underlay", f.up0));
  CHECK_FALSE(f.may_leave_by("egress_local", f.up0));
  const Attachment second = f.attached(f.up0);
  CHECK_FALSE(second.changed);
  CHECK(second.mode == XdpMode::native);
  CHECK(attached_mode(*f.plane, f.up0.ifindex) == XdpMode::native);
}

TEST_CASE("a foreign XDP program is neither replaced nor detached, and is named") {
  const Fixture f;
  const UniqueFd other = passing_program();
  f.attach_by_hand(f.up0, other.get());
  const Result<Attachment> refused = attach(*f.plane, f.up0, true);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::attach);
  CHECK(refused.error().context.find("up0") != std::string::npos);
  CHECK(refused.error().context.find("id " + std::to_string(id_of_program(other.get()))) !=
        std::string::npos);
  CHECK(attached_mode(*f.plane, f.up0.ifindex) == XdpMode::none);
  REQUIRE(detach(*f.plane, f.up0.ifindex));
  CHECK(f.running(f.up0) == id_of_program(other.get()));
}

TEST_CASE("our former program is replaced by this build's") {
  const Fixture f;
  const UniqueFd former = passing_program(f.plane->map_fd("selector"));
  f.attach_by_hand(f.up0, former.get());
  CHECK(attached_mode(*f.plane, f.up0.ifindex) == XdpMode::native);
  CHECK(f.attached(f.up0).changed);
  CHECK(f.running(f.up0) == id_of_program(f.plane->program_fd(config::Role::underlay)));
}

TEST_CASE("an interface that changed its role gets the other program") {
  const Fixture f;
  f.attached(f.up0);
  SitePort local = f.up0;
  local.role = config::Role::local;
  CHECK(f.attached(local).changed);
  CHECK(f.runs(f.up0, config::Role::local));
}

TEST_CASE("a detached program is off, also when it was taken off by hand") {
  const Fixture f;
  f.attached(f.up0);
  SUBCASE("by us") {
    REQUIRE(detach(*f.plane, f.up0.ifindex));
  }
  SUBCASE("by hand") {
    f.netns.run("ip link set up0 xdp off");
  }
  CHECK(f.running(f.up0) == 0);
  CHECK(attached_mode(*f.plane, f.up0.ifindex) == XdpMode::none);
  REQUIRE(detach(*f.plane, f.up0.ifindex));
  CHECK(f.attached(f.up0).changed);
}

TEST_CASE("generic mode is used only where it is allowed") {
  const Fixture f;
  f.netns.run("ip link add mac0 link far0 type macvlan");
  f.netns.run("ip link set mac0 up");
  const SitePort mac0 = Fixture::port("mac0", config::Role::local);
  const Result<Attachment> refused = attach(*f.plane, mac0, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::attach);
  CHECK(refused.error().context.find("xdp: {generic: true}") != std::string::npos);
  CHECK(attached_mode(*f.plane, mac0.ifindex) == XdpMode::none);
  CHECK(f.attached(mac0, true).mode == XdpMode::generic);
  CHECK_FALSE(f.attached(mac0, false).changed);
  CHECK(attached_mode(*f.plane, mac0.ifindex) == XdpMode::generic);
  REQUIRE(detach(*f.plane, mac0.ifindex));
  CHECK(attached_mode(*f.plane, mac0.ifindex) == XdpMode::none);
}

TEST_CASE("an interface that is gone is an error, not a success") {
  const Fixture f;
  const SitePort gone{"gone0", IfIndex(4242), config::Role::underlay, "", 0};
  const Result<Attachment> refused = attach(*f.plane, gone, true);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::attach);
  CHECK(attached_mode(*f.plane, gone.ifindex) == XdpMode::none);
}

TEST_CASE("a program outlives the agent that attached it, and the next one leaves it as it is") {
  const testing::BpfMount mount;
  const FreshNetns netns;
  netns.add_veth("up0", "far0");
  const SitePort up0 = Fixture::port("up0", config::Role::underlay);
  const auto directory = mount.root / "mesh" / "east";
  {
    const auto plane = Plane::open(directory);
    REQUIRE(plane);
    REQUIRE(attach(**plane, up0, false));
  }
  const auto again = Plane::open(directory);
  REQUIRE(again);
  CHECK(attached_mode(**again, up0.ifindex) == XdpMode::native);
  const Result<Attachment> attachment = attach(**again, up0, false);
  REQUIRE(attachment);
  CHECK_FALSE(attachment->changed);
}

TEST_CASE("packets may leave by exactly the configured interfaces of each role") {
  const Fixture f;
  f.netns.add_veth("in0", "far1");
  const SitePort in0 = Fixture::port("in0", config::Role::local);
  REQUIRE(set_egress(*f.plane, {f.up0, in0}));
  CHECK(f.may_leave_by("egress_underlay", f.up0));
  CHECK(f.may_leave_by("egress_local", in0));
  SitePort moved = f.up0;
  moved.role = config::Role::local;
  REQUIRE(set_egress(*f.plane, {moved}));
  CHECK_FALSE(f.may_leave_by("egress_underlay", f.up0));
  CHECK(f.may_leave_by("egress_local", f.up0));
  CHECK_FALSE(f.may_leave_by("egress_local", in0));
}

// A frozen map takes no writes from here. The kernel has no way to replace an entry of a devmap at once: a
// packet that comes between the old and the new one is dropped, at an agent's start, of all times.
TEST_CASE("an interface that packets may leave by already is not written again") {
  const Fixture f;
  f.netns.add_veth("in0", "far1");
  const SitePort in0 = Fixture::port("in0", config::Role::local);
  f.attached(f.up0);
  f.attached(in0);
  for (const char* map : {"egress_underlay", "egress_local"})
    REQUIRE(::bpf_map_freeze(f.plane->map_fd(map)) == 0);
  SUBCASE("when all is as it was") {
    CHECK_FALSE(f.attached(f.up0).changed);
    CHECK_FALSE(f.attached(in0).changed);
  }
  SUBCASE("when the program is another build's") {
    const UniqueFd former = passing_program(f.plane->map_fd("selector"));
    f.attach_by_hand(f.up0, former.get());
    CHECK(f.attached(f.up0).changed);
  }
  CHECK(set_egress(*f.plane, {f.up0, in0}));
}

TEST_CASE("an interface of another namespace is not left by because it has the same number") {
  const Fixture f;
  f.attached(f.up0);
  UniqueFd second;
  {
    const FreshNetns other;
    second = UniqueFd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    other.add_veth("up0", "far0");
    const SitePort namesake = Fixture::port("up0", config::Role::underlay);
    REQUIRE(namesake.ifindex == f.up0.ifindex);
    CHECK(f.attached(namesake).changed);
  }
  f.netns.run("ip link delete up0");  // its entry goes with it
  CHECK(f.may_leave_by("egress_underlay", f.up0));
}

}  // namespace postern::dataplane
