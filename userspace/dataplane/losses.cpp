// SPDX-License-Identifier: Apache-2.0
#include "dataplane/losses.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "abi.h"
#include "dataplane/kernel_error.h"
#include "dataplane/kernel_log.h"
#include "dataplane/update_row.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include "losses.skel.h"
#pragma GCC diagnostic pop

namespace postern::dataplane {
namespace {

struct ObjectDeleter {
  void operator()(bpf_object* object) const { ::bpf_object__close(object); }
};
struct LinkDeleter {
  void operator()(bpf_link* link) const { ::bpf_link__destroy(link); }
};
using Object = std::unique_ptr<bpf_object, ObjectDeleter>;
using Link = std::unique_ptr<bpf_link, LinkDeleter>;

class TracedLosses final : public Losses {
 public:
  TracedLosses(Object object, std::vector<Link> links, __u32 inode)
      : object_(std::move(object)),
        links_(std::move(links)),
        map_(::bpf_object__find_map_fd_by_name(object_.get(), "losses")),
        inode_(inode),
        cpus_(static_cast<std::size_t>(std::max(1, ::libbpf_num_possible_cpus()))) {}

  Result<> watch(const std::vector<IfIndex>& interfaces) override {
    std::vector<pt_loss_key> extra;
    pt_loss_key key{};
    for (bool first = true; ::bpf_map_get_next_key(map_, first ? nullptr : &key, &key) == 0; first = false)
      if (std::find(interfaces.begin(), interfaces.end(), IfIndex(key.ifindex)) == interfaces.end())
        extra.push_back(key);
    for (const pt_loss_key& each : extra)
      ::bpf_map_delete_elem(map_, &each);
    const std::vector<pt_losses> zeros(cpus_);
    for (const IfIndex interface : interfaces) {
      const pt_loss_key wanted{inode_, interface.value};
      if (update_row(map_, &wanted, zeros.data(), BPF_NOEXIST) == 0 || errno == EEXIST) continue;
      return kernel_error(errc::map,
                          "cannot count the losses of interface " + std::to_string(interface.value), errno);
    }
    return {};
  }

  LossCounts read(IfIndex interface) const override {
    const pt_loss_key key{inode_, interface.value};
    std::vector<pt_losses> parts(cpus_);
    LossCounts sum;
    if (::bpf_map_lookup_elem(map_, &key, parts.data()) != 0) return sum;
    for (const pt_losses& part : parts) {
      sum.redirect += part.redirect;
      sum.transmit += part.transmit;
    }
    return sum;
  }

 private:
  Object object_;
  std::vector<Link> links_;  // before the object they belong to
  int map_;
  __u32 inode_;
  std::size_t cpus_;
};

}  // namespace

Result<std::unique_ptr<Losses>> Losses::open() {
  const KernelLog log;
  std::size_t size_bytes = 0;
  const void* bytes = ::losses_bpf__elf_bytes(&size_bytes);
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "losses");
  Object object(::bpf_object__open_mem(bytes, size_bytes, &options));
  if (!object) return kernel_error(errc::load, "cannot open the built-in BPF object" + log.suffix(), errno);
  if (const int error = ::bpf_object__load(object.get()); error != 0)
    return kernel_error(errc::load, "the kernel did not take the programs that count losses" + log.suffix(),
                        -error);
  std::vector<Link> links;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object.get()) {
    Link link(::bpf_program__attach(program));
    if (!link) return kernel_error(errc::load, "cannot trace lost frames" + log.suffix(), errno);
    links.push_back(std::move(link));
  }
  struct stat info {};
  if (::stat("/proc/thread-self/ns/net", &info) != 0)
    return kernel_error(errc::load, "cannot tell this network namespace from others", errno);
  return std::make_unique<TracedLosses>(std::move(object), std::move(links), static_cast<__u32>(info.st_ino));
}

}  // namespace postern::dataplane
