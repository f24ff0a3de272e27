// SPDX-License-Identifier: Apache-2.0
#include "unit/ledger/journal_image.h"

#include <algorithm>

namespace postern::ledger {

JournalImage::JournalImage() {
  header_.journal.fill(7);
  header_.salt = 0x1234;
  begin_segment();
}

void JournalImage::begin_segment() {
  Bytes& image = segments_[header_.number];
  image.assign(kSegmentBytes, 0);
  encode_header(header_, std::span<std::uint8_t>(image).first(kFirstBatchOffset));
  end_ = kFirstBatchOffset;
}

std::size_t JournalImage::append(const std::vector<std::string>& payloads) {
  const std::size_t start = end_;
  const Lseq durable = head();
  Bytes batch;
  for (const std::string& payload : payloads) {
    prev_of_[chain_.next.value] = chain_.hash;
    const bool last = &payload == &payloads.back();
    append_record(batch, chain_, durable, RecordType::event, last, payload, header_.salt);
  }
  std::copy(batch.begin(), batch.end(),
            segments_[header_.number].begin() + static_cast<std::ptrdiff_t>(start));
  end_ = start + round_up(batch.size(), kBlockBytes);
  return start;
}

void JournalImage::roll() {
  header_.sealed_end = end_;
  header_.number += 1;
  header_.salt += 1;
  header_.first_lseq = chain_.next;
  header_.prev = chain_.hash;
  begin_segment();
}

void JournalImage::cut(Lseq first_lseq, const std::vector<std::string>& kept) {
  header_.sealed_end = end_;
  header_.number += 1;
  header_.salt += 1;
  header_.first_lseq = first_lseq;
  if (first_lseq != chain_.next) header_.prev = prev_of_.at(first_lseq.value);
  chain_ = {first_lseq, header_.prev};
  begin_segment();
  append(kept);
}

void JournalImage::rewrite_header(std::uint64_t number, const SegmentHeader& header) {
  encode_header(header, std::span<std::uint8_t>(segments_.at(number)).first(kFirstBatchOffset));
}

Result<Classification> JournalImage::classify() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, image] : segments_)
    numbers.push_back(number);
  const ReadSegment read = [this](std::uint64_t number, std::size_t bytes) -> Result<ByteView> {
    return ByteView(segments_.at(number)).first(bytes);
  };
  return ledger::classify(numbers, read, {});
}

std::vector<std::string> JournalImage::live() const {
  std::vector<std::uint64_t> numbers;
  for (const auto& [number, image] : segments_)
    numbers.push_back(number);
  std::vector<std::string> payloads;
  (void)ledger::classify(
      numbers,
      [this](std::uint64_t number, std::size_t bytes) -> Result<ByteView> {
        return ByteView(segments_.at(number)).first(bytes);
      },
      [&payloads](const Record& record) -> Result<> {
        payloads.push_back(record.payload);
        return {};
      });
  return payloads;
}

std::string payload_of(std::size_t bytes, char fill) {
  return "{\"p\":\"" + std::string(bytes - 8, fill) + "\"}";
}

}  // namespace postern::ledger
