// SPDX-License-Identifier: Apache-2.0
#include "ledger/record.h"

#include <algorithm>
#include <cstring>

#include "wire/hash.h"

namespace postern::ledger {
namespace {

namespace field = record_field;

// The checksum covers the header with its own field as zero.
std::uint64_t header_checksum(ByteView header, std::uint64_t salt) {
  std::array<std::uint8_t, field::size> copy{};
  std::copy_n(header.begin(), field::size, copy.begin());
  store_le(std::span<std::uint8_t>(copy), field::header_checksum, std::uint64_t{0});
  return wire::checksum(copy, salt);
}

}  // namespace

bool all_zero(ByteView bytes) {
  return bytes.empty() ||
         (bytes[0] == 0 && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

Hash256 chain_hash(Lseq lseq, RecordType type, const Hash256& prev, std::string_view payload) {
  std::array<std::uint8_t, 10> head{};
  store_le(std::span<std::uint8_t>(head), 0, lseq.value);
  store_le(std::span<std::uint8_t>(head), 8, static_cast<std::uint16_t>(type));
  return wire::blake2b({head, prev, as_bytes(payload)});
}

std::size_t record_bytes(std::size_t payload_bytes) {
  return round_up(field::size + payload_bytes, kRecordAlignment);
}

void append_record(Bytes& out, ChainHead& chain, Lseq durable_upto, RecordType type, bool batch_end,
                   std::string_view payload, std::uint64_t salt) {
  const std::size_t start = out.size();
  out.resize(start + record_bytes(payload.size()));
  const std::span<std::uint8_t> record = std::span<std::uint8_t>(out).subspan(start);
  store_le(record, field::magic, kRecordMagic);
  store_le(record, field::length, static_cast<std::uint32_t>(payload.size()));
  store_le(record, field::payload_checksum, wire::checksum(as_bytes(payload), 0));
  store_le(record, field::lseq, chain.next.value);
  store_le(record, field::durable_upto, durable_upto.value);
  store_le(record, field::type, static_cast<std::uint16_t>(type));
  store_le(record, field::flags, batch_end ? kBatchEnd : std::uint16_t{0});
  std::copy(chain.hash.begin(), chain.hash.end(), record.begin() + field::prev);
  store_le(record, field::header_checksum, header_checksum(record, salt));
  std::copy(payload.begin(), payload.end(), record.begin() + field::size);
  chain = {chain.next.next(), chain_hash(chain.next, type, chain.hash, payload)};
}

std::optional<RecordHeader> decode_record_header(ByteView segment, std::size_t offset, std::uint64_t salt) {
  if (offset + field::size > segment.size()) return std::nullopt;
  const ByteView bytes = segment.subspan(offset, field::size);
  if (load_le<std::uint32_t>(bytes, field::magic) != kRecordMagic) return std::nullopt;
  if (load_le<std::uint64_t>(bytes, field::header_checksum) != header_checksum(bytes, salt))
    return std::nullopt;
  const auto type = load_le<std::uint16_t>(bytes, field::type);
  const auto flags = load_le<std::uint16_t>(bytes, field::flags);
  if (type < static_cast<std::uint16_t>(RecordType::event) ||
      type > static_cast<std::uint16_t>(RecordType::settled) || (flags & ~kBatchEnd) != 0 ||
      load_le<std::uint32_t>(bytes, field::reserved) != 0) {
    return std::nullopt;
  }
  RecordHeader header;
  header.length = load_le<std::uint32_t>(bytes, field::length);
  if (header.length > kMaxEventBytes || offset + record_bytes(header.length) > segment.size())
    return std::nullopt;
  header.payload_checksum = load_le<std::uint64_t>(bytes, field::payload_checksum);
  header.lseq = Lseq(load_le<std::uint64_t>(bytes, field::lseq));
  header.durable_upto = Lseq(load_le<std::uint64_t>(bytes, field::durable_upto));
  header.type = static_cast<RecordType>(type);
  header.batch_end = flags == kBatchEnd;
  std::copy_n(bytes.begin() + field::prev, header.prev.size(), header.prev.begin());
  return header;
}

std::string_view record_payload(ByteView segment, std::size_t offset, const RecordHeader& header) {
  return as_text(segment.subspan(offset + field::size, header.length));
}

bool payload_is_whole(ByteView segment, std::size_t offset, const RecordHeader& header) {
  return wire::checksum(as_bytes(record_payload(segment, offset, header)), 0) == header.payload_checksum;
}

std::size_t record_end(std::size_t offset, const RecordHeader& header) {
  const std::size_t end = offset + record_bytes(header.length);
  return header.batch_end ? round_up(end, kBlockBytes) : end;
}

}  // namespace postern::ledger
