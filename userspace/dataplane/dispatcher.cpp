// SPDX-License-Identifier: Apache-2.0
#include "dataplane/dispatcher.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <xdp/libxdp.h>

#include <cerrno>

#include "core/unique_fd.h"
#include "dataplane/kernel_log.h"

namespace postern::dataplane {
namespace {

struct ProgramDeleter {
  void operator()(xdp_program* program) const { ::xdp_program__close(program); }
};
using Program = std::unique_ptr<xdp_program, ProgramDeleter>;

xdp_attach_mode mode_of(bool generic) {
  return generic ? XDP_MODE_SKB : XDP_MODE_NATIVE;
}

// The program of libxdp's own object that passes everything. `bpf` is the same within its object.
struct Trial {
  Program program;
  bpf_program* bpf = nullptr;

  Trial() {
    DECLARE_LIBXDP_OPTS(xdp_program_opts, options, .prog_name = "xdp_pass",
                        .find_filename = "xdp-dispatcher.o");
    xdp_program* found = ::xdp_program__create(&options);
    if (::libxdp_get_error(found) != 0) return;
    program.reset(found);
    bpf_program* each = nullptr;
    bpf_object__for_each_program(each, ::xdp_program__bpf_obj(found)) {
      const bool wanted = std::string_view(::bpf_program__name(each)) == "xdp_pass";
      ::bpf_program__set_autoload(each, wanted);
      if (wanted) bpf = each;
    }
  }
  bool load() const {
    return bpf != nullptr && ::bpf_object__load(::xdp_program__bpf_obj(program.get())) == 0;
  }
};

}  // namespace

bool has_dispatcher() {
  const KernelLog log;
  const Trial target;
  if (!target.load()) return false;
  const Trial extension;
  if (extension.bpf == nullptr) return false;
  ::bpf_program__set_type(extension.bpf, BPF_PROG_TYPE_EXT);
  ::bpf_program__set_expected_attach_type(extension.bpf, static_cast<bpf_attach_type>(0));
  if (::bpf_program__set_attach_target(extension.bpf, ::bpf_program__fd(target.bpf), "xdp_pass") != 0 ||
      !extension.load()) {
    return false;
  }
  return UniqueFd(::bpf_raw_tracepoint_open(nullptr, ::bpf_program__fd(extension.bpf))).get() >= 0;
}

int join_dispatcher(UnloadedProgram unloaded, IfIndex ifindex, bool generic) {
  DECLARE_LIBXDP_OPTS(xdp_program_opts, options, .obj = unloaded.object.get(),
                      .prog_name = unloaded.name.c_str());
  xdp_program* made = ::xdp_program__create(&options);
  if (const long error = ::libxdp_get_error(made); error != 0) return static_cast<int>(error);
  const Program program(made);  // does not own the object
  if (const int error = ::xdp_program__set_run_prio(made, kRunPriority); error != 0) return error;
  return ::xdp_program__attach(made, static_cast<int>(ifindex.value), mode_of(generic), 0);
}

int leave_dispatcher(unsigned program_id, IfIndex ifindex, bool generic) {
  xdp_program* found = ::xdp_program__from_id(program_id);
  if (const long error = ::libxdp_get_error(found); error != 0) return static_cast<int>(error);
  const Program program(found);
  return ::xdp_program__detach(found, static_cast<int>(ifindex.value), mode_of(generic), 0);
}

}  // namespace postern::dataplane
