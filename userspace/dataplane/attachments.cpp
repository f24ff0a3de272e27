// SPDX-License-Identifier: Apache-2.0
// A program is ours when it uses our selector: that holds for this build's program, for the one of an earlier
// build that is still attached after an upgrade, and for nothing else. So nothing needs to be remembered
// across restarts to tell an old program of ours, which is replaced, from a foreign one, which is never
// touched. Replacing and detaching name the program they expect to find, and the kernel refuses if another
// one came in between.
//
// A program that is loaded already can be attached alone only: libxdp's dispatcher wants to load its parts
// itself.
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
#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"
#include "dataplane/kernel_log.h"

namespace postern::dataplane {
namespace {

struct ProgramDeleter {
  void operator()(xdp_program* program) const { ::xdp_program__close(program); }
};
struct MultiprogDeleter {
  void operator()(xdp_multiprog* programs) const { ::xdp_multiprog__close(programs); }
};

struct Occupant {
  XdpMode mode = XdpMode::none;
  __u32 id = 0;       // of the program that the interface runs, a dispatcher perhaps
  bool ours = false;  // alone or in the dispatcher
  __u32 our_id = 0;   // its id if so
};

int as_int(IfIndex ifindex) {
  return static_cast<int>(ifindex.value);
}

__u32 flags_of(XdpMode mode) {
  return mode == XdpMode::generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

Result<__u32> program_id(int fd) {
  bpf_prog_info info{};
  __u32 size = sizeof info;
  if (::bpf_obj_get_info_by_fd(fd, &info, &size) == 0) return info.id;
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
  out.ours = uses_map(out.id, *selector);
  if (out.ours) out.our_id = out.id;
  if (out.ours) return out;
  xdp_multiprog* found = ::xdp_multiprog__get_from_ifindex(as_int(ifindex));
  if (::libxdp_get_error(found) != 0) return out;
  const std::unique_ptr<xdp_multiprog, MultiprogDeleter> programs(found);
  if (::xdp_multiprog__is_legacy(found)) return out;
  for (xdp_program* p = ::xdp_multiprog__next_prog(nullptr, found); p != nullptr;
       p = ::xdp_multiprog__next_prog(p, found)) {
    if (!uses_map(::xdp_program__id(p), *selector)) continue;
    out.ours = true;
    out.our_id = ::xdp_program__id(p);
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
int attach_once(int program_fd, IfIndex ifindex, xdp_attach_mode mode) {
  // It closes the descriptor that it is given.
  UniqueFd copy(::dup(program_fd));
  if (!copy) return -errno;
  xdp_program* program = ::xdp_program__from_fd(copy.get());
  if (const long error = ::libxdp_get_error(program); error != 0) return static_cast<int>(error);
  copy.release();
  const std::unique_ptr<xdp_program, ProgramDeleter> owner(program);
  return ::xdp_program__attach(program, as_int(ifindex), mode, 0);
}

Result<XdpMode> attach_fresh(int program_fd, const SitePort& port, bool allow_generic) {
  const KernelLog log;
  const int native = attach_once(program_fd, port.ifindex, XDP_MODE_NATIVE);
  if (native == 0) return XdpMode::native;
  if (native == -EOPNOTSUPP && allow_generic) {
    const int generic = attach_once(program_fd, port.ifindex, XDP_MODE_SKB);
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

Result<> replace_program(int program_fd, const SitePort& port, const Occupant& occupant) {
  const KernelLog log;
  const UniqueFd old(::bpf_prog_get_fd_by_id(occupant.id));
  if (!old) return kernel_error(errc::attach, "cannot open the program attached to " + port.name, errno);
  LIBBPF_OPTS(bpf_xdp_attach_opts, options, .old_prog_fd = old.get());
  const int error = ::bpf_xdp_attach(as_int(port.ifindex), program_fd, flags_of(occupant.mode), &options);
  if (error == 0) return {};
  return kernel_error(errc::attach, "cannot replace our former program on " + port.name + log.suffix(),
                      -error);
}

Result<XdpMode> bring_on(const Plane& plane, const SitePort& port, bool allow_generic, bool& changed) {
  const int program_fd = plane.program_fd(port.role);
  const Result<__u32> wanted = program_id(program_fd);
  if (!wanted) return fail(wanted.error().code, wanted.error().context);
  const Result<Occupant> occupant = occupant_of(plane, port.ifindex);
  if (!occupant) return fail(occupant.error().code, port.name + ": " + occupant.error().context);
  changed = occupant->our_id != *wanted;
  if (!changed) return occupant->mode;
  if (occupant->mode == XdpMode::none) return attach_fresh(program_fd, port, allow_generic);
  if (occupant->our_id != occupant->id) return foreign(port.name, *occupant);
  if (Result<> replaced = replace_program(program_fd, port, *occupant); !replaced) {
    return pass_on(std::move(replaced));
  }
  return occupant->mode;
}

const char* egress_map(config::Role role) {
  return role == config::Role::underlay ? "egress_underlay" : "egress_local";
}

Result<> add_egress(const Plane& plane, config::Role role, IfIndex ifindex) {
  const __u32 key = ifindex.value;
  if (::bpf_map_update_elem(plane.map_fd(egress_map(role)), &key, &key, BPF_ANY) == 0) return {};
  return kernel_error(
      errc::map, std::string("cannot put interface ") + std::to_string(key) + " into " + egress_map(role),
      errno);
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
  if (Result<> added = add_egress(plane, port.role, port.ifindex); !added) return pass_on(std::move(added));
  return out;
}

Result<XdpMode> attached_mode(const Plane& plane, IfIndex ifindex) {
  const Result<Occupant> occupant = occupant_of(plane, ifindex);
  if (!occupant) return fail(occupant.error().code, occupant.error().context);
  return occupant->ours ? occupant->mode : XdpMode::none;
}

Result<> detach(const Plane& plane, IfIndex ifindex) {
  const Result<Occupant> occupant = occupant_of(plane, ifindex);
  if (!occupant) return fail(occupant.error().code, occupant.error().context);
  if (!occupant->ours) return {};
  const std::string where = "interface " + std::to_string(ifindex.value);
  if (occupant->our_id != occupant->id) {
    return fail(
        errc::attach,
        where + " runs our program inside a dispatcher; take it off with `xdp-loader unload` (program id " +
            std::to_string(occupant->our_id) + ")");
  }
  const KernelLog log;
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
    if (Result<> added = add_egress(plane, port.role, port.ifindex); !added) return added;
    keep[index_of(port.role)].insert(port.ifindex.value);
  }
  for (const config::Role role : {config::Role::underlay, config::Role::local}) {
    if (Result<> dropped = drop_egress_except(plane, role, keep[index_of(role)]); !dropped) return dropped;
  }
  return {};
}

}  // namespace postern::dataplane
