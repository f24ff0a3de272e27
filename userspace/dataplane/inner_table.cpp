// SPDX-License-Identifier: Apache-2.0
#include "dataplane/inner_table.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "dataplane/errors.h"
#include "dataplane/kernel_error.h"

namespace postern::dataplane {
namespace {

constexpr std::size_t kBatchRows = 4096;
constexpr int kNotSupportedByMap = 524;  // the kernel's ENOTSUPP, which no header of user space has

bool is_trie(std::string_view name) {
  return name.starts_with("owners");
}

bool no_batches(int error) {
  return error == kNotSupportedByMap || error == EOPNOTSUPP || error == EINVAL;
}

// The position of `key` among the sorted rows, or rows.size().
std::size_t position(const RowView& rows, std::span<const std::byte> key) {
  std::size_t low = 0;
  std::size_t high = rows.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const int order = std::memcmp(rows.key(middle).data(), key.data(), key.size());
    if (order == 0) return middle;
    (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
  }
  return rows.size();
}

Result<bpf_map_info> info_of(int fd, std::string_view name) {
  bpf_map_info info{};
  __u32 size = sizeof info;
  if (::bpf_obj_get_info_by_fd(fd, &info, &size) == 0) return info;
  return kernel_error(errc::map, "cannot look at an inner map of " + std::string(name), errno);
}

}  // namespace

Result<InnerTable> InnerTable::fill(std::string_view name, const RowView& rows) {
  const std::string text(name);
  LIBBPF_OPTS(bpf_map_create_opts, options);
  options.map_flags = is_trie(name) ? __u32{BPF_F_NO_PREALLOC} : 0U;
  // A map of no entries does not exist; one of one entry that is never made is as good.
  const auto entries = static_cast<__u32>(std::max<std::size_t>(rows.size(), 1));
  UniqueFd fd(::bpf_map_create(is_trie(name) ? BPF_MAP_TYPE_LPM_TRIE : BPF_MAP_TYPE_HASH,
                               text.substr(0, 15).c_str(), static_cast<__u32>(rows.key_bytes()),
                               static_cast<__u32>(rows.value_bytes()), entries, &options));
  if (!fd) {
    return kernel_error(errc::map, "cannot make table " + text + " of " + std::to_string(entries) + " rows",
                        errno);
  }
  const Result<bpf_map_info> info = info_of(fd.get(), name);
  if (!info) return fail(info.error().code, info.error().context);
  InnerTable table(name, std::move(fd), info->id, rows.key_bytes(), rows.value_bytes());
  if (Result<> written = table.write(rows); !written) return pass_on(std::move(written));
  if (Result<> compared = table.compare(rows); !compared) return pass_on(std::move(compared));
  return table;
}

Result<std::optional<InnerTable>> InnerTable::find(std::string_view name, int outer_fd, std::uint32_t slot) {
  std::uint32_t id = 0;
  if (::bpf_map_lookup_elem(outer_fd, &slot, &id) != 0) {
    if (errno == ENOENT) return std::optional<InnerTable>();
    return kernel_error(errc::map, "cannot read slot " + std::to_string(slot) + " of " + std::string(name),
                        errno);
  }
  UniqueFd fd(::bpf_map_get_fd_by_id(id));
  if (!fd) {
    return kernel_error(errc::map, "cannot open map " + std::to_string(id) + " of " + std::string(name),
                        errno);
  }
  const Result<bpf_map_info> info = info_of(fd.get(), name);
  if (!info) return fail(info.error().code, info.error().context);
  return std::optional(InnerTable(name, std::move(fd), id, info->key_size, info->value_size));
}

Result<> InnerTable::write(const RowView& rows) const {
  std::vector<std::byte> keys(kBatchRows * key_bytes_);
  std::vector<std::byte> values(kBatchRows * value_bytes_);
  bool batches = true;
  for (std::size_t row = 0; row < rows.size();) {
    auto count = static_cast<__u32>(std::min(kBatchRows, rows.size() - row));
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(&keys[i * key_bytes_], rows.key(row + i).data(), key_bytes_);
      std::memcpy(&values[i * value_bytes_], rows.value(row + i).data(), value_bytes_);
    }
    const std::size_t wanted = count;
    if (batches && ::bpf_map_update_batch(fd_.get(), keys.data(), values.data(), &count, nullptr) != 0) {
      if (!no_batches(errno)) return kernel_error(errc::map, "cannot write rows of " + name_, errno);
      batches = false;
    }
    // Single updates also say which row the kernel minds when it refused a batch as invalid.
    for (std::size_t i = 0; !batches && i < wanted; ++i) {
      if (::bpf_map_update_elem(fd_.get(), &keys[i * key_bytes_], &values[i * value_bytes_], BPF_ANY) == 0)
        continue;
      return kernel_error(errc::map, "cannot write row " + std::to_string(row + i) + " of " + name_, errno);
    }
    row += wanted;
  }
  return {};
}

Result<> InnerTable::compare(const RowView& rows) const {
  std::size_t equal = 0;
  std::size_t foreign = 0;
  Result<> read = each([&](std::span<const std::byte> key, std::span<const std::byte> value) {
    const std::size_t row = position(rows, key);
    const bool same =
        row < rows.size() && std::memcmp(rows.value(row).data(), value.data(), value.size()) == 0;
    ++(same ? equal : foreign);
  });
  if (!read) return read;
  if (equal == rows.size() && foreign == 0) return {};
  return fail(errc::digest,
              "table " + name_ + " reads back with " + std::to_string(equal) + " of its " +
                  std::to_string(rows.size()) + " rows and " + std::to_string(foreign) +
                  " others: rows twice or out of order, or a fault of the kernel; nothing was swapped");
}

Result<> InnerTable::each(const Visit& visit) const {
  const Result<bool> batched = each_batch(visit);
  if (!batched) return fail(batched.error().code, batched.error().context);
  return *batched ? Result<>() : each_single(visit);
}

// False when this type of map knows no batches; nothing was visited then.
Result<bool> InnerTable::each_batch(const Visit& visit) const {
  std::vector<std::byte> keys(kBatchRows * key_bytes_);
  std::vector<std::byte> values(kBatchRows * value_bytes_);
  std::vector<std::byte> position_in(std::max<std::size_t>(key_bytes_, sizeof(__u32)));
  std::vector<std::byte> position_out(position_in.size());
  bool first = true;
  for (;;) {
    __u32 count = kBatchRows;
    const int status =
        ::bpf_map_lookup_batch(fd_.get(), first ? nullptr : position_in.data(), position_out.data(),
                               keys.data(), values.data(), &count, nullptr);
    const int error = status == 0 ? 0 : errno;
    if (error != 0 && error != ENOENT) {
      if (first && no_batches(error)) return false;
      return kernel_error(errc::map, "cannot read table " + name_, error);
    }
    for (std::size_t i = 0; i < count; ++i) {
      visit({&keys[i * key_bytes_], key_bytes_}, {&values[i * value_bytes_], value_bytes_});
    }
    if (error == ENOENT) return true;
    position_in.swap(position_out);
    first = false;
  }
}

Result<> InnerTable::each_single(const Visit& visit) const {
  std::vector<std::byte> key(key_bytes_);
  std::vector<std::byte> next(key_bytes_);
  std::vector<std::byte> value(value_bytes_);
  for (bool first = true;; first = false) {
    if (::bpf_map_get_next_key(fd_.get(), first ? nullptr : key.data(), next.data()) != 0) {
      if (errno == ENOENT) return {};
      return kernel_error(errc::map, "cannot read table " + name_, errno);
    }
    if (::bpf_map_lookup_elem(fd_.get(), next.data(), value.data()) != 0) {
      return kernel_error(errc::map, "cannot read a row of " + name_, errno);
    }
    visit(next, value);
    key.swap(next);
  }
}

Result<TableDigest> InnerTable::digest() const {
  TableDigest digest;
  Result<> read = each([&](auto key, auto value) { digest.add(key, value); });
  if (!read) return pass_on(std::move(read));
  return digest;
}

Result<> InnerTable::place(int outer_fd, std::uint32_t slot) const {
  const int fd = fd_.get();
  if (::bpf_map_update_elem(outer_fd, &slot, &fd, BPF_ANY) == 0) return {};
  return kernel_error(errc::map, "cannot put table " + name_ + " into slot " + std::to_string(slot), errno);
}

}  // namespace postern::dataplane
