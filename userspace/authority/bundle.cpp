// SPDX-License-Identifier: Apache-2.0
#include "authority/bundle.h"

#include <charconv>
#include <optional>

#include "wire/json.h"

namespace postern::authority {
namespace {

// A decimal number in its one spelling, followed by `end`; moves `text` past both.
std::optional<std::uint64_t> take_number(std::string_view& text, char end) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto digits = static_cast<std::size_t>(stop - text.data());
  if (error != std::errc() || digits == text.size() || *stop != end) return std::nullopt;
  if (digits > 1 && text.front() == '0') return std::nullopt;
  text.remove_prefix(digits + 1);
  return value;
}

tl::unexpected<Error> malformed(std::size_t index, const std::string& expected) {
  return fail(errc::bundle, "entry " + std::to_string(index + 1) + " of the bundle: expected " + expected +
                                "; it was cut short or changed, make it again from the signed snapshots");
}

}  // namespace

bool is_bundle(std::string_view text) {
  return text.starts_with(kBundleHead);
}

Result<std::vector<BundleEntry>> open_bundle(std::string_view text) {
  if (text.size() > kMaxBundleBytes) {
    return fail(errc::too_large, "the bundle has " + std::to_string(text.size()) + " bytes, the limit is " +
                                     std::to_string(kMaxBundleBytes));
  }
  if (!is_bundle(text)) return fail(errc::bundle, "this is no bundle: the line postern-bundle-v1 is missing");
  text.remove_prefix(kBundleHead.size());
  std::vector<BundleEntry> entries;
  do {
    const std::size_t index = entries.size();
    if (index == kMaxBundleEntries) {
      return fail(errc::bundle, "the bundle has more than " + std::to_string(kMaxBundleEntries) +
                                    " entries; apply the older ones first, in a bundle of their own");
    }
    const std::optional<std::uint64_t> serial = take_number(text, ' ');
    const std::optional<std::uint64_t> length = serial ? take_number(text, '\n') : std::nullopt;
    if (!length) return malformed(index, "a line \"SERIAL LENGTH\"");
    const Serial floor = entries.empty() ? Serial(0) : entries.back().serial;
    if (*serial <= floor.value || *serial > static_cast<std::uint64_t>(wire::kMaxInteger))
      return malformed(index, "a serial above " + std::to_string(floor.value));
    if (*length >= text.size() || text[*length] != '\n')
      return malformed(index, std::to_string(*length) + " bytes and a line feed");
    entries.push_back({Serial(*serial), text.substr(0, *length)});
    text.remove_prefix(*length + 1);
  } while (!text.empty());
  return entries;
}

std::string seal_bundle(std::span<const BundleEntry> entries) {
  std::string out(kBundleHead);
  for (const BundleEntry& entry : entries) {
    out += std::to_string(entry.serial.value) + " " + std::to_string(entry.file.size()) + "\n";
    out.append(entry.file).append("\n");
  }
  return out;
}

}  // namespace postern::authority
