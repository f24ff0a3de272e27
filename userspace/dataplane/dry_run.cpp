// SPDX-License-Identifier: Apache-2.0
#include "dataplane/dry_run.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"
#include "dataplane/kernel_log.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include "explain.skel.h"
#pragma GCC diagnostic pop

namespace postern::dataplane {
namespace {

// A CPU's scratch is the live programs' own: they may run in the middle of a dry run.
constexpr std::string_view kScratch[] = {"work", "kept"};
constexpr std::size_t kRoom_bytes = 256;  // a tunnel's headers, or those of an ICMP error
constexpr std::size_t kShortest_bytes = 14;

struct ObjectDeleter {
  void operator()(bpf_object* object) const { ::bpf_object__close(object); }
};
using Object = std::unique_ptr<bpf_object, ObjectDeleter>;

class LoadedDryRun final : public DryRun {
 public:
  explicit LoadedDryRun(Object object) : object_(std::move(object)) {}

  Result<> load(const Plane& plane) {
    bpf_map* map = nullptr;
    bpf_object__for_each_map(map, object_.get()) {
      const std::string_view name = ::bpf_map__name(map);
      if (::bpf_map__is_internal(map)) {
        if (::bpf_map__value_size(map) == sizeof(pt_trace)) trace_ = map;
        continue;
      }
      if (std::find(std::begin(kScratch), std::end(kScratch), name) != std::end(kScratch)) continue;
      if (const int error = ::bpf_map__reuse_fd(map, plane.map_fd(name)); error != 0)
        return kernel_error(errc::load, "cannot explain by the table " + std::string(name), -error);
    }
    if (trace_ == nullptr) return fail(errc::load, "the built-in BPF object to explain with has no trace");
    const KernelLog log;
    if (const int error = ::bpf_object__load(object_.get()); error != 0)
      return kernel_error(errc::load, "the kernel did not take the program to explain with" + log.suffix(),
                          -error);
    for (const auto& [name, fd] :
         {std::pair("pt_underlay", &underlay_fd_), std::pair("pt_local", &local_fd_)}) {
      const bpf_program* program = ::bpf_object__find_program_by_name(object_.get(), name);
      if (program == nullptr)
        return fail(errc::load,
                    std::string("the built-in BPF object to explain with has no program ") + name);
      *fd = ::bpf_program__fd(program);
    }
    return {};
  }

  Result<DryResult> run(config::Role role, IfIndex arrival, ByteView frame) override {
    if (frame.size() < kShortest_bytes || frame.size() > kMaxDryFrame_bytes) {
      return fail(errc::frame,
                  "a frame of " + std::to_string(frame.size()) +
                      " bytes cannot be explained; it must have an Ethernet header and at most " +
                      std::to_string(kMaxDryFrame_bytes) + " bytes");
    }
    const __u32 zero = 0;
    DryResult result;
    if (::bpf_map_update_elem(::bpf_map__fd(trace_), &zero, &result.trace, BPF_ANY) != 0)
      return kernel_error(errc::map, "cannot clear the trace", errno);
    result.leaves.resize(frame.size() + kRoom_bytes);
    xdp_md context{};
    context.data_end = static_cast<__u32>(frame.size());
    context.ingress_ifindex = arrival.value;
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<__u32>(frame.size());
    options.data_out = result.leaves.data();
    options.data_size_out = static_cast<__u32>(result.leaves.size());
    options.ctx_in = &context;
    options.ctx_size_in = sizeof context;
    options.repeat = 1;
    const int fd = role == config::Role::underlay ? underlay_fd_ : local_fd_;
    if (::bpf_prog_test_run_opts(fd, &options) != 0)
      return kernel_error(errc::frame,
                          "the kernel does not run a packet of " + std::to_string(frame.size()) + " bytes",
                          errno);
    result.leaves.resize(options.data_size_out);
    if (::bpf_map_lookup_elem(::bpf_map__fd(trace_), &zero, &result.trace) != 0)
      return kernel_error(errc::map, "cannot read the trace", errno);
    return result;
  }

 private:
  Object object_;
  bpf_map* trace_ = nullptr;
  int underlay_fd_ = -1;
  int local_fd_ = -1;
};

}  // namespace

Result<std::unique_ptr<DryRun>> DryRun::open(const Plane& plane) {
  const KernelLog log;
  std::size_t size_bytes = 0;
  const void* bytes = ::explain_bpf__elf_bytes(&size_bytes);
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "explain");
  Object object(::bpf_object__open_mem(bytes, size_bytes, &options));
  if (!object)
    return kernel_error(errc::load, "cannot open the built-in BPF object to explain with" + log.suffix(),
                        errno);
  auto dry = std::make_unique<LoadedDryRun>(std::move(object));
  if (Result<> loaded = dry->load(plane); !loaded) return pass_on(std::move(loaded));
  return dry;
}

}  // namespace postern::dataplane
