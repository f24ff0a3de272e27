// SPDX-License-Identifier: Apache-2.0
#include "claims/beat.h"

#include <doctest/doctest.h>

#include "claims/row_table.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::claims;
using namespace postern::testing;

namespace {

Row row(std::uint32_t resource, std::uint64_t epoch) {
  Row out;
  out.resource = ResourceNumber(resource);
  out.has_top = true;
  out.applied = true;
  out.top = {Epoch(epoch), Id128{1}, {Id128{2}, Seq(3)}};
  out.fence = Epoch(epoch);
  return out;
}

BeatMessage message(const wire::SecretKey& key) {
  BeatMessage out;
  out.whole = true;
  out.rows = {row(1, 4), row(7, 9)};
  out.beat = {key.public_key(), 3, 11, 12345, true, digest_of(out.rows), {{wire::PublicKey{{5}}, 1, 2}}, {}};
  sign(out.beat, "blue", key);
  return out;
}

}  // namespace

TEST_CASE("messages of beats are decoded to what was encoded") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const std::vector<Message> all = {message(key), Hears{{wire::PublicKey{{1}}, wire::PublicKey{{2}}}},
                                    Hears{}, WantRows{key.public_key()}};
  for (const Message& said : all) {
    const Bytes bytes = encode(said);
    CHECK(is_beat_message(bytes));
    const Result<Message> read = decode(bytes);
    REQUIRE_MESSAGE(read, context(read));
    CHECK(*read == said);
  }
}

TEST_CASE("a beat is its author's, of this mesh, and as it was signed") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const Beat beat = message(key).beat;
  CHECK(verify(beat, "blue"));
  CHECK_FALSE(verify(beat, "green"));
  const auto changed = [&](auto change) {
    Beat other = beat;
    change(other);
    return verify(other, "blue");
  };
  CHECK_FALSE(changed([](Beat& b) { ++b.boots; }));
  CHECK_FALSE(changed([](Beat& b) { ++b.beats; }));
  CHECK_FALSE(changed([](Beat& b) { ++b.made_ms; }));
  CHECK_FALSE(changed([](Beat& b) { b.asks = false; }));
  CHECK_FALSE(changed([](Beat& b) { b.rows_digest[0] ^= 1; }));
  CHECK_FALSE(changed([](Beat& b) { b.echoes.clear(); }));
  CHECK_FALSE(changed([](Beat& b) { b.node = wire::SecretKey::generate().public_key(); }));
}

TEST_CASE("messages that no gateway sends are refused") {
  const wire::SecretKey key = wire::SecretKey::generate();
  const Bytes good = encode(message(key));
  for (std::size_t size = 0; size < good.size(); ++size)
    CHECK_FALSE(decode(ByteView(good).first(size)));
  Bytes longer = good;
  longer.push_back(0);
  CHECK(outcome(decode(longer)) == "beat.malformed");
  BeatMessage bad = message(key);
  std::swap(bad.rows[0], bad.rows[1]);
  CHECK(says(decode(encode(bad)), "ascend"));
  bad = message(key);
  bad.beat.echoes.push_back(bad.beat.echoes[0]);
  CHECK(says(decode(encode(bad)), "ascend"));
  bad = message(key);
  bad.rows[0].has_top = false;
  CHECK(says(decode(encode(bad)), "names one"));
  Bytes flags = good;
  flags[1 + 32 + 8 + 8 + 8 + 32 + 64] = 0xff;
  CHECK(says(decode(flags), "flags"));
  CHECK_FALSE(decode(encode(Hears{{wire::PublicKey{{2}}, wire::PublicKey{{1}}}})));
  CHECK_FALSE(is_beat_message(Bytes{1}));
  CHECK_FALSE(is_beat_message(Bytes{}));
}

TEST_CASE("rows travel as changes, and are taken when they add up to what was signed, or not at all") {
  RowTable mine;
  RowTable theirs;
  mine.set(row(1, 1), 1);
  mine.set(row(2, 1), 1);
  BeatMessage first{{}, true, mine.since(0)};
  first.beat.beats = 1;
  first.beat.rows_digest = mine.digest();
  REQUIRE(theirs.take(first));
  CHECK(theirs.rows() == mine.rows());

  CHECK(mine.set(row(2, 5), 2));
  CHECK_FALSE(mine.set(row(2, 5), 3));
  BeatMessage second{{}, false, mine.since(1)};
  second.beat.beats = 2;
  second.beat.rows_digest = mine.digest();
  CHECK(second.rows == std::vector{row(2, 5)});
  RowTable behind;  // it has missed the first
  CHECK_FALSE(behind.take(second));
  CHECK(behind.rows().empty());
  REQUIRE(theirs.take(second));
  CHECK(theirs.rows() == mine.rows());
  CHECK(theirs.since(1) == std::vector{row(2, 5)});

  CHECK(mine.clear(ResourceNumber(1), 3));
  BeatMessage third{{}, false, mine.since(2)};
  third.beat.beats = 3;
  third.beat.rows_digest = mine.digest();
  REQUIRE(theirs.take(third));
  CHECK_FALSE(theirs.find(ResourceNumber(1))->has_top);
}
