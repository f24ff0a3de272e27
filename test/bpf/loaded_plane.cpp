// SPDX-License-Identifier: Apache-2.0
#include "loaded_plane.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <doctest/doctest.h>
#include <linux/bpf.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "core/bytes.h"
#include "core/unique_fd.h"

namespace postern::testing {
namespace {

using dataplane::Plane;

bpf_map_info info_of(int fd) {
  bpf_map_info info{};
  __u32 bytes = sizeof info;
  REQUIRE(::bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0);
  return info;
}

bool is_per_cpu(const bpf_map_info& info) {
  return info.type == BPF_MAP_TYPE_PERCPU_ARRAY || info.type == BPF_MAP_TYPE_PERCPU_HASH;
}

std::size_t value_bytes(const bpf_map_info& info) {
  if (!is_per_cpu(info)) return info.value_size;
  return (info.value_size + 7) / 8 * 8 * static_cast<std::size_t>(::libbpf_num_possible_cpus());
}

// A plane, and what stood in its arrays when it was loaded.
class KeptPlane {
 public:
  KeptPlane();
  Plane& plane() { return *plane_; }
  void put_back();

 private:
  void add_map(UniqueFd fd);
  static Bytes read_array(int fd, const bpf_map_info& info);
  static void put_back_array(int fd, const bpf_map_info& info, const Bytes& rows);
  static void remove_all(int fd, const bpf_map_info& info);
  static void drain(int fd);

  std::unique_ptr<Plane> plane_;
  std::vector<UniqueFd> maps_;
  std::map<int, Bytes> arrays_;  // by descriptor
};

std::unique_ptr<Plane> load() {
  Result<std::unique_ptr<Plane>> opened = Plane::open_unpinned();
  REQUIRE_MESSAGE(opened, (opened ? "" : opened.error().message()));
  return std::move(*opened);
}

KeptPlane::KeptPlane() : plane_(load()) {
  std::set<__u32> known;
  for (const config::Role role : {config::Role::underlay, config::Role::local}) {
    std::vector<__u32> ids(256);
    bpf_prog_info info{};
    info.nr_map_ids = static_cast<__u32>(ids.size());
    info.map_ids = reinterpret_cast<__u64>(ids.data());
    __u32 bytes = sizeof info;
    REQUIRE(::bpf_obj_get_info_by_fd(plane_->program_fd(role), &info, &bytes) == 0);
    REQUIRE(info.nr_map_ids <= ids.size());
    for (__u32 i = 0; i < info.nr_map_ids; ++i)
      if (known.insert(ids[i]).second) add_map(UniqueFd(::bpf_map_get_fd_by_id(ids[i])));
  }
  // Those that no program reads.
  for (const char* name : {"peer_ids", "journal_head"}) {
    const int fd = plane_->map_fd(name);
    REQUIRE(fd >= 0);
    const __u32 id = info_of(fd).id;
    if (known.insert(id).second) add_map(UniqueFd(::bpf_map_get_fd_by_id(id)));
  }
}

void KeptPlane::add_map(UniqueFd fd) {
  REQUIRE(bool(fd));
  const bpf_map_info info = info_of(fd.get());
  const bool frozen = (info.map_flags & BPF_F_RDONLY_PROG) != 0;
  if (frozen || info.type == BPF_MAP_TYPE_PROG_ARRAY) return;
  if (info.type == BPF_MAP_TYPE_ARRAY || info.type == BPF_MAP_TYPE_PERCPU_ARRAY)
    arrays_.emplace(fd.get(), read_array(fd.get(), info));
  maps_.push_back(std::move(fd));
}

Bytes KeptPlane::read_array(int fd, const bpf_map_info& info) {
  Bytes rows(value_bytes(info) * info.max_entries);
  std::vector<__u32> keys(info.max_entries);
  __u32 count = info.max_entries;
  __u32 position = 0;
  const int status =
      ::bpf_map_lookup_batch(fd, nullptr, &position, keys.data(), rows.data(), &count, nullptr);
  REQUIRE((status == 0 || errno == ENOENT));  // the latter at the end
  REQUIRE(count == info.max_entries);
  return rows;
}

void KeptPlane::put_back_array(int fd, const bpf_map_info& info, const Bytes& rows) {
  const Bytes now = read_array(fd, info);
  const std::size_t bytes = value_bytes(info);
  for (__u32 key = 0; key < info.max_entries; ++key) {
    if (std::memcmp(now.data() + key * bytes, rows.data() + key * bytes, bytes) == 0) continue;
    REQUIRE(::bpf_map_update_elem(fd, &key, rows.data() + key * bytes, BPF_ANY) == 0);
  }
}

void KeptPlane::remove_all(int fd, const bpf_map_info& info) {
  Bytes key(info.key_size);
  while (::bpf_map_get_next_key(fd, nullptr, key.data()) == 0)
    REQUIRE(::bpf_map_delete_elem(fd, key.data()) == 0);
}

void KeptPlane::drain(int fd) {
  const auto ignore = [](void*, void*, std::size_t) { return 0; };
  ring_buffer* const ring = ::ring_buffer__new(fd, ignore, nullptr, nullptr);
  REQUIRE(ring != nullptr);
  CHECK(::ring_buffer__consume(ring) >= 0);
  ::ring_buffer__free(ring);
}

void KeptPlane::put_back() {
  for (const UniqueFd& map : maps_) {
    const bpf_map_info info = info_of(map.get());
    if (const auto array = arrays_.find(map.get()); array != arrays_.end()) {
      put_back_array(map.get(), info, array->second);
    } else if (info.type == BPF_MAP_TYPE_RINGBUF) {
      drain(map.get());
    } else if (info.type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
      for (__u32 key = 0, inner = 0; key < info.max_entries; ++key)
        if (::bpf_map_lookup_elem(map.get(), &key, &inner) == 0) (void)::bpf_map_delete_elem(map.get(), &key);
    } else {
      remove_all(map.get(), info);
    }
  }
}

bool planes_are_kept() {
  const char* const said = std::getenv("POSTERN_TEST_PLANES");
  return said != nullptr && std::string_view(said) == "kept";
}

// Those that no test has at the moment.
std::vector<std::shared_ptr<KeptPlane>>& idle_planes() {
  static std::vector<std::shared_ptr<KeptPlane>> planes;
  return planes;
}

}  // namespace

std::shared_ptr<Plane> loaded_plane() {
  if (!planes_are_kept()) return load();
  auto& idle = idle_planes();
  std::shared_ptr<KeptPlane> kept = idle.empty() ? std::make_shared<KeptPlane>() : std::move(idle.back());
  if (!idle.empty()) idle.pop_back();
  Plane* const plane = &kept->plane();
  return {plane, [kept](Plane*) {
            kept->put_back();
            idle_planes().push_back(kept);
          }};
}

}  // namespace postern::testing
