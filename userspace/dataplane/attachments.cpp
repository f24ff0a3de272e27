// SPDX-License-Identifier: Apache-2.0
// A program is ours when it uses our selector: that holds for this build's program, for the one of an earlier
// build that is still attached after an upgrade, and for nothing else. So nothing needs to be remembered
// across restarts to tell an old program of ours, which is replaced, from a foreign one, which is never
// touched. Replacing and detaching name the program they expect to find, and the kernel refuses if another
// one came in between.
//
// In a dispatcher the program is a copy that libxdp loaded, on the same tables; the kernel's tag of its code
// tells whether it is this build's. Where the kernel has no dispatcher, the pinned program is attached alone.
#include "dataplane/attachments.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <xdp/libxdp.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <set>

#include "core/unique_fd.h"
#include "dataplane/dispatcher.h"
#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"
#include "dataplane/kernel_log.h"

namespace postern::dataplane {
namespace {

struct MultiprogDeleter {
  void operator()(xdp_multiprog* programs) const { ::xdp_multiprog__close(programs); }
};

struct Occupant {
  XdpMode mode = XdpMode::none;
  __u32 id = 0;  // of the program that the interface runs, a dispatcher perhaps
  bool dispatcher = false;
  std::vector<__u32> ours;  // ids of our programs: one, or two in a dispatcher when an upgrade was cut short
  bool alone() const { return ours == std::vector<__u32>{id}; }
};

int as_int(IfIndex ifindex) {
  return static_cast<int>(ifindex.value);
}

__u32 flags_of(XdpMode mode) {
  return mode == XdpMode::generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

Result<bpf_prog_info> program_info(int fd) {
  bpf_prog_info info{};
  __u32 size = sizeof info;
  if (::bpf_obj_get_info_by_fd(fd, &info, &size) == 0) return info;
  return kernel_error(errc::attach, "cannot look at our XDP program", errno);
}

Result<__u32> selector_id(const Plane& plane) {
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (::bpf_obj_get_info_by_fd(plane.map_fd("selector"), &info, &size) == 0) return info.id;
  return kernel_error(errc::attach, "cannot look at table selector", errno);
}

// Whether a program uses a map. One that is gone by now does not.
bool uses_map(__u32 program, __u32 map) {
  const UniqueFd fd(::bpf_prog_get_fd_by_id(program));
  if (!fd) return false;
  __u32 maps[64] = {};
  bpf_prog_info info{};
  info.nr_map_ids = std::size(maps);
  info.map_ids = reinterpret_cast<std::uintptr_t>(maps);
  __u32 size = sizeof info;
  if (::bpf_obj_get_info_by_fd(fd.get(), &info, &size) != 0) return false;
  const __u32 count = std::min<__u32>(info.nr_map_ids, std::size(maps));
  return std::find(maps, maps + count, map) != maps + count;
}

Result<Occupant> occupant_of(const Plane& plane, IfIndex ifindex) {
  const KernelLog log;
  LIBBPF_OPTS(bpf_xdp_query_opts, query);
  if (const int error = ::bpf_xdp_query(as_int(ifindex), 0, &query); error != 0) {
    return kernel_error(
        errc::attach, "cannot ask for the XDP program of interface " + std::to_string(ifindex.value), -error);
  }
  Occupant out;
  if (query.attach_mode == XDP_ATTACHED_NONE) return out;
  const bool generic = query.attach_mode == XDP_ATTACHED_SKB;
  out.mode = generic ? XdpMode::generic : XdpMode::native;
  out.id = generic ? query.skb_prog_id : query.drv_prog_id != 0 ? query.drv_prog_id : query.prog_id;
  const Result<__u32> selector = selector_id(plane);
  if (!selector) return fail(selector.error().code, selector.error().context);
  if (uses_map(out.id, *selector)) {
    out.ours = {out.id};
    return out;
  }
  xdp_multiprog* found = ::xdp_multiprog__get_from_ifindex(as_int(ifindex));
  if (::libxdp_get_error(found) != 0) return out;
  const std::unique_ptr<xdp_multiprog, MultiprogDeleter> programs(found);
  out.dispatcher = !::xdp_multiprog__is_legacy(found);
  if (!out.dispatcher) return out;
  for (xdp_program* p = ::xdp_multiprog__next_prog(nullptr, found); p != nullptr;
       p = ::xdp_multiprog__next_prog(p, found)) {
    if (uses_map(::xdp_program__id(p), *selector)) out.ours.push_back(::xdp_program__id(p));
  }
  return out;
}

tl::unexpected<Error> foreign(const std::string& name, const Occupant& occupant) {
  return fail(errc::attach, "interface " + name + " runs an XDP program that Postern does not own (id " +
                                std::to_string(occupant.id) +
                                "), and ours cannot run beside it; it was left alone: detach it, or take the "
                                "interface out of the config");
}

// 0, or a negative errno.
int attach_alone(int program_fd, const SitePort& port, XdpMode mode) {
  return ::bpf_xdp_attach(as_int(port.wire()), program_fd, flags_of(mode) | XDP_FLAGS_UPDATE_IF_NOEXIST,
                          nullptr);
}

// What a dispatcher cannot do may still be possible alone, and if it is not, that error is the one to tell.
int attach_once(const Plane& plane, const SitePort& port, XdpMode mode, bool dispatcher) {
  if (dispatcher) {
    Result<UnloadedProgram> program = plane.unloaded_program(port.role);
    if (program && join_dispatcher(std::move(*program), port.wire(), mode == XdpMode::generic) == 0) return 0;
  }
  return attach_alone(plane.program_fd(port.role), port, mode);
}

Result<XdpMode> attach_fresh(const Plane& plane, const SitePort& port, bool allow_generic) {
  const KernelLog log;
  const bool dispatcher = has_dispatcher();
  const int native = attach_once(plane, port, XdpMode::native, dispatcher);
  if (native == 0) return XdpMode::native;
  if (native == -EOPNOTSUPP && allow_generic) {
    const int generic = attach_once(plane, port, XdpMode::generic, dispatcher);
    if (generic == 0) return XdpMode::generic;
    return kernel_error(errc::attach, "cannot attach to " + port.name + " in generic mode" + log.suffix(),
                        -generic);
  }
  if (native == -EOPNOTSUPP) {
    return fail(errc::attach,
                "the driver of " + port.name +
                    " has no native XDP; set `xdp: {generic: true}` in the config to allow the slow mode");
  }
  return kernel_error(errc::attach, "cannot attach to " + port.name + log.suffix(), -native);
}

// Beside others. A former program of ours is taken out once the new one is in: what the new one passes, the
// former one sees too for a moment, and no packet goes past both.
Result<XdpMode> join_others(const Plane& plane, const SitePort& port, const Occupant& occupant) {
  const KernelLog log;
  const bool generic = occupant.mode == XdpMode::generic;
  Result<UnloadedProgram> program = plane.unloaded_program(port.role);
  if (!program) return pass_on(std::move(program));
  if (const int error = join_dispatcher(std::move(*program), port.wire(), generic); error != 0) {
    return kernel_error(errc::attach,
                        "cannot run beside the XDP programs of " + port.name +
                            ", which were left alone: detach them, or take the interface out of the config" +
                            log.suffix(),
                        -error);
  }
  for (const __u32 former : occupant.ours) {
    if (const int error = leave_dispatcher(former, port.wire(), generic); error != 0)
      return kernel_error(errc::attach, "our former program is still on " + port.name + log.suffix(), -error);
  }
  return occupant.mode;
}

Result<> replace_program(int program_fd, const SitePort& port, const Occupant& occupant) {
  const KernelLog log;
  const UniqueFd old(::bpf_prog_get_fd_by_id(occupant.id));
  if (!old) return kernel_error(errc::attach, "cannot open the program attached to " + port.name, errno);
  LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = old.get());
  const int error = ::bpf_xdp_attach(as_int(port.wire()), program_fd, flags_of(occupant.mode), &options);
  if (error == 0) return {};
  return kernel_error(errc::attach, "cannot replace our former program on " + port.name + log.suffix(),
                      -error);
}

// By the tag, for a copy that libxdp loaded has another id.
Result<bool> is_current(const Plane& plane, const SitePort& port, const Occupant& occupant) {
  if (occupant.ours.size() != 1) return false;
  const Result<bpf_prog_info> wanted = program_info(plane.program_fd(port.role));
  if (!wanted) return fail(wanted.error().code, wanted.error().context);
  const UniqueFd fd(::bpf_prog_get_fd_by_id(occupant.ours.front()));
  if (!fd) return false;
  const Result<bpf_prog_info> there = program_info(fd.get());
  return there && std::equal(std::begin(wanted->tag), std::end(wanted->tag), std::begin(there->tag));
}

const char* egress_map(config::Role role) {
  return role == config::Role::underlay ? "egress_underlay" : "egress_local";
}

Result<> write_egress(const Plane& plane, config::Role role, IfIndex ifindex) {
  const __u32 key = ifindex.value;
  if (::bpf_map_update_elem(plane.map_fd(egress_map(role)), &key, &key, BPF_ANY) == 0) return {};
  return kernel_error(
      errc::map, std::string("cannot put interface ") + std::to_string(key) + " into " + egress_map(role),
      errno);
}

// An entry that is there is not written again: the kernel would take it out before it puts the new one in,
// and a packet in between finds no way out.
Result<> add_egress(const Plane& plane, config::Role role, IfIndex ifindex) {
  __u32 there = 0;
  if (::bpf_map_lookup_elem(plane.map_fd(egress_map(role)), &ifindex.value, &there) == 0) return {};
  return write_egress(plane, role, ifindex);
}

Result<XdpMode> bring_on(const Plane& plane, const SitePort& port, bool allow_generic, bool& changed) {
  const Result<Occupant> occupant = occupant_of(plane, port.wire());
  if (!occupant) return fail(occupant.error().code, port.name + ": " + occupant.error().context);
  const Result<bool> current = is_current(plane, port, *occupant);
  if (!current) return fail(current.error().code, current.error().context);
  changed = !*current;
  if (!changed) return occupant->mode;
  if (occupant->ours.empty()) {
    // The tables outlive a network namespace's use: what stands there under this number may be the interface
    // of another one, and only that of an interface that is gone does the kernel take out. Before the program
    // is on, so that an agent that dies here does it again.
    if (const Result<> written = write_egress(plane, port.role, port.wire()); !written)
      return fail(errc::attach, port.name + ": " + written.error().context);
  }
  if (occupant->mode == XdpMode::none) return attach_fresh(plane, port, allow_generic);
  if (occupant->dispatcher) return join_others(plane, port, *occupant);
  if (!occupant->alone()) return foreign(port.name, *occupant);
  if (Result<> replaced = replace_program(plane.program_fd(port.role), port, *occupant); !replaced) {
    return pass_on(std::move(replaced));
  }
  return occupant->mode;
}

Result<> drop_egress_except(const Plane& plane, config::Role role, const std::set<__u32>& keep) {
  const int fd = plane.map_fd(egress_map(role));
  std::vector<__u32> extra;
  __u32 key = 0;
  for (bool first = true; ::bpf_map_get_next_key(fd, first ? nullptr : &key, &key) == 0; first = false) {
    if (!keep.contains(key)) extra.push_back(key);
  }
  for (const __u32 each : extra) {
    if (::bpf_map_delete_elem(fd, &each) == 0 || errno == ENOENT) continue;
    return kernel_error(
        errc::map,
        std::string("cannot take interface ") + std::to_string(each) + " out of " + egress_map(role), errno);
  }
  return {};
}

}  // namespace

Result<Attachment> attach(const Plane& plane, const SitePort& port, bool allow_generic) {
  Attachment out{port.name, port.ifindex, XdpMode::none, false};
  const Result<XdpMode> mode = bring_on(plane, port, allow_generic, out.changed);
  if (!mode) return fail(mode.error().code, mode.error().context);
  out.mode = *mode;
  if (Result<> added = add_egress(plane, port.role, port.wire()); !added) return pass_on(std::move(added));
  return out;
}

Result<XdpMode> attached_mode(const Plane& plane, IfIndex ifindex) {
  const Result<Occupant> occupant = occupant_of(plane, ifindex);
  if (!occupant) return fail(occupant.error().code, occupant.error().context);
  return occupant->ours.empty() ? XdpMode::none : occupant->mode;
}

Result<> detach(const Plane& plane, IfIndex ifindex) {
  const Result<Occupant> occupant = occupant_of(plane, ifindex);
  if (!occupant) return fail(occupant.error().code, occupant.error().context);
  if (occupant->ours.empty()) return {};
  const std::string where = "interface " + std::to_string(ifindex.value);
  const KernelLog log;
  for (const __u32 part : occupant->ours) {
    if (occupant->alone()) break;
    const int error = leave_dispatcher(part, ifindex, occupant->mode == XdpMode::generic);
    if (error != 0)
      return kernel_error(errc::attach, "cannot leave the dispatcher of " + where + log.suffix(), -error);
  }
  if (!occupant->alone()) return {};
  const UniqueFd old(::bpf_prog_get_fd_by_id(occupant->id));
  if (!old) return kernel_error(errc::attach, "cannot open the program attached to " + where, errno);
  LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = old.get());
  const int error = ::bpf_xdp_detach(as_int(ifindex), flags_of(occupant->mode), &options);
  if (error == 0) return {};
  return kernel_error(errc::attach, "cannot detach from " + where + log.suffix(), -error);
}

Result<> set_egress(const Plane& plane, const std::vector<SitePort>& ports) {
  std::set<__u32> keep[2];
  const auto index_of = [](config::Role role) { return role == config::Role::underlay ? 0 : 1; };
  for (const SitePort& port : ports) {
    if (Result<> added = add_egress(plane, port.role, port.wire()); !added) return added;
    keep[index_of(port.role)].insert(port.wire().value);
  }
  for (const config::Role role : {config::Role::underlay, config::Role::local}) {
    if (Result<> dropped = drop_egress_except(plane, role, keep[index_of(role)]); !dropped) return dropped;
  }
  return {};
}

}  // namespace postern::dataplane
