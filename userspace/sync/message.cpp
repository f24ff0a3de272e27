// SPDX-License-Identifier: Apache-2.0
#include "sync/message.h"

#include <algorithm>
#include <string>

#include "core/byte_stream.h"
#include "sync/errors.h"
#include "sync/limits.h"

namespace postern::sync {
namespace {

constexpr std::uint8_t kFirstPart = 1;
constexpr std::uint8_t kLastPart = 2;

enum class Kind : std::uint8_t { credit = 1, marks, ranges, expand, events, want, skip, step };

// ---- writing

ByteWriter writer(Kind kind) {
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(kind));
  return out;
}

Bytes write(const Credit& credit) {
  ByteWriter out = writer(Kind::credit);
  out.put(credit.session);
  out.put(credit.total_bytes);
  return out.take();
}

void put(ByteWriter& out, const Span& span) {
  out.put_bytes(span.after);
  out.put_bytes(span.last);
}

Bytes write(const Marks& marks) {
  ByteWriter out = writer(Kind::marks);
  out.put(static_cast<std::uint8_t>(marks.whole));
  put(out, marks.whole ? marks.span : Span{});
  for (const StreamMark& mark : marks.marks) {
    out.put_bytes(mark.stream);
    out.put(mark.seq.value);
    out.put_bytes(mark.head);
    out.put(mark.fork.value);
  }
  return out.take();
}

Bytes write(const Ranges& ranges) {
  ByteWriter out = writer(Kind::ranges);
  for (const Range& range : ranges.ranges) {
    out.put_bytes(range.last);
    out.put(range.count);
    out.put_bytes(range.fingerprint);
  }
  return out.take();
}

Bytes write(const Expand& expand) {
  ByteWriter out = writer(Kind::expand);
  for (const Span& span : expand.spans)
    put(out, span);
  return out.take();
}

void put(ByteWriter& out, const std::vector<std::string_view>& events) {
  for (const std::string_view sealed : events) {
    out.put(static_cast<std::uint16_t>(sealed.size()));
    out.put_bytes(as_bytes(sealed));
  }
}

Bytes write(const Events& events) {
  ByteWriter out = writer(Kind::events);
  out.put(events.session);
  out.put_bytes(events.stream);
  out.put(events.first.value);
  put(out, events.sealed);
  return out.take();
}

Bytes write(const Step& step) {
  ByteWriter out = writer(Kind::step);
  out.put(step.session);
  out.put_bytes(step.stream);
  out.put(step.to.value);
  out.put(static_cast<std::uint8_t>((step.first ? kFirstPart : 0) | (step.last ? kLastPart : 0)));
  put(out, step.sealed);
  return out.take();
}

Bytes write(const Want& want) {
  ByteWriter out = writer(Kind::want);
  out.put_bytes(want.stream);
  out.put(want.first.value);
  out.put(want.last.value);
  return out.take();
}

Bytes write(const Skip& skip) {
  ByteWriter out = writer(Kind::skip);
  out.put_bytes(skip.stream);
  out.put(skip.available.value);
  return out.take();
}

// ---- reading

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(errc::malformed, what);
}

// A whole number of `size` bytes each, between 1 (or 0) and `most`.
Result<> check_list(ByteView body, std::size_t size, std::size_t fewest, std::size_t most, const char* what) {
  const std::size_t number = body.size() / size;
  if (body.size() % size == 0 && number >= fewest && number <= most) return {};
  return malformed(std::string(what) + ": " + std::to_string(body.size()) + " bytes, expected " +
                   std::to_string(fewest) + " to " + std::to_string(most) + " of " + std::to_string(size));
}

Result<> check_size(ByteView body, std::size_t size, const char* what) {
  if (body.size() == size) return {};
  return malformed(std::string(what) + ": " + std::to_string(body.size()) + " bytes, expected " +
                   std::to_string(size));
}

Result<Message> read_credit(ByteView body) {
  if (Result<> right = check_size(body, 4 + 8, "credit"); !right) return pass_on(std::move(right));
  ByteReader in(body);
  Credit out;
  out.session = in.number<std::uint32_t>();
  out.total_bytes = in.number<std::uint64_t>();
  if (out.session == 0) return malformed("credit: session 0, expected one from 1 on");
  return out;
}

Span read_span(ByteReader& in) {
  Span out;
  out.after = in.array<16>();
  out.last = in.array<16>();
  return out;
}

Result<> check_mark(const StreamMark& mark, const Id128& above) {
  if (mark.stream <= above) return malformed("marks: not ascending by stream, or outside of their span");
  if ((mark.seq == Seq()) != (mark.head == Hash256{})) return malformed("marks: seq and hash do not match");
  if (mark.fork != Seq() && mark.fork <= mark.seq) return malformed("marks: a fork before the head");
  return {};
}

Result<Message> read_marks(ByteView body) {
  constexpr std::size_t kHead = kMarksHeadBytes - 1;
  if (body.size() < kHead) return malformed("marks: shorter than their head");
  ByteReader in(body);
  const auto whole = in.number<std::uint8_t>();
  Marks out;
  out.span = read_span(in);
  out.whole = whole == 1;
  if (whole > 1) return malformed("marks: flag " + std::to_string(whole) + ", expected 0 or 1");
  if (out.whole ? out.span.after >= out.span.last : out.span != Span{})
    return malformed("marks: an empty span");
  Result<> listed = check_list(body.subspan(kHead), kMarkBytes, 0, ledger::kMaxStreams, "marks");
  if (!listed) return pass_on(std::move(listed));
  Id128 above = out.span.after;
  while (!in.at_end()) {
    StreamMark mark;
    mark.stream = in.array<16>();
    mark.seq = Seq(in.number<std::uint64_t>());
    mark.head = in.array<32>();
    mark.fork = Seq(in.number<std::uint64_t>());
    if (Result<> good = check_mark(mark, above); !good) return pass_on(std::move(good));
    above = mark.stream;
    out.marks.push_back(mark);
  }
  if (out.whole && above > out.span.last) return malformed("marks: outside of their span");
  return out;
}

Result<Message> read_ranges(ByteView body) {
  if (Result<> listed = check_list(body, kRangeBytes, 1, kMaxRanges, "ranges"); !listed)
    return pass_on(std::move(listed));
  Ranges out;
  ByteReader in(body);
  Id128 after{};
  while (!in.at_end()) {
    Range range;
    range.last = in.array<16>();
    range.count = in.number<std::uint32_t>();
    range.fingerprint = in.array<16>();
    if (range.last <= after) return malformed("ranges: not ascending");
    after = range.last;
    out.ranges.push_back(range);
  }
  if (after != kAllStreams.last) return malformed("ranges: do not reach the end");
  return out;
}

Result<Message> read_expand(ByteView body) {
  if (Result<> listed = check_list(body, 2 * 16, 1, kMaxRanges, "expand"); !listed)
    return pass_on(std::move(listed));
  Expand out;
  ByteReader in(body);
  Id128 above{};
  while (!in.at_end()) {
    const Span span = read_span(in);
    if (span.after < above || span.after >= span.last) return malformed("expand: spans not ascending");
    above = span.last;
    out.spans.push_back(span);
  }
  return out;
}

// Sealed events up to the end.
Result<std::vector<std::string_view>> read_sealed(ByteReader& in) {
  std::vector<std::string_view> out;
  while (!in.at_end()) {
    const auto size = in.number<std::uint16_t>();
    if (size < kMinEventBytes || size > ledger::kMaxEventBytes) {
      return malformed("events: one of " + std::to_string(size) + " bytes, expected " +
                       std::to_string(kMinEventBytes) + " to " + std::to_string(ledger::kMaxEventBytes));
    }
    out.push_back(as_text(in.take(size)));
  }
  if (!in.ok() || out.empty()) return malformed("events: cut short");
  return out;
}

Result<> check_events_size(ByteView body) {
  if (1 + body.size() <= kMaxEventsBytes) return {};
  return malformed("events: " + std::to_string(1 + body.size()) + " bytes, expected at most " +
                   std::to_string(kMaxEventsBytes));
}

Result<Message> read_step(ByteView body) {
  if (Result<> right = check_events_size(body); !right) return pass_on(std::move(right));
  ByteReader in(body);
  Step out;
  out.session = in.number<std::uint32_t>();
  out.stream = in.array<16>();
  out.to = Seq(in.number<std::uint64_t>());
  const auto parts = in.number<std::uint8_t>();
  if (out.to == Seq() || parts > (kFirstPart | kLastPart)) return malformed("step: no such step");
  out.first = (parts & kFirstPart) != 0;
  out.last = (parts & kLastPart) != 0;
  Result<std::vector<std::string_view>> sealed = read_sealed(in);
  if (!sealed) return pass_on(std::move(sealed));
  out.sealed = std::move(*sealed);
  return out;
}

Result<Message> read_events(ByteView body) {
  if (Result<> right = check_events_size(body); !right) return pass_on(std::move(right));
  ByteReader in(body);
  Events out;
  out.session = in.number<std::uint32_t>();
  out.stream = in.array<16>();
  out.first = Seq(in.number<std::uint64_t>());
  Result<std::vector<std::string_view>> sealed = read_sealed(in);
  if (!sealed) return pass_on(std::move(sealed));
  out.sealed = std::move(*sealed);
  if (out.first == Seq() || out.first.value > UINT64_MAX - out.sealed.size())
    return malformed("events: no such seq");
  return out;
}

Result<Message> read_want(ByteView body) {
  if (Result<> right = check_size(body, 16 + 8 + 8, "want"); !right) return pass_on(std::move(right));
  ByteReader in(body);
  Want out;
  out.stream = in.array<16>();
  out.first = Seq(in.number<std::uint64_t>());
  out.last = Seq(in.number<std::uint64_t>());
  if (out.first == Seq() || out.last < out.first) return malformed("want: no such events");
  return out;
}

Result<Message> read_skip(ByteView body) {
  if (Result<> right = check_size(body, 16 + 8, "skip"); !right) return pass_on(std::move(right));
  ByteReader in(body);
  Skip out;
  out.stream = in.array<16>();
  out.available = Seq(in.number<std::uint64_t>());
  return out;
}

}  // namespace

Bytes encode(const Message& message) {
  return std::visit([](const auto& said) { return write(said); }, message);
}

Result<Message> decode(ByteView bytes) {
  if (bytes.empty() || bytes[0] == 0) return malformed("a message without a kind");
  const ByteView body = bytes.subspan(1);
  switch (static_cast<Kind>(bytes[0])) {
    case Kind::credit:
      return read_credit(body);
    case Kind::marks:
      return read_marks(body);
    case Kind::ranges:
      return read_ranges(body);
    case Kind::expand:
      return read_expand(body);
    case Kind::events:
      return read_events(body);
    case Kind::want:
      return read_want(body);
    case Kind::skip:
      return read_skip(body);
    case Kind::step:
      return read_step(body);
  }
  return fail(errc::unknown_kind, "kind " + std::to_string(bytes[0]) + " is of a later version");
}

}  // namespace postern::sync
