// SPDX-License-Identifier: Apache-2.0
// What a gateway may say about events: it is decoded within the bounds, or refused; and what was decoded is
// encoded as the same bytes.
#include <algorithm>
#include <cstdlib>

#include "sync/errors.h"
#include "sync/limits.h"
#include "sync/message.h"
#include "sync/snapshot_message.h"

using namespace postern;
using namespace postern::sync;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_events(const std::vector<std::string_view>& sealed) {
  require(!sealed.empty());
  for (const std::string_view event : sealed)
    require(event.size() >= kMinEventBytes && event.size() <= ledger::kMaxEventBytes);
}

void check_bounds(const Message& message) {
  if (const auto* marks = std::get_if<Marks>(&message)) require(marks->marks.size() <= ledger::kMaxStreams);
  if (const auto* ranges = std::get_if<Ranges>(&message)) require(ranges->ranges.size() <= kMaxRanges);
  if (const auto* events = std::get_if<Events>(&message)) check_events(events->sealed);
  if (const auto* step = std::get_if<Step>(&message)) check_events(step->sealed);
}

// About snapshots, which share the links.
void take_snapshot_message(ByteView bytes) {
  const Result<SnapshotMessage> read = decode_snapshot_message(bytes);
  if (!read) return require(read.error().code == errc::malformed);
  if (const auto* chunk = std::get_if<SnapshotChunk>(&*read))
    require(!chunk->bytes.empty() && chunk->bytes.size() <= kSnapshotChunkBytes);
  const Bytes again = encode(*read);
  require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  if (is_snapshot_message(bytes)) {
    take_snapshot_message(bytes);
    return 0;
  }
  const Result<Message> read = decode(bytes);
  if (!read) {
    require(read.error().code == errc::malformed || read.error().code == errc::unknown_kind);
    return 0;
  }
  check_bounds(*read);
  const Bytes again = encode(*read);
  require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  return 0;
}
