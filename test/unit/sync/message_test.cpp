// SPDX-License-Identifier: Apache-2.0
#include "sync/message.h"

#include <doctest/doctest.h>

#include <functional>

#include "sync/errors.h"
#include "sync/limits.h"

using namespace postern;
using namespace postern::sync;

namespace {

Id128 id(std::uint16_t number) {
  Id128 out{};
  out[0] = static_cast<std::uint8_t>(number >> 8);
  out[1] = static_cast<std::uint8_t>(number);
  return out;
}

StreamMark mark(std::uint16_t number, std::uint64_t seq = 3, std::uint64_t fork = 0) {
  return {id(number), Seq(seq), seq == 0 ? Hash256{} : Hash256{7}, Seq(fork)};
}

std::string trouble(const Bytes& bytes) {
  const Result<Message> read = decode(bytes);
  return read ? "" : read.error().message();
}

std::string trouble(const Message& message) {
  return trouble(encode(message));
}

Events events_of(std::size_t number, const std::string& sealed) {
  Events out{9, id(1), Seq(5), {}};
  for (std::size_t i = 0; i < number; ++i)
    out.sealed.emplace_back(sealed);
  return out;
}

}  // namespace

TEST_CASE("every message reads back as it was, and has one encoding") {
  const std::string sealed(kMinEventBytes, 'e');
  const std::vector<Message> messages = {
      Credit{1, 1U << 22},
      Marks{},
      Marks{false, {}, {mark(1), mark(2, 0, 1), mark(3, 4, 9)}},
      Marks{true, kAllStreams, {}},
      Marks{true, {id(1), id(3)}, {mark(2), mark(3)}},
      Ranges{{{id(7), 3, {1}}, {kAllStreams.last, 0, {2}}}},
      Expand{{{id(1), id(2)}, {id(2), id(9)}}},
      events_of(1, sealed),
      events_of(40, sealed),
      Want{id(4), Seq(1), Seq(8)},
      Skip{id(4), Seq(77)},
      Step{9, id(4), Seq(77), true, false, {sealed, sealed}},
      Step{9, id(4), Seq(77), false, true, {sealed}},
  };
  for (const Message& message : messages) {
    const Bytes bytes = encode(message);
    const Result<Message> read = decode(bytes);
    REQUIRE_MESSAGE(read, (read ? "" : read.error().message()));
    CHECK(*read == message);
    CHECK(encode(*read) == bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      if (const Result<Message> cut = decode(ByteView(bytes).first(size)))
        CHECK(encode(*cut) == Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
  }
}

TEST_CASE("what no gateway sends is refused by what is wrong with it") {
  CHECK(trouble(Bytes{}) == "sync.malformed: a message without a kind");
  CHECK(trouble(Bytes{0}) == "sync.malformed: a message without a kind");
  CHECK(decode(Bytes{9}).error().code == errc::unknown_kind);
  CHECK(trouble(Credit{0, 5}) == "sync.malformed: credit: session 0, expected one from 1 on");
  CHECK(trouble(Bytes{1, 1}) == "sync.malformed: credit: 1 bytes, expected 12");
  const std::string order = "sync.malformed: marks: not ascending by stream, or outside of their span";
  CHECK(trouble(Marks{false, {}, {mark(2), mark(1)}}) == order);
  CHECK(trouble(Marks{false, {}, {mark(2), mark(2)}}) == order);
  CHECK(trouble(Marks{false, {}, {mark(0)}}) == order);
  CHECK(trouble(Marks{true, {id(2), id(4)}, {mark(2)}}) == order);
  CHECK(trouble(Marks{true, {id(2), id(4)}, {mark(5)}}) == "sync.malformed: marks: outside of their span");
  CHECK(trouble(Marks{true, {id(2), id(2)}, {}}) == "sync.malformed: marks: an empty span");
  CHECK(trouble(Marks{false, {}, {mark(1, 3, 3)}}) == "sync.malformed: marks: a fork before the head");
  StreamMark unhashed = mark(1);
  unhashed.head = {};
  CHECK(trouble(Marks{false, {}, {unhashed}}) == "sync.malformed: marks: seq and hash do not match");
  CHECK(trouble(Ranges{{{id(7), 3, {}}}}) == "sync.malformed: ranges: do not reach the end");
  CHECK(trouble(Ranges{{{id(7), 3, {}}, {id(7), 3, {}}}}) == "sync.malformed: ranges: not ascending");
  CHECK(trouble(Ranges{}) == "sync.malformed: ranges: 0 bytes, expected 1 to 128 of 36");
  CHECK(trouble(Expand{{{id(2), id(3)}, {id(1), id(9)}}}) == "sync.malformed: expand: spans not ascending");
  CHECK(trouble(Want{id(1), Seq(), Seq(4)}) == "sync.malformed: want: no such events");
  CHECK(trouble(Want{id(1), Seq(5), Seq(4)}) == "sync.malformed: want: no such events");
  const std::string sealed(kMinEventBytes, 'e');
  CHECK(trouble(events_of(1, sealed.substr(1))) ==
        "sync.malformed: events: one of 255 bytes, expected 256 to 49152");
  CHECK(trouble(events_of(1, std::string(ledger::kMaxEventBytes + 1, 'e'))).find("one of 49153 bytes") !=
        std::string::npos);
  CHECK(trouble(events_of(0, sealed)) == "sync.malformed: events: cut short");
  Events last = events_of(2, sealed);
  last.first = Seq(UINT64_MAX - 1);
  CHECK(trouble(last) == "sync.malformed: events: no such seq");
}

TEST_CASE("messages at their bounds are read, those of one more are not") {
  Marks most;
  for (std::size_t i = 0; i < ledger::kMaxStreams; ++i)
    most.marks.push_back(mark(static_cast<std::uint16_t>(i + 1)));
  CHECK(encode(most).size() == kMaxMarksBytes);
  CHECK(kMaxMarksBytes <= mesh::kMaxMessagePayload);
  CHECK(trouble(most).empty());
  most.marks.push_back(mark(static_cast<std::uint16_t>(ledger::kMaxStreams + 1)));
  CHECK(trouble(most).find("expected 0 to 8192 of 64") != std::string::npos);

  Ranges ranges;
  for (std::size_t i = 1; i < kMaxRanges; ++i)
    ranges.ranges.push_back({id(static_cast<std::uint16_t>(i)), 64, {}});
  ranges.ranges.push_back({kAllStreams.last, 64, {}});
  CHECK(trouble(ranges).empty());
  ranges.ranges.insert(ranges.ranges.begin() + static_cast<std::ptrdiff_t>(kMaxRanges - 1),
                       {id(static_cast<std::uint16_t>(kMaxRanges)), 64, {}});
  CHECK(trouble(ranges).find("expected 1 to 128 of 36") != std::string::npos);

  const std::string largest(ledger::kMaxEventBytes, 'e');
  const std::string rest(kTurnBytes - 2 * kEventHeadBytes - largest.size(), 'e');
  const std::string more = rest + "e";
  Events full = events_of(1, largest);
  full.sealed.emplace_back(rest);
  CHECK(encode(full).size() == kMaxEventsBytes);
  CHECK(trouble(full).empty());
  full.sealed.back() = more;
  CHECK(trouble(full) == "sync.malformed: events: 65566 bytes, expected at most 65565");
}
