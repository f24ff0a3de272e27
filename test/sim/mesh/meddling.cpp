// SPDX-License-Identifier: Apache-2.0
// Wires: what somebody on the way can do who has no key.
#include <algorithm>

#include "mesh/frame.h"
#include "mesh/limits.h"
#include "sim/mesh/wires.h"

namespace postern::sim {
namespace {

constexpr std::size_t kOpening = 3;  // hello, first message, confirm
constexpr std::size_t kMostRecordings = 16;
constexpr const char* kMeddlings[] = {"altered", "dropped", "repeated", "overtaken", "shortened", "put in"};

}  // namespace

void Wires::meddle() {
  std::vector<Way*> ways;
  for (auto& [id, connection] : connections_) {
    if (!connection.open || connection.processes[0] == nullptr || connection.processes[1] == nullptr)
      continue;
    for (Way& way : connection.ways)
      if (!way.spoilt) ways.push_back(&way);
  }
  if (ways.empty()) return;
  ways[world_.random.below(ways.size())]->armed =
      static_cast<Meddling>(world_.random.below(std::size(kMeddlings)));
}

void Wires::spoil_opening(Connection& connection, Bytes& bytes) {
  ++counts_.meddlings;
  world_.say("altered: a handshake of " + connection.ends[0] + ">" + connection.ends[1]);
  const std::size_t at = world_.random.between(mesh::kFrameHeadBytes, bytes.size() - 1);
  bytes[at] ^= static_cast<std::uint8_t>(1U << world_.random.below(8));
  connection.spoilt_opening = true;
}

// A record that was meddled with ends the connection as soon as it is all there, but for one that was
// shortened: what follows fills it up.
void Wires::spoil(Way& way, Meddling how, Bytes bytes) {
  ++counts_.meddlings;
  world_.say(std::string(kMeddlings[static_cast<std::size_t>(how)]) + ": a record of a link");
  way.spoilt = true;
  const std::size_t frame_bytes = mesh::kFrameHeadBytes + load_le<std::uint16_t>(bytes, 1);
  switch (how) {
    case Meddling::alter:
      bytes[world_.random.between(mesh::kFrameHeadBytes, frame_bytes - 1)] ^=
          static_cast<std::uint8_t>(1U << world_.random.below(8));
      return push(way, std::move(bytes), true);
    case Meddling::drop:
      way.bad_next = true;
      return;
    case Meddling::repeat:
      push(way, bytes);
      return push(way, std::move(bytes), true);
    case Meddling::reorder:
      way.kept_back = std::move(bytes);
      way.bad_next = true;
      return;
    case Meddling::shorten:
      bytes.resize(world_.random.between(1, bytes.size() - 1));
      return push(way, std::move(bytes));
    case Meddling::insert:
      push(way, stray_, true);
      return push(way, std::move(bytes));
  }
}

void Wires::record(Connection& connection, const Bytes& bytes) {
  if (connection.opening.size() == kOpening) return;
  connection.opening.push_back(bytes);
  if (connection.opening.size() < kOpening) return;
  recordings_.push_back({connection.ends, connection.opening});
  if (recordings_.size() > kMostRecordings) recordings_.pop_front();
}

void Wires::replay_handshake() {
  if (recordings_.empty()) return;
  const Recording& recording = recordings_[world_.random.below(recordings_.size())];
  ++counts_.recordings;
  world_.say("a handshake of " + recording.ends[0] + ">" + recording.ends[1] + " is played again");
  Connection& connection = connections_[mesh::ConnectionId(++last_id_)];
  connection.ends = recording.ends;
  connection.recording = true;
  connection.due_ns = world_.now_ns;
  // The hello alone is refused by who remembers it, the first message by everybody.
  push(connection.ways[1], recording.opening[0]);
  push(connection.ways[1], recording.opening[1], true);
  push(connection.ways[1], recording.opening[2]);
}

}  // namespace postern::sim
