// SPDX-License-Identifier: Apache-2.0
#include "ledger/base_file.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include "ledger/errors.h"

namespace postern::ledger {
namespace {

constexpr std::string_view kUnfinishedName = "base.tmp";
// There are two, and one more after a compaction that was killed. Somebody's heap of others is not read
// through.
constexpr std::size_t kMaxBasesTried = 8;

struct alignas(kBlockBytes) Block {
  std::array<std::uint8_t, kBlockBytes> bytes;
};

// The whole file, from the disk: reads past the page cache are aligned and end short.
Io<std::string> read_from_disk(const File& file, std::size_t bytes) {
  const std::size_t blocks = round_up(bytes, kBlockBytes) / kBlockBytes;
  const auto buffer = std::make_unique<Block[]>(std::max<std::size_t>(blocks, 1));
  std::size_t have = 0;
  while (have < bytes) {
    const std::span<std::uint8_t> rest(buffer[0].bytes.data() + have, blocks * kBlockBytes - have);
    const Io<std::size_t> got = file.read_at(rest, have);
    if (!got) return tl::unexpected<int>(got.error());
    have += *got;
    if (*got == 0 || (have < bytes && have % kBlockBytes != 0)) return tl::unexpected<int>(EIO);
  }
  return std::string(as_text({buffer[0].bytes.data(), bytes}));
}

Result<std::string> read_base_file(const Directory& directory, const std::string& name) {
  Result<std::unique_ptr<File>> file = open_checked(directory, name, Access::read_disk);
  if (!file) return pass_on(std::move(file));
  const Io<FileFacts> facts = (*file)->facts();
  if (!facts) return io_failure(facts.error(), "stat of " + name);
  if (facts->bytes > kMaxBaseBytes) {
    return fail(errc::base_invalid, "has " + std::to_string(facts->bytes) + " bytes, expected " +
                                        std::to_string(kMaxBaseBytes) + " at most");
  }
  Io<std::string> text = read_from_disk(**file, facts->bytes);
  if (!text) return io_failure(text.error(), "read of " + name);
  return std::move(*text);
}

Result<Base> read_base(const Directory& directory, std::uint64_t number) {
  Result<std::string> text = read_base_file(directory, base_name(number));
  if (!text) return pass_on(std::move(text));
  Result<Base> base = open_base(*text);
  if (base && base->number != number) {
    return fail(errc::base_invalid, "says that it is " + base_name(base->number));
  }
  return base;
}

Result<> write_unfinished(Directory& directory, std::string_view text) {
  const std::string name(kUnfinishedName);
  const Io<std::unique_ptr<File>> file = directory.open(kUnfinishedName, Access::create);
  if (!file) return io_failure(file.error(), "creation of " + name);
  if (const Io<> written = write_fully(**file, as_bytes(text), 0); !written) {
    return io_failure(written.error(), "write of " + name);
  }
  if (const Io<> synced = (*file)->datasync(); !synced)
    return io_failure(synced.error(), "fdatasync of " + name);
  // Segments will be unlinked on its word, so the disk itself must give it back.
  Result<std::string> back = read_base_file(directory, name);
  if (!back) return pass_on(std::move(back));
  if (*back != text) return fail(errc::io, name + " reads differently than it was written; check the disk");
  return {};
}

}  // namespace

Result<std::vector<std::uint64_t>> list_bases(const std::vector<std::string>& names,
                                              const std::string& path) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : names) {
    if (!name.starts_with("base-")) continue;
    const std::optional<std::uint64_t> number = base_number(name);
    if (!number) {
      return fail(errc::damage, path + "/" + name +
                                    " is no base's name; nothing was changed; find out who put it " +
                                    "there, and move it away");
    }
    numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<BaseChoice> choose_base(const Directory& directory, const std::vector<std::uint64_t>& numbers) {
  BaseChoice choice;
  const std::size_t tried = std::min(numbers.size(), kMaxBasesTried);
  for (auto number = numbers.rbegin(); number != numbers.rbegin() + static_cast<std::ptrdiff_t>(tried);
       ++number) {
    Result<Base> base = read_base(directory, *number);
    if (base) {
      choice.base = std::make_shared<const Base>(std::move(*base));
      return choice;
    }
    const ErrorCode code = base.error().code;
    if (code != errc::base_invalid && code != errc::io) return pass_on(std::move(base), base_name(*number));
    choice.unreadable = choice.unreadable || code == errc::io;
    choice.trouble += (choice.trouble.empty() ? "" : "; ") + base_name(*number) + " " + base.error().context;
  }
  return choice;
}

Result<> write_base(Directory& directory, std::uint64_t number, std::string_view text) {
  (void)directory.unlink(kUnfinishedName);  // left by a killed attempt; usually absent
  if (Result<> written = write_unfinished(directory, text); !written) {
    (void)directory.unlink(kUnfinishedName);  // gives the space back; the first error is the one to tell
    return written;
  }
  const std::string name = base_name(number);
  // One of that name can only be a bad one that was passed over.
  const Io<> renamed = directory.rename(kUnfinishedName, name, IfThere::replace);
  if (!renamed) return io_failure(renamed.error(), "rename to " + name);
  if (const Io<> synced = directory.sync(); !synced) {
    return fail(errc::poisoned, io_failure(synced.error(), "fsync of the directory").value().context);
  }
  return {};
}

}  // namespace postern::ledger
