// SPDX-License-Identifier: Apache-2.0
// What a stranger, or a gateway with its key, may send over a connection: it leads to a link or to a refusal,
// never to anything else, and what was decoded is encoded as the same. The first byte says which reader gets
// the rest. Both sides' keys and randomness are fixed, so that what was found once is found again.
#include <algorithm>
#include <cstdlib>

#include "mesh/link_session.h"
#include "unit/mesh/scripted_randomness.h"

namespace {

using namespace postern;
using namespace postern::mesh;

wire::SecretKey node_key(std::uint8_t number) {
  std::array<std::uint8_t, 32> seed{};
  seed[0] = number;
  return wire::SecretKey::from_seed(seed);
}

Members members() {
  authority::Snapshot snapshot;
  for (const std::uint8_t number : {std::uint8_t{1}, std::uint8_t{2}}) {
    authority::Gateway gateway;
    gateway.id = "g" + std::to_string(number);
    gateway.key = node_key(number).public_key();
    snapshot.gateways.push_back(gateway);
  }
  return Members(snapshot);
}

LinkIdentity identity() {
  LinkIdentity out;
  out.mesh = "demo";
  out.node = node_id(node_key(2).public_key());
  out.incarnation = {2, 1};
  out.key = link_key(node_key(2));
  return out;
}

void serve(ByteView bytes) {
  static const LinkIdentity own = identity();
  static const Members known = members();
  ReplayMemory seen;
  testing::SeededRandomness randomness(2);
  LinkSession session({own, known, seen, randomness});
  session.append(bytes);
  for (SessionStep step = session.step(); !step.waits; step = session.step()) {
    if (step.asks) (void)session.accept();
    if (step.message && !session.is_up()) std::abort();
    if (step.refused || step.refused_us) return;
  }
}

void hello(ByteView bytes) {
  const std::optional<Hello> parsed = parse_hello(bytes);
  if (!parsed) return;
  const Bytes again = encode_hello(*parsed);
  if (again.size() > bytes.size() || !std::equal(again.begin(), again.end(), bytes.begin())) std::abort();
}

void control(ByteView bytes) {
  const ParsedControl parsed = parse_control_message(bytes);
  if (parsed.message && parsed.unknown) std::abort();
  if (parsed.message &&
      parse_control_message(encode_control_message(*parsed.message)).message != parsed.message)
    std::abort();
}

// Chunks as a gateway that has the key can make them: length, then the plaintext.
void chunks(ByteView bytes) {
  const NoiseKey key{};
  NoiseCipher sealer(key);
  SealedChannel channel(make_guarded<NoiseKeys>());
  std::size_t total = 0;
  while (bytes.size() >= 2) {
    // Large chunks from few bytes.
    const std::size_t size =
        std::min<std::size_t>(load_le<std::uint16_t>(bytes, 0), kMaxNoiseMessage - kNoiseTagBytes);
    bytes = bytes.subspan(2);
    Bytes plain(size, 0);
    std::copy_n(bytes.begin(), std::min(size, bytes.size()), plain.begin());
    bytes = bytes.subspan(std::min<std::size_t>(std::min(size, bytes.size()), 8));
    Bytes sealed(size + kNoiseTagBytes);
    if (!sealer.seal({}, plain, sealed.data())) std::abort();
    const SealedChannel::Opened opened = channel.open(sealed);
    if (opened.refusal == Refusal::signature) std::abort();
    if (opened.refusal) return;
    total += size;
    if (opened.message && opened.message->payload.size() > kMaxMessagePayload) std::abort();
    if (opened.message) total = 0;
    if (total > kMaxLinkMessage) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const ByteView rest(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      serve(rest);
      break;
    case 1:
      hello(rest);
      break;
    case 2:
      control(rest);
      break;
    default:
      chunks(rest);
  }
  return 0;
}
