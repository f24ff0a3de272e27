// SPDX-License-Identifier: Apache-2.0
#include "dataplane/journal_pin.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>

#include "abi.h"
#include "core/unique_fd.h"
#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"

namespace postern::dataplane {

namespace {

Result<std::optional<JournalPin>> read_row(int map_fd) {
  const __u32 zero = 0;
  pt_journal_head row{};
  if (::bpf_map_lookup_elem(map_fd, &zero, &row) != 0) {
    return kernel_error(errc::map, "cannot read table journal_head", errno);
  }
  JournalPin pin;
  std::copy(std::begin(row.journal), std::end(row.journal), pin.journal.begin());
  // A map starts as zeros, and no journal has that id.
  if (pin.journal == Id128{}) return std::optional<JournalPin>();
  pin.head = Lseq(row.lseq);
  std::copy(std::begin(row.hash), std::end(row.hash), pin.hash.begin());
  return std::optional(pin);
}

}  // namespace

Result<std::optional<JournalPin>> read_journal_pin(const Plane& plane) {
  return read_row(plane.map_fd("journal_head"));
}

Result<std::optional<JournalPin>> peek_journal_pin(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / ("v" + std::to_string(PT_ABI_VERSION) + "-journal_head");
  const UniqueFd map(::bpf_obj_get(path.c_str()));
  if (map) return read_row(map.get());
  if (errno == ENOENT) return std::optional<JournalPin>();
  return kernel_error(errc::pins, "cannot open the pin " + path.string(), errno);
}

Result<> write_journal_pin(const Plane& plane, const JournalPin& pin) {
  pt_journal_head row{};
  std::copy(pin.journal.begin(), pin.journal.end(), row.journal);
  row.lseq = pin.head.value;
  std::copy(pin.hash.begin(), pin.hash.end(), row.hash);
  const __u32 zero = 0;
  if (::bpf_map_update_elem(plane.map_fd("journal_head"), &zero, &row, BPF_ANY) == 0) return {};
  return kernel_error(errc::map, "cannot write table journal_head", errno);
}

}  // namespace postern::dataplane
