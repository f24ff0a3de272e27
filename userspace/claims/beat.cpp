// SPDX-License-Identifier: Apache-2.0
#include "claims/beat.h"

#include <algorithm>
#include <string>

#include "claims/errors.h"
#include "core/byte_stream.h"
#include "wire/hash.h"

namespace postern::claims {
namespace {

enum class Kind : std::uint8_t { beat = 16, hears, want_rows };

// Of a beat.
constexpr std::uint8_t kWhole = 1;
constexpr std::uint8_t kAsks = 2;
// Of a row.
constexpr std::uint8_t kHasTop = 1;
constexpr std::uint8_t kApplied = 2;
constexpr std::uint8_t kArmed = 4;

void put(ByteWriter& out, const Row& row) {
  out.put(row.resource.value);
  out.put(static_cast<std::uint8_t>((row.has_top ? kHasTop : 0) | (row.applied ? kApplied : 0) |
                                    (row.armed ? kArmed : 0)));
  out.put(row.top.epoch.value);
  out.put_bytes(row.top.tie);
  out.put_bytes(row.top.claim.stream);
  out.put(row.top.claim.seq.value);
  out.put(row.fence.value);
}

void put(ByteWriter& out, const Echo& echo) {
  out.put_bytes(echo.node.bytes);
  out.put(echo.boots);
  out.put(echo.beats);
}

// What a node signs of its beat; the mesh is not on the wire, since both sides know theirs.
Bytes signed_bytes(const Beat& beat, std::string_view mesh) {
  ByteWriter out;
  out.put(static_cast<std::uint8_t>(mesh.size()));
  out.put_bytes(as_bytes(mesh));
  out.put_bytes(beat.node.bytes);
  out.put(beat.boots);
  out.put(beat.beats);
  out.put(beat.made_ms);
  out.put(static_cast<std::uint8_t>(beat.asks ? 1 : 0));
  out.put_bytes(beat.rows_digest);
  for (const Echo& echo : beat.echoes)
    put(out, echo);
  return out.take();
}

void write(ByteWriter& out, const BeatMessage& message) {
  const Beat& beat = message.beat;
  out.put(static_cast<std::uint8_t>(Kind::beat));
  out.put_bytes(beat.node.bytes);
  out.put(beat.boots);
  out.put(beat.beats);
  out.put(beat.made_ms);
  out.put_bytes(beat.rows_digest);
  out.put_bytes(beat.signature);
  out.put(static_cast<std::uint8_t>((message.whole ? kWhole : 0) | (beat.asks ? kAsks : 0)));
  out.put(static_cast<std::uint16_t>(beat.echoes.size()));
  out.put(static_cast<std::uint16_t>(message.rows.size()));
  for (const Echo& echo : beat.echoes)
    put(out, echo);
  for (const Row& row : message.rows)
    put(out, row);
}

void write(ByteWriter& out, const Hears& hears) {
  out.put(static_cast<std::uint8_t>(Kind::hears));
  for (const wire::PublicKey& node : hears.nodes)
    out.put_bytes(node.bytes);
}

void write(ByteWriter& out, const WantRows& want) {
  out.put(static_cast<std::uint8_t>(Kind::want_rows));
  out.put_bytes(want.node.bytes);
}

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(errc::malformed, what);
}

Result<Row> read_row(ByteReader& in) {
  Row row;
  row.resource = ResourceNumber(in.number<std::uint32_t>());
  const auto flags = in.number<std::uint8_t>();
  row.has_top = (flags & kHasTop) != 0;
  row.applied = (flags & kApplied) != 0;
  row.armed = (flags & kArmed) != 0;
  row.top.epoch = Epoch(in.number<std::uint64_t>());
  row.top.tie = in.array<16>();
  row.top.claim.stream = in.array<16>();
  row.top.claim.seq = Seq(in.number<std::uint64_t>());
  row.fence = Epoch(in.number<std::uint64_t>());
  if (flags > (kHasTop | kApplied | kArmed)) return malformed("a row with unknown flags");
  if (!row.has_top && (row.top != ledger::Token{} || row.armed))
    return malformed("a row of no claim that names one");
  return row;
}

Result<Message> read_beat(ByteView bytes) {
  if (bytes.size() < kBeatHeadBytes) return malformed("a beat that is cut short");
  ByteReader in(bytes.subspan(1));
  BeatMessage out;
  out.beat.node.bytes = in.array<32>();
  out.beat.boots = in.number<std::uint64_t>();
  out.beat.beats = in.number<std::uint64_t>();
  out.beat.made_ms = in.number<std::uint64_t>();
  out.beat.rows_digest = in.array<32>();
  out.beat.signature = in.array<64>();
  const auto flags = in.number<std::uint8_t>();
  const auto echoes = in.number<std::uint16_t>();
  const auto rows = in.number<std::uint16_t>();
  if (flags > (kWhole | kAsks)) return malformed("a beat with unknown flags");
  if (echoes > mesh::kMaxGateways || rows > kMaxRows) return malformed("a beat with too many echoes or rows");
  if (bytes.size() != kBeatHeadBytes + echoes * kEchoBytes + rows * kRowBytes)
    return malformed("a beat of another size than it says");
  out.whole = (flags & kWhole) != 0;
  out.beat.asks = (flags & kAsks) != 0;
  for (std::uint16_t i = 0; i < echoes; ++i) {
    Echo echo;
    echo.node.bytes = in.array<32>();
    echo.boots = in.number<std::uint64_t>();
    echo.beats = in.number<std::uint64_t>();
    if (i > 0 && echo.node <= out.beat.echoes.back().node) return malformed("echoes that do not ascend");
    out.beat.echoes.push_back(echo);
  }
  for (std::uint16_t i = 0; i < rows; ++i) {
    Result<Row> row = read_row(in);
    if (!row) return pass_on(std::move(row));
    if (i > 0 && row->resource <= out.rows.back().resource) return malformed("rows that do not ascend");
    out.rows.push_back(*row);
  }
  return out;
}

Result<Message> read_hears(ByteView bytes) {
  const std::size_t body = bytes.size() - 1;
  if (body % 32 != 0 || body / 32 > mesh::kMaxGateways) return malformed("a list of nodes of a wrong size");
  ByteReader in(bytes.subspan(1));
  Hears out;
  for (std::size_t i = 0; i < body / 32; ++i) {
    wire::PublicKey node;
    node.bytes = in.array<32>();
    if (i > 0 && node <= out.nodes.back()) return malformed("nodes that do not ascend");
    out.nodes.push_back(node);
  }
  return out;
}

}  // namespace

void sign(Beat& beat, std::string_view mesh, const wire::SecretKey& key) {
  beat.signature = key.sign(wire::domain::beat, signed_bytes(beat, mesh));
}

bool verify(const Beat& beat, std::string_view mesh) {
  return wire::verify(beat.node, wire::domain::beat, signed_bytes(beat, mesh), beat.signature);
}

bool is_beat_message(ByteView message) {
  return !message.empty() && message[0] >= static_cast<std::uint8_t>(Kind::beat) &&
         message[0] <= static_cast<std::uint8_t>(Kind::want_rows);
}

Bytes encode(const Message& message) {
  ByteWriter out;
  std::visit([&](const auto& said) { write(out, said); }, message);
  return out.take();
}

Result<Message> decode(ByteView bytes) {
  if (!is_beat_message(bytes)) return malformed("a message of another kind");
  switch (static_cast<Kind>(bytes[0])) {
    case Kind::beat:
      return read_beat(bytes);
    case Kind::hears:
      return read_hears(bytes);
    case Kind::want_rows:
      break;
  }
  if (bytes.size() != 1 + 32) return malformed("a question of a wrong size");
  WantRows want;
  want.node.bytes = ByteReader(bytes.subspan(1)).array<32>();
  return want;
}

Hash256 digest_of(const std::vector<Row>& rows) {
  ByteWriter out;
  for (const Row& row : rows)
    put(out, row);
  return wire::blake2b({out.take()});
}

}  // namespace postern::claims
