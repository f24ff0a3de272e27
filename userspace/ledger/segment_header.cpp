// SPDX-License-Identifier: Apache-2.0
#include "ledger/segment_header.h"

#include <algorithm>
#include <charconv>

#include "ledger/errors.h"
#include "wire/hash.h"

namespace postern::ledger {
namespace {

namespace field = segment_field;

constexpr std::string_view kMagic = "PSTNSEG\n";
constexpr std::string_view kPrefix = "seg-";

template <std::size_t N>
std::array<std::uint8_t, N> load_array(ByteView bytes, std::size_t offset) {
  std::array<std::uint8_t, N> out{};
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), N, out.begin());
  return out;
}

void store_array(std::span<std::uint8_t> bytes, std::size_t offset, ByteView value) {
  std::copy(value.begin(), value.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
}

// Magic, min_reader and checksum keep their places in every later format: that is how an old reader refuses
// by name.
std::optional<SegmentHeader> decode_copy(ByteView bytes) {
  if (as_text(bytes.first(kMagic.size())) != kMagic) return std::nullopt;
  if (load_le<std::uint64_t>(bytes, field::checksum) != wire::checksum(bytes.first(field::checksum), 0)) {
    return std::nullopt;
  }
  SegmentHeader header;
  header.format = load_le<std::uint32_t>(bytes, field::format);
  header.min_reader = load_le<std::uint32_t>(bytes, field::min_reader);
  header.journal = load_array<16>(bytes, field::journal);
  header.number = load_le<std::uint64_t>(bytes, field::number);
  header.salt = load_le<std::uint64_t>(bytes, field::salt);
  header.first_lseq = Lseq(load_le<std::uint64_t>(bytes, field::first_lseq));
  header.prev = load_array<32>(bytes, field::prev);
  header.sealed_end = load_le<std::uint64_t>(bytes, field::sealed_end);
  header.machine = load_array<16>(bytes, field::machine);
  return header;
}

}  // namespace

void encode_header(const SegmentHeader& header, std::span<std::uint8_t> into) {
  std::fill(into.begin(), into.end(), std::uint8_t{0});
  const std::span<std::uint8_t> first = into.first(kBlockBytes);
  store_array(first, field::magic, as_bytes(kMagic));
  store_le(first, field::format, header.format);
  store_le(first, field::min_reader, header.min_reader);
  store_array(first, field::journal, header.journal);
  store_le(first, field::number, header.number);
  store_le(first, field::salt, header.salt);
  store_le(first, field::first_lseq, header.first_lseq.value);
  store_array(first, field::prev, header.prev);
  store_le(first, field::sealed_end, header.sealed_end);
  store_array(first, field::machine, header.machine);
  store_le(first, field::checksum, wire::checksum(first.first(field::checksum), 0));
  std::copy(first.begin(), first.end(), into.begin() + kBlockBytes);
}

Result<SegmentHeader> decode_header(ByteView bytes) {
  const std::optional<SegmentHeader> one = decode_copy(bytes.first(kBlockBytes));
  const std::optional<SegmentHeader> two = decode_copy(bytes.subspan(kBlockBytes, kBlockBytes));
  if (!one && !two) return fail(errc::damage, "both copies of the segment's header are bad");
  if (one && two && *one != *two) return fail(errc::damage, "the two copies of the segment's header differ");
  const SegmentHeader& header = one ? *one : *two;
  if (header.min_reader > kFormatVersion) {
    return fail(errc::newer_format, "format " + std::to_string(header.format) +
                                        " needs a reader of version " + std::to_string(header.min_reader) +
                                        ", this one is " + std::to_string(kFormatVersion) +
                                        "; upgrade Postern");
  }
  return header;
}

std::string segment_name(std::uint64_t number) {
  return std::string(kPrefix) + std::to_string(number);
}

std::optional<std::uint64_t> segment_number(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::uint64_t number = 0;
  const std::string_view digits = name.substr(kPrefix.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || number == 0 || segment_name(number) != name) return std::nullopt;
  return number;
}

}  // namespace postern::ledger
