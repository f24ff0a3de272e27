// SPDX-License-Identifier: Apache-2.0
#include "agent/start_count.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "core/bytes.h"
#include "core/file.h"
#include "wire/hash.h"

namespace postern::agent {
namespace {

constexpr std::size_t kMaxBytes = 64;
// A number that no gateway comes to; more would overflow in time.
constexpr std::uint64_t kMost = std::uint64_t{1} << 53;

// The number and its checksum: a digit that fell off would be a number too.
std::string text_of(std::uint64_t starts) {
  const std::string number = std::to_string(starts);
  return number + " " + std::to_string(wire::checksum(as_bytes(number), 0)) + "\n";
}

std::optional<std::uint64_t> parse(const std::string& text) {
  std::uint64_t starts = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), starts);
  if (error != std::errc() || starts >= kMost || text_of(starts) != text) return std::nullopt;
  return starts;
}

bool is_missing(const std::filesystem::path& file) {
  struct stat seen {};
  return ::lstat(file.c_str(), &seen) != 0 && errno == ENOENT;
}

}  // namespace

Result<StartCount> count_start(const std::filesystem::path& file, std::uint64_t least, UtcSeconds now) {
  StartCount out;
  std::optional<std::uint64_t> stored;
  if (is_missing(file)) {
    out.first = true;
  } else {
    const Result<std::string> text = read_file(file, kMaxBytes);
    if (text) stored = parse(*text);
    if (!text) out.trouble = text.error().message();
    if (text && !stored) out.trouble = file.string() + " does not hold a number of starts and its checksum";
  }
  const auto seconds = static_cast<std::uint64_t>(std::max<std::int64_t>(now.value, 0));
  out.starts = std::max(stored ? *stored + 1 : std::max<std::uint64_t>(seconds, 1), least);
  constexpr unsigned kOwnerOnly = 0600;
  if (Result<> written = write_file_durably(file, text_of(out.starts), kOwnerOnly); !written)
    return pass_on(std::move(written), "the number of starts");
  return out;
}

}  // namespace postern::agent
