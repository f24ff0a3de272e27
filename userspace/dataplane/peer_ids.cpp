// SPDX-License-Identifier: Apache-2.0
#include "dataplane/peer_ids.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_map>

#include "abi.h"
#include "core/bytes.h"
#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"
#include "dataplane/update_row.h"
#include "wire/hash.h"

namespace postern::dataplane {
namespace {

constexpr std::size_t kBatchRows = 4096;

// The pinned table as it stands.
struct Allotted {
  std::unordered_map<std::string, std::uint32_t> by_hash;  // the key's 16 bytes
  std::vector<bool> taken = std::vector<bool>(std::size_t{PT_MAX_PEERS} + 1);
};

pt_peer_name name_key(const std::string& name) {
  const Hash256 hash = wire::blake2b({as_bytes(name)});
  pt_peer_name key{};
  std::copy_n(hash.begin(), sizeof key.hash, key.hash);
  return key;
}

std::string text_of(const pt_peer_name& key) {
  return {reinterpret_cast<const char*>(key.hash), sizeof key.hash};
}

Result<Allotted> read_allotted(int fd) {
  Allotted out;
  std::vector<pt_peer_name> keys(kBatchRows);
  std::vector<__u32> ids(kBatchRows);
  __u32 position_in = 0;
  __u32 position_out = 0;
  for (bool first = true;; first = false) {
    __u32 count = kBatchRows;
    const int status = ::bpf_map_lookup_batch(fd, first ? nullptr : &position_in, &position_out, keys.data(),
                                              ids.data(), &count, nullptr);
    const int error = status == 0 ? 0 : errno;
    if (error != 0 && error != ENOENT) return kernel_error(errc::map, "cannot read table peer_ids", error);
    for (std::size_t i = 0; i < count; ++i) {
      out.by_hash.emplace(text_of(keys[i]), ids[i]);
      if (ids[i] < out.taken.size()) out.taken[ids[i]] = true;
    }
    if (error == ENOENT) return out;
    position_in = position_out;
  }
}

Result<std::size_t> possible_cpus() {
  const int count = ::libbpf_num_possible_cpus();
  if (count > 0) return static_cast<std::size_t>(count);
  return kernel_error(errc::map, "cannot count this machine's CPUs", -count);
}

}  // namespace

Result<std::map<std::string, PeerId>> allot_peer_ids(const Plane& plane,
                                                     const std::vector<std::string>& names) {
  const int ids_fd = plane.map_fd("peer_ids");
  const int counts_fd = plane.map_fd("peer_counts");
  Result<Allotted> allotted = read_allotted(ids_fd);
  if (!allotted) return pass_on(std::move(allotted));
  const Result<std::size_t> cpus = possible_cpus();
  if (!cpus) return fail(cpus.error().code, cpus.error().context);
  const std::vector<pt_peer_count> zeros(*cpus);
  std::map<std::string, PeerId> out;
  __u32 next = 1;
  for (const std::string& name : names) {
    const pt_peer_name key = name_key(name);
    const auto [found, is_new] = allotted->by_hash.try_emplace(text_of(key), 0);
    if (is_new) {
      while (next <= PT_MAX_PEERS && allotted->taken[next])
        ++next;
      if (next > PT_MAX_PEERS) {
        return fail(errc::capacity, "no id is left for peer " + name + ": all " +
                                        std::to_string(PT_MAX_PEERS) +
                                        " are taken, by former peers too; take the data path down once with "
                                        "`posternd --detach` to forget those");
      }
      // Counters first: an id that a name has is one that counts.
      if (update_row(counts_fd, &next, zeros.data(), BPF_NOEXIST) != 0 && errno != EEXIST) {
        return kernel_error(errc::map, "cannot make the counters of peer " + name, errno);
      }
      if (update_row(ids_fd, &key, &next, BPF_NOEXIST) != 0) {
        return kernel_error(errc::map, "cannot keep the id of peer " + name, errno);
      }
      found->second = next++;
    }
    out.emplace(name, PeerId(found->second));
  }
  return out;
}

Result<std::map<std::string, PeerId>> find_peer_ids(const Plane& plane,
                                                    const std::vector<std::string>& names) {
  const int fd = plane.map_fd("peer_ids");
  std::map<std::string, PeerId> out;
  for (const std::string& name : names) {
    const pt_peer_name key = name_key(name);
    __u32 id = 0;
    if (::bpf_map_lookup_elem(fd, &key, &id) == 0)
      out.emplace(name, PeerId(id));
    else if (errno != ENOENT)
      return kernel_error(errc::map, "cannot read the id of peer " + name, errno);
  }
  return out;
}

}  // namespace postern::dataplane
