// SPDX-License-Identifier: Apache-2.0
// Loading and taking over (SPEC 2.4). The object is opened from the skeleton in either case; when pins exist
// its maps are told to be the pinned ones before it is loaded, so that a program of newer code runs on the
// tables that its predecessor left. The kernel's tag, a hash of a program's instructions, tells whether the
// pinned program is this build's: then the fresh copy is dropped again and the pinned one, which is the
// attached one, goes on.
#include "dataplane/plane.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "abi.h"
#include "core/unique_fd.h"
#include "dataplane/kernel_error.h"
#include "dataplane/kernel_log.h"
#include "dataplane/pin_directory.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#include "gateway.skel.h"
#pragma GCC diagnostic pop

namespace postern::dataplane {
namespace {

constexpr const char* kUnderlayProgram = "pt_underlay";
constexpr const char* kLocalProgram = "pt_local";
constexpr const char* kFlows = "flows";
constexpr const char* kPrograms[] = {kUnderlayProgram, kLocalProgram};

const std::string kVersionPrefix = "v" + std::to_string(PT_ABI_VERSION) + "-";
constexpr std::string_view kTakeDown =
    "; to start afresh take the data path down with `posternd --detach` and start again";

struct ObjectDeleter {
  void operator()(bpf_object* object) const { ::bpf_object__close(object); }
};
using Object = std::unique_ptr<bpf_object, ObjectDeleter>;
using Descriptors = std::map<std::string, UniqueFd, std::less<>>;

const char* name_of(config::Role role) {
  return role == config::Role::underlay ? kUnderlayProgram : kLocalProgram;
}

class LoadedPlane final : public Plane {
 public:
  LoadedPlane(Descriptors maps, Descriptors programs, bool taken_over)
      : maps_(std::move(maps)), programs_(std::move(programs)), taken_over_(taken_over) {}

  bool taken_over() const override { return taken_over_; }
  int map_fd(std::string_view name) const override {
    const auto found = maps_.find(name);
    return found == maps_.end() ? -1 : found->second.get();
  }
  int program_fd(config::Role role) const override { return programs_.find(name_of(role))->second.get(); }
  Result<UnloadedProgram> unloaded_program(config::Role role) const override;

 private:
  Descriptors maps_;
  Descriptors programs_;
  bool taken_over_;
};

// Of the generated skeleton only its bytes are used: maps and programs are looked up by their names.
Result<Object> open_object(PlaneSizes sizes) {
  const KernelLog log;
  std::size_t size_bytes = 0;
  const void* bytes = ::gateway_bpf__elf_bytes(&size_bytes);
  LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "gateway");
  Object object(::bpf_object__open_mem(bytes, size_bytes, &options));
  if (!object) return kernel_error(errc::load, "cannot open the built-in BPF object" + log.suffix(), errno);
  for (const char* name : kPrograms) {
    if (::bpf_object__find_program_by_name(object.get(), name) == nullptr) {
      return fail(errc::load, std::string("the built-in BPF object has no program ") + name);
    }
  }
  bpf_map* flows = ::bpf_object__find_map_by_name(object.get(), kFlows);
  if (flows == nullptr || ::bpf_map__set_max_entries(flows, sizes.flows) != 0) {
    return fail(errc::load, "the built-in BPF object has no table of flows of " +
                                std::to_string(sizes.flows) + " entries");
  }
  return object;
}

std::vector<bpf_map*> tables_of(const bpf_object& object) {
  std::vector<bpf_map*> out;
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, &object) {
    if (!::bpf_map__is_internal(map)) out.push_back(map);
  }
  return out;
}

Result<> load(bpf_object& object) {
  const KernelLog log;
  const int error = ::bpf_object__load(&object);
  if (error == 0) return {};
  return kernel_error(
      errc::load,
      "the kernel did not take the BPF programs (they need root and Linux 6.1 or newer)" + log.suffix(),
      -error);
}

Result<UniqueFd> duplicate(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return kernel_error(errc::load, "cannot duplicate a descriptor", errno);
  return copy;
}

Result<Descriptors> loaded_maps(const bpf_object& object) {
  Descriptors out;
  for (const bpf_map* map : tables_of(object)) {
    Result<UniqueFd> fd = duplicate(::bpf_map__fd(map));
    if (!fd) return pass_on(std::move(fd));
    out.emplace(::bpf_map__name(map), std::move(*fd));
  }
  return out;
}

Result<Descriptors> loaded_programs(const bpf_object& object) {
  Descriptors out;
  for (const char* name : kPrograms) {
    Result<UniqueFd> fd = duplicate(::bpf_program__fd(::bpf_object__find_program_by_name(&object, name)));
    if (!fd) return pass_on(std::move(fd));
    out.emplace(name, std::move(*fd));
  }
  return out;
}

Result<UnloadedProgram> LoadedPlane::unloaded_program(config::Role role) const {
  Result<Object> object = open_object({});
  if (!object) return pass_on(std::move(object));
  for (bpf_map* map : tables_of(**object)) {
    if (const int error = ::bpf_map__reuse_fd(map, map_fd(::bpf_map__name(map))); error != 0) {
      return kernel_error(errc::load,
                          std::string("cannot use the map ") + ::bpf_map__name(map) + " once more", -error);
    }
  }
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object->get()) {
    ::bpf_program__set_autoload(program, std::string_view(::bpf_program__name(program)) == name_of(role));
  }
  return UnloadedProgram{{object->release(), &::bpf_object__close}, name_of(role)};
}

Result<std::unique_ptr<Plane>> load_anew(bpf_object& object, const PinDirectory* pins) {
  if (Result<> done = load(object); !done) return pass_on(std::move(done));
  Result<Descriptors> maps = loaded_maps(object);
  if (!maps) return pass_on(std::move(maps));
  Result<Descriptors> programs = loaded_programs(object);
  if (!programs) return pass_on(std::move(programs));
  if (pins != nullptr) {
    std::vector<std::pair<std::string, int>> set;
    for (const Descriptors* part : {&*maps, &*programs}) {
      for (const auto& [name, fd] : *part)
        set.emplace_back(kVersionPrefix + name, fd.get());
    }
    if (Result<> published = pins->publish(set); !published) return pass_on(std::move(published));
  }
  return std::make_unique<LoadedPlane>(std::move(*maps), std::move(*programs), false);
}

// Which of a whole set is there. A missing program pin is no harm: a program is code, and is pinned again. A
// missing map is: an attached program may be judging by that very map.
Result<> check_set(const PinDirectory& pins, const std::vector<std::string>& names,
                   const std::vector<bpf_map*>& tables) {
  std::vector<std::string> expected;
  expected.reserve(tables.size() + 2 * std::size(kPrograms));
  for (const bpf_map* map : tables)
    expected.push_back(kVersionPrefix + ::bpf_map__name(map));
  std::string missing;
  for (const std::string& name : expected) {
    if (!std::binary_search(names.begin(), names.end(), name))
      missing += (missing.empty() ? "" : ", ") + name;
  }
  for (const char* program : kPrograms) {
    expected.push_back(kVersionPrefix + program);
    expected.push_back(kVersionPrefix + program + "_making");
  }
  for (const std::string& name : names) {
    if (name.starts_with(kVersionPrefix)) {
      if (std::find(expected.begin(), expected.end(), name) != expected.end()) continue;
      return fail(errc::pins, pins.path().string() + " holds " + name +
                                  ", which is not a pin of this version" + std::string(kTakeDown));
    }
    const bool other_version = name.size() > 2 && name[0] == 'v' && name[1] >= '0' && name[1] <= '9' &&
                               name.find('-') != std::string::npos;
    if (!other_version) {
      return fail(errc::pins,
                  pins.path().string() + " holds " + name +
                      ", which Postern did not make; move it away or name another directory for pins");
    }
    return fail(errc::abi, pins.path().string() + " holds pins of table version " +
                               name.substr(1, name.find('-') - 1) + ", and this build has version " +
                               std::to_string(PT_ABI_VERSION) + std::string(kTakeDown));
  }
  if (missing.empty()) return {};
  return fail(errc::pins, "half a set of pins in " + pins.path().string() + ": missing " + missing +
                              std::string(kTakeDown));
}

// The kernel marks some types of maps (device maps) by itself.
constexpr __u32 kFlagsOfKernel = BPF_F_RDONLY_PROG;

Result<> check_layout(const bpf_map* map, int fd) {
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (::bpf_obj_get_info_by_fd(fd, &info, &size) != 0) {
    return kernel_error(errc::pins, std::string("cannot look at the pinned map ") + ::bpf_map__name(map),
                        errno);
  }
  if (info.type == ::bpf_map__type(map) && info.key_size == ::bpf_map__key_size(map) &&
      info.value_size == ::bpf_map__value_size(map) &&
      (info.max_entries == ::bpf_map__max_entries(map) || ::bpf_map__name(map) == std::string_view(kFlows)) &&
      (info.map_flags & ~kFlagsOfKernel) == ::bpf_map__map_flags(map)) {
    return {};
  }
  return fail(errc::abi, std::string("the pinned map ") + ::bpf_map__name(map) +
                             " is not laid out as this build has it, though its version says so" +
                             std::string(kTakeDown));
}

Result<bool> same_code(int a, int b) {
  bpf_prog_info infos[2] = {};
  for (const auto& [fd, info] : {std::pair(a, &infos[0]), std::pair(b, &infos[1])}) {
    __u32 size = sizeof *info;
    if (::bpf_obj_get_info_by_fd(fd, info, &size) != 0) {
      return kernel_error(errc::pins, "cannot look at a pinned program", errno);
    }
  }
  return std::memcmp(infos[0].tag, infos[1].tag, sizeof infos[0].tag) == 0;
}

Result<Descriptors> reuse_maps(const bpf_object& object, const PinDirectory& pins) {
  Descriptors out;
  for (bpf_map* map : tables_of(object)) {
    Result<UniqueFd> fd = pins.get(kVersionPrefix + ::bpf_map__name(map));
    if (!fd) return pass_on(std::move(fd));
    if (Result<> checked = check_layout(map, fd->get()); !checked) return pass_on(std::move(checked));
    if (const int error = ::bpf_map__reuse_fd(map, fd->get()); error != 0) {
      return kernel_error(errc::pins, std::string("cannot take over the map ") + ::bpf_map__name(map),
                          -error);
    }
    out.emplace(::bpf_map__name(map), std::move(*fd));
  }
  return out;
}

Result<std::unique_ptr<Plane>> take_over(bpf_object& object, const PinDirectory& pins,
                                         const std::vector<std::string>& names) {
  if (Result<> whole = check_set(pins, names, tables_of(object)); !whole) return pass_on(std::move(whole));
  Result<Descriptors> maps = reuse_maps(object, pins);
  if (!maps) return pass_on(std::move(maps));
  if (Result<> done = load(object); !done) return pass_on(std::move(done));
  Result<Descriptors> programs = loaded_programs(object);
  if (!programs) return pass_on(std::move(programs));
  for (auto& [name, fresh] : *programs) {
    const std::string pin = kVersionPrefix + name;
    if (std::binary_search(names.begin(), names.end(), pin)) {
      Result<UniqueFd> pinned = pins.get(pin);
      if (!pinned) return pass_on(std::move(pinned));
      const Result<bool> same = same_code(pinned->get(), fresh.get());
      if (!same) return fail(same.error().code, same.error().context);
      if (*same) {
        fresh = std::move(*pinned);
        continue;
      }
    }
    if (Result<> replaced = pins.replace(pin, fresh.get()); !replaced) return pass_on(std::move(replaced));
  }
  return std::make_unique<LoadedPlane>(std::move(*maps), std::move(*programs), true);
}

}  // namespace

Result<std::unique_ptr<Plane>> Plane::open(const std::filesystem::path& directory, PlaneSizes sizes) {
  Result<PinDirectory> pins = PinDirectory::prepare(directory);
  if (!pins) return pass_on(std::move(pins));
  Result<std::vector<std::string>> names = pins->names();
  if (!names) return pass_on(std::move(names));
  Result<Object> object = open_object(sizes);
  if (!object) return pass_on(std::move(object));
  if (names->empty()) return load_anew(**object, &*pins);
  return take_over(**object, *pins, *names);
}

Result<std::unique_ptr<Plane>> Plane::open_unpinned(PlaneSizes sizes) {
  Result<Object> object = open_object(sizes);
  if (!object) return pass_on(std::move(object));
  return load_anew(**object, nullptr);
}

Result<> Plane::unpin(const std::filesystem::path& directory) {
  Result<PinDirectory> pins = PinDirectory::prepare(directory);
  if (!pins) return pass_on(std::move(pins));
  return pins->remove();
}

}  // namespace postern::dataplane
