// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>

#include "ledger/classify.h"
#include "ledger/errors.h"
#include "unit/ledger/journal_image.h"

namespace postern::ledger {
namespace {

Condition condition_of(const JournalImage& image) {
  const Result<Classification> found = image.classify();
  REQUIRE_MESSAGE(found, (found ? "" : found.error().message()));
  INFO(found->finding);
  CHECK(found->finding.empty() == (found->condition == Condition::clean));
  return found->condition;
}

void flip(Bytes& bytes, std::size_t bit) {
  bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1U << (bit % 8)));
}

// Three acknowledged batches; the last one's flush is not proven by anything after it.
JournalImage three_batches() {
  JournalImage image;
  image.append({payload_of(200, 'a')});
  image.append({payload_of(300, 'b'), payload_of(100, 'c')});
  image.append({payload_of(250, 'd')});
  return image;
}

}  // namespace

TEST_CASE("a journal that ends in zeros is clean, and only its last batch is unproven") {
  const JournalImage image = three_batches();
  const Result<Classification> found = image.classify();
  REQUIRE(found);
  CHECK(found->condition == Condition::clean);
  CHECK(found->chain.next == Lseq(5));
  CHECK(found->proven == Lseq(3));
  REQUIRE(found->unproven.size() == 1);
  CHECK(found->unproven[0].payload == payload_of(250, 'd'));
  CHECK(found->end == image.end());
  CHECK(image.live().size() == 4);
}

TEST_CASE("an empty segment is clean and proves everything before it") {
  JournalImage image = three_batches();
  image.roll();
  const Result<Classification> found = image.classify();
  REQUIRE(found);
  CHECK(found->condition == Condition::clean);
  CHECK(found->proven == Lseq(4));
  CHECK(found->unproven.empty());
}

TEST_CASE(
    "whichever sectors of the last batch reached the disk, it is clean or torn and nothing before it is "
    "lost") {
  const std::vector<std::vector<std::string>> batches = {
      {payload_of(3000)}, {payload_of(700), payload_of(340), payload_of(1500)}, {payload_of(8)}};
  for (const std::vector<std::string>& batch : batches) {
    JournalImage whole = three_batches();
    const std::size_t start = whole.append(batch);
    const Bytes written = whole.segment(1);
    std::size_t bytes = 0;
    for (const std::string& payload : batch)
      bytes += record_bytes(payload.size());
    const std::size_t sectors = (bytes + kSectorBytes - 1) / kSectorBytes;
    REQUIRE(sectors <= 8);
    for (unsigned kept = 0; kept < 1U << sectors; ++kept) {
      Bytes& disk = whole.segment(1);
      disk = written;
      for (std::size_t s = 0; s < sectors; ++s) {
        if ((kept >> s & 1) == 0)
          std::fill_n(disk.begin() + static_cast<std::ptrdiff_t>(start + s * 512), 512, 0);
      }
      CAPTURE(kept);
      const Result<Classification> found = whole.classify();
      REQUIRE(found);
      const bool all = kept + 1 == 1U << sectors;
      const Condition expected = all || kept == 0 ? Condition::clean : Condition::torn;
      CHECK(found->condition == expected);
      CHECK(found->chain.next >= Lseq(5));
      CHECK((found->chain.next == Lseq(5 + batch.size())) == all);
      CHECK((found->torn_records > 0) == (expected == Condition::torn));
    }
  }
}

TEST_CASE(
    "a last record cut at any byte is never taken for whole, and torn only while a sector of it is missing") {
  JournalImage image = three_batches();
  const std::size_t start = image.append({payload_of(1200)});
  const Bytes written = image.segment(1);
  const std::size_t end = start + record_field::size + 1200;
  const std::size_t last_sector = (end - 1) / kSectorBytes * kSectorBytes;
  for (std::size_t cut = start + 1; cut <= end; ++cut) {
    Bytes& disk = image.segment(1);
    std::copy(written.begin() + static_cast<std::ptrdiff_t>(start),
              written.begin() + static_cast<std::ptrdiff_t>(cut),
              disk.begin() + static_cast<std::ptrdiff_t>(start));
    std::fill(disk.begin() + static_cast<std::ptrdiff_t>(cut),
              disk.begin() + static_cast<std::ptrdiff_t>(end), 0);
    CAPTURE(cut - start);
    // No disk writes a part of a sector. Cut inside the last one, or inside the header, it was something
    // else, and the record may have been whole once.
    const bool sector_missing = cut >= start + record_field::size && cut <= last_sector;
    const Condition expected =
        cut == end ? Condition::clean : (sector_missing ? Condition::torn : Condition::suspect);
    CHECK(condition_of(image) == expected);
  }
}

TEST_CASE("a flipped bit anywhere in an acknowledged record that a later one proves is damage") {
  JournalImage image = three_batches();
  const std::size_t start = image.append({payload_of(120)});
  image.append({payload_of(90)});
  for (std::size_t bit = start * 8; bit < (start + record_field::size + 120) * 8; ++bit) {
    CAPTURE(bit - start * 8);
    flip(image.segment(1), bit);
    CHECK(condition_of(image) == Condition::damage);
    flip(image.segment(1), bit);
  }
}

TEST_CASE("a flipped bit anywhere in the last acknowledged batch is suspect, never an end of the journal") {
  JournalImage image = three_batches();
  const std::size_t start = image.append({payload_of(120), payload_of(600)});
  const std::size_t end = start + record_bytes(120) + record_field::size + 600;
  for (std::size_t bit = start * 8; bit < end * 8; ++bit) {
    CAPTURE(bit - start * 8);
    flip(image.segment(1), bit);
    CHECK(condition_of(image) == Condition::suspect);
    flip(image.segment(1), bit);
  }
}

TEST_CASE("the header of a torn batch proves the batch before it") {
  JournalImage image = three_batches();
  const std::size_t proven = image.append({payload_of(120)});
  const std::size_t torn = image.append({payload_of(2000)});
  Bytes& disk = image.segment(1);
  std::fill_n(disk.begin() + static_cast<std::ptrdiff_t>(torn + 1024), 512, 0);
  CHECK(condition_of(image) == Condition::torn);
  CHECK(image.classify()->unproven.empty());
  flip(disk, (proven + 90) * 8);
  CHECK(condition_of(image) == Condition::damage);
}

TEST_CASE("an acknowledged batch that reads as zeros is damage when a later batch is there") {
  JournalImage image = three_batches();
  const std::size_t lost = image.append({payload_of(120)});
  image.append({payload_of(90)});
  std::fill_n(image.segment(1).begin() + static_cast<std::ptrdiff_t>(lost), kBlockBytes, 0);
  CHECK(condition_of(image) == Condition::damage);
}

TEST_CASE("a batch whose later records are missing is torn, and its whole ones are kept") {
  JournalImage image = three_batches();
  const std::size_t start =
      image.append({payload_of(432), payload_of(100)});  // the first ends with its sector
  std::fill_n(image.segment(1).begin() + static_cast<std::ptrdiff_t>(start + 512), 512, 0);
  const Result<Classification> found = image.classify();
  REQUIRE(found);
  CHECK(found->condition == Condition::torn);
  CHECK(found->chain.next == Lseq(6));
  CHECK(found->unproven.size() == 1);
}

TEST_CASE("a record whose checksums are right but which does not follow in the chain is not taken") {
  JournalImage image = three_batches();
  const std::size_t start = image.append({payload_of(120)});
  Bytes forged;
  ChainHead chain{Lseq(5), Hash256{1}};  // the right lseq behind a history that never was
  append_record(forged, chain, Lseq(4), RecordType::event, true, payload_of(120, 'f'), image.header().salt);
  std::copy(forged.begin(), forged.end(), image.segment(1).begin() + static_cast<std::ptrdiff_t>(start));
  CHECK(condition_of(image) == Condition::suspect);
  CHECK(image.live().size() == 4);
  image.append({payload_of(90)});
  CHECK(condition_of(image) == Condition::damage);
}

TEST_CASE("old bytes of another segment behind the end are not taken for records") {
  JournalImage image = three_batches();
  Bytes old;
  Result<Classification> found = image.classify();
  REQUIRE(found);
  ChainHead chain = found->chain;
  append_record(old, chain, Lseq(4), RecordType::event, true, payload_of(120), image.header().salt + 1);
  std::copy(old.begin(), old.end(), image.segment(1).begin() + static_cast<std::ptrdiff_t>(image.end()));
  CHECK(condition_of(image) == Condition::suspect);
  CHECK(image.live().size() == 4);
}

TEST_CASE("a length beyond every limit is read as a bad record, not followed") {
  JournalImage image = three_batches();
  const std::size_t start = image.append({payload_of(120)});
  for (std::size_t i = 4; i < 8; ++i)
    image.segment(1)[start + i] = 0xff;
  CHECK(condition_of(image) == Condition::suspect);
}

TEST_CASE("one bad header copy is read from the other, two are damage") {
  for (const std::size_t copy : {std::size_t{0}, kBlockBytes}) {
    JournalImage image = three_batches();
    flip(image.segment(1), (copy + segment_field::first_lseq) * 8);
    CHECK(condition_of(image) == Condition::clean);
  }
  JournalImage image = three_batches();
  flip(image.segment(1), segment_field::salt * 8);
  flip(image.segment(1), (kBlockBytes + segment_field::prev) * 8);
  CHECK(condition_of(image) == Condition::damage);
}

TEST_CASE("two whole header copies that differ are damage") {
  JournalImage image = three_batches();
  SegmentHeader other = image.header();
  other.salt += 1;
  Bytes header(kFirstBatchOffset);
  encode_header(other, header);
  std::copy_n(header.begin(), kBlockBytes, image.segment(1).begin());
  CHECK(condition_of(image) == Condition::damage);
}

TEST_CASE("a format that needs a newer reader is refused by that name") {
  JournalImage image = three_batches();
  SegmentHeader newer = image.header();
  newer.format = kFormatVersion + 2;
  newer.min_reader = kFormatVersion + 1;
  image.rewrite_header(1, newer);
  const Result<Classification> found = image.classify();
  REQUIRE(!found);
  CHECK(found.error().code == errc::newer_format);
}

TEST_CASE("a later format that says this version can read it is read") {
  JournalImage image = three_batches();
  SegmentHeader later = image.header();
  later.format = kFormatVersion + 1;
  image.rewrite_header(1, later);
  CHECK(condition_of(image) == Condition::clean);
  CHECK(image.live().size() == 4);
}

TEST_CASE("a missing, swapped, doubled or strange segment is damage") {
  JournalImage image = three_batches();
  image.roll();
  image.append({payload_of(50)});
  image.roll();
  REQUIRE(condition_of(image) == Condition::clean);
  SUBCASE("the middle one is missing") {
    image.segments().erase(2);
  }
  SUBCASE("the first one is missing") {
    image.segments().erase(1);
  }
  SUBCASE("two are swapped") {
    std::swap(image.segment(1), image.segment(2));
  }
  SUBCASE("one is there twice") {
    image.segment(3) = image.segment(2);
  }
  SUBCASE("one is of another journal") {
    SegmentHeader other = image.header();
    other.journal.fill(9);
    image.rewrite_header(3, other);
  }
  SUBCASE("none is there") {
    image.segments().clear();
  }
  CHECK(condition_of(image) == Condition::damage);
}

TEST_CASE("a flipped bit in any record of a sealed segment is damage") {
  JournalImage image = three_batches();
  image.roll();
  const std::size_t start = kFirstBatchOffset;
  for (std::size_t bit = start * 8; bit < (start + record_field::size + 200) * 8; bit += 7) {
    CAPTURE(bit - start * 8);
    flip(image.segment(1), bit);
    CHECK(condition_of(image) == Condition::damage);
    flip(image.segment(1), bit);
  }
}

TEST_CASE(
    "a flipped bit in any field of an acknowledged record is damage in the first, a middle and the last "
    "segment") {
  JournalImage image = three_batches();
  for (int segment = 0; segment < 2; ++segment) {
    image.roll();
    image.append({payload_of(200)});
    image.append({payload_of(90)});
  }
  REQUIRE(condition_of(image) == Condition::clean);
  namespace field = record_field;
  for (const std::uint64_t number : {1, 2, 3}) {
    for (const std::size_t offset :
         {field::magic, field::length, field::header_checksum, field::payload_checksum, field::lseq,
          field::durable_upto, field::type, field::flags, field::reserved, field::prev, field::size}) {
      CAPTURE(number);
      CAPTURE(offset);
      flip(image.segment(number), (kFirstBatchOffset + offset) * 8);
      const Result<Classification> found = image.classify();
      REQUIRE(found);
      CHECK(found->condition == Condition::damage);
      CHECK(found->first_bad == (number == 1 ? Lseq(1) : number == 2 ? Lseq(5) : Lseq(7)));
      flip(image.segment(number), (kFirstBatchOffset + offset) * 8);
    }
  }
}

TEST_CASE("two and three torn records at the end are counted, and those before them kept") {
  for (const std::size_t torn : {std::size_t{2}, std::size_t{3}}) {
    JournalImage image = three_batches();
    const std::vector<std::string> batch(torn + 1, payload_of(1200));
    const std::size_t start = image.append(batch);
    Bytes& disk = image.segment(1);
    // One sector in the middle of each torn record never reached the disk; their headers did.
    for (std::size_t i = 1; i <= torn; ++i) {
      const std::size_t middle = round_up(start + i * record_bytes(1200) + record_field::size, kSectorBytes);
      std::fill_n(disk.begin() + static_cast<std::ptrdiff_t>(middle), kSectorBytes, 0);
    }
    const Result<Classification> found = image.classify();
    REQUIRE(found);
    CHECK(found->condition == Condition::torn);
    CHECK(found->torn_records == torn);
    CHECK(found->chain.next == Lseq(6));
  }
}

TEST_CASE("a journal inside a payload is a payload, whatever becomes of the record around it") {
  JournalImage inner;
  inner.append({payload_of(100, 'i')});
  const Bytes& image = inner.segment(1);
  // Not what append() lets through, for it holds NUL bytes: recovery must not depend on that alone.
  const std::string embedded(as_text(ByteView(image).subspan(kFirstBatchOffset, kBlockBytes)));
  JournalImage outer = three_batches();
  const std::size_t start = outer.append({std::string(3000, 'x') + embedded});
  CHECK(condition_of(outer) == Condition::clean);
  CHECK(outer.live().size() == 5);
  flip(outer.segment(1), (start + 20) * 8);
  CHECK(condition_of(outer) == Condition::suspect);
  CHECK(outer.live().size() == 4);
}

TEST_CASE("what recovery cut off a sealed segment is dead: neither read nor judged") {
  JournalImage image = three_batches();
  const std::size_t dead = image.end() - kBlockBytes;
  image.cut(Lseq(4), {payload_of(250, 'd'), "{\"open\":1}"});
  CHECK(condition_of(image) == Condition::clean);
  CHECK(image.live().size() == 5);
  flip(image.segment(1), (dead + 100) * 8);
  CHECK(condition_of(image) == Condition::clean);
}

TEST_CASE("a whole record after the end of a sealed segment is a fork") {
  JournalImage image = three_batches();
  JournalImage second = image;
  image.roll();
  image.append({payload_of(50)});
  second.append({payload_of(60)});
  image.segment(1) = second.segment(1);
  CHECK(condition_of(image) == Condition::fork);
}

TEST_CASE("a sealed end before the last record of its segment is damage") {
  JournalImage image = three_batches();
  image.roll();
  SegmentHeader wrong = image.header();
  wrong.sealed_end -= kBlockBytes;
  image.rewrite_header(2, wrong);
  CHECK(condition_of(image) == Condition::damage);
}

}  // namespace postern::ledger
