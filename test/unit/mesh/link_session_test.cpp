// SPDX-License-Identifier: Apache-2.0
#include "mesh/link_session.h"

#include <doctest/doctest.h>

#include "mesh/limits.h"
#include "unit/mesh/link_pair.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::mesh;
using testing::connect;
using testing::End;
using testing::feed;
using testing::Handshake;
using testing::outcome;

namespace {

Bytes frame(FrameKind kind, ByteView body) {
  return encode_frame(kind, body);
}

// The hello that `end` would begin with, as `change` leaves it.
template <class Change>
Bytes hello_of(const End& end, Change change) {
  Hello hello{"demo", kProtocols, end.identity.node, end.identity.incarnation, {}};
  hello.nonce[0] = 77;
  change(hello);
  return frame(FrameKind::hello, encode_hello(hello));
}

std::string refused_as(const SessionStep& step) {
  return step.refused ? std::string(refusal_label(*step.refused)) : "not refused";
}

struct Linked {
  End a{1};
  End b{2};
  LinkSession dialer = a.dial(b);
  LinkSession listener = b.listen();
  Handshake handshake = connect(dialer, listener);
};

}  // namespace

TEST_CASE("two gateways of a snapshot link, and what one sends arrives at the other") {
  Linked l;
  CHECK(l.listener.peer() == l.a.identity.node);
  CHECK(l.dialer.protocol() == 1);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kMaxChunkPayload, kMaxChunkPayload + 1}) {
    const Bytes message(size, 7);
    CHECK(feed(l.listener, l.dialer.seal(message).value()).message == message);
    CHECK(feed(l.dialer, l.listener.seal(message).value()).message == message);
  }
}

TEST_CASE("bytes may come one by one") {
  Linked l;
  const Bytes sealed = l.dialer.seal(as_bytes("slowly")).value();
  for (std::size_t i = 0; i + 1 < sealed.size(); ++i)
    CHECK_FALSE(feed(l.listener, ByteView(sealed).subspan(i, 1)).message);
  CHECK(feed(l.listener, ByteView(sealed).last(1)).message == Bytes{'s', 'l', 'o', 'w', 'l', 'y'});
}

TEST_CASE("a message at the bound goes over the link, one of a byte more does not") {
  Linked l;
  Bytes message(kMaxMessagePayload, 1);
  const Bytes sealed = l.dialer.seal(message).value();
  CHECK(sealed.size() == kMaxLinkMessage + chunks_of(kMaxMessagePayload) * kFrameHeadBytes);
  CHECK(feed(l.listener, sealed).message == message);
  message.push_back(1);
  CHECK(outcome(l.dialer.seal(message)) == "link.oversized");
}

TEST_CASE("a message above the bound is refused while it comes, whatever its sender thinks of bounds") {
  SealedChannel receiver(make_guarded<NoiseKeys>());
  std::optional<Refusal> refusal;
  NoiseKey key{};
  NoiseCipher cipher(key);
  std::size_t bytes = 0;
  while (!refusal && bytes <= 2 * kMaxLinkMessage) {
    Bytes chunk(kMaxNoiseMessage);
    REQUIRE(cipher.seal({}, Bytes(kMaxNoiseMessage - kNoiseTagBytes), chunk.data()));
    bytes += chunk.size();
    refusal = receiver.open(chunk).refusal;
  }
  CHECK(refusal == Refusal::oversized);
  CHECK(bytes <= kMaxLinkMessage + kMaxNoiseMessage);
}

TEST_CASE("chunks that are not full before the last one, of two kinds or with unknown bits are malformed") {
  for (const auto& [head, size] :
       {std::pair<std::uint8_t, std::size_t>{0, 10}, {4, kMaxChunkPayload}, {5, 3}}) {
    SealedChannel receiver(make_guarded<NoiseKeys>());
    NoiseKey key{};
    NoiseCipher cipher(key);
    Bytes plain(size + 1);
    plain[0] = head;
    Bytes chunk(plain.size() + kNoiseTagBytes);
    REQUIRE(cipher.seal({}, plain, chunk.data()));
    CHECK(receiver.open(chunk).refusal == Refusal::malformed);
  }
}

TEST_CASE("a tampered, repeated, skipped or reordered chunk ends the link") {
  {
    Linked l;
    Bytes sealed = l.dialer.seal(as_bytes("x")).value();
    sealed.back() ^= 1;
    CHECK(refused_as(feed(l.listener, sealed)) == "signature");
  }
  {
    Linked l;
    const Bytes sealed = l.dialer.seal(as_bytes("x")).value();
    CHECK(feed(l.listener, sealed).message);
    CHECK(refused_as(feed(l.listener, sealed)) == "signature");
  }
  {
    Linked l;
    [[maybe_unused]] const Bytes lost = l.dialer.seal(as_bytes("x")).value();
    CHECK(refused_as(feed(l.listener, l.dialer.seal(as_bytes("y")).value())) == "signature");
  }
}

TEST_CASE("hellos that must not lead to a link are refused by their reason") {
  End a(1);
  End b(2);
  End stranger(9);
  const auto nothing = [](Hello&) {};
  const auto says = [&](const Bytes& bytes) {
    LinkSession listener = b.listen();
    return refused_as(feed(listener, bytes));
  };
  CHECK(says(hello_of(a, nothing)) == "not refused");
  CHECK(says(hello_of(a, [](Hello& hello) { hello.mesh = "other"; })) == "mesh_mismatch");
  CHECK(says(hello_of(stranger, nothing)) == "untrusted");
  CHECK(says(hello_of(b, nothing)) == "self_link");
  CHECK(says(hello_of(a, [](Hello& hello) { hello.protocols = {2, 5}; })) == "protocol_unsupported");
  CHECK(says(hello_of(a, [](Hello& hello) { hello.protocols = {1, 9}; })) == "not refused");
  CHECK(says(hello_of(a, [](Hello& hello) { hello.protocols = {5, 2}; })) == "malformed");
  CHECK(says(hello_of(a, [](Hello& hello) { hello.mesh = "No Name"; })) == "malformed");
  CHECK(says(frame(FrameKind::hello, as_bytes("GET / HTTP/1.1"))) == "malformed");
  CHECK(says(Bytes{'G', 'E', 'T', ' ', '/'}) == "malformed");
  CHECK(says(frame(FrameKind::hello, Bytes(kMaxPlainFrame + 1))) == "oversized");
  CHECK(says(frame(FrameKind::handshake, Bytes(96))) == "malformed");
  CHECK(says(frame(FrameKind::sealed, {})) == "unknown_link");
}

TEST_CASE("sealed bytes of a link that this process never had are refused by their head alone") {
  End b(2);
  LinkSession listener = b.listen();
  const Bytes head{static_cast<std::uint8_t>(FrameKind::sealed), 0xff, 0xff};
  CHECK(refused_as(feed(listener, head)) == "unknown_link");
}

TEST_CASE("a hello of a later version may say more than this one knows") {
  End a(1);
  End b(2);
  Bytes hello = encode_hello({"demo", {1, 3}, a.identity.node, a.identity.incarnation, {}});
  hello.push_back(42);
  LinkSession listener = b.listen();
  CHECK(refused_as(feed(listener, frame(FrameKind::hello, hello))) == "not refused");
}

TEST_CASE("who does not hold the key of the gateway that it says it is gets no link") {
  End a(1);
  End b(2);
  End thief(3, {1, 2, 3});
  // The thief says that it is gateway 1, and has a key of its own.
  thief.identity.node = a.identity.node;
  LinkSession dialer = thief.dial(b);
  LinkSession listener = b.listen();
  const Bytes hello_back = feed(listener, dialer.start()).output;
  CHECK(refused_as(feed(listener, feed(dialer, hello_back).output)) == "untrusted");
}

TEST_CASE("who answers for a gateway without its key gets no link") {
  End a(1);
  End thief(3);
  thief.identity.node = End(2).identity.node;
  LinkSession dialer = a.dial(End(2));
  LinkSession listener = thief.listen();
  const Bytes hello_back = feed(listener, dialer.start()).output;
  CHECK(refused_as(feed(listener, feed(dialer, hello_back).output)) == "signature");
}

TEST_CASE("a hello that is changed on its way breaks the handshake, a lowered protocol range too") {
  for (const std::size_t field : {std::size_t{2}, std::size_t{4 + 32}}) {  // highest protocol, incarnation
    End a(1);
    End b(2);
    a.identity.protocols = {1, 2};
    LinkSession dialer = a.dial(b);
    LinkSession listener = b.listen();
    Bytes hello = dialer.start();
    hello[kFrameHeadBytes + 12 + 1 + 4 + field] ^= 3;
    const SessionStep back = feed(listener, hello);
    REQUIRE(refused_as(back) == "not refused");
    CHECK(refused_as(feed(listener, feed(dialer, back.output).output)) == "signature");
  }
}

TEST_CASE("a recorded handshake is refused as a replay, and would not open anyhow") {
  Linked l;
  LinkSession again = l.b.listen();
  CHECK(refused_as(feed(again, l.handshake.hello)) == "replay");
  // Another process does not know it any more.
  l.b.seen = {};
  LinkSession restarted = l.b.listen();
  CHECK(refused_as(feed(restarted, l.handshake.hello)) == "not refused");
  CHECK(refused_as(feed(restarted, l.handshake.first)) == "signature");
}

TEST_CASE("a handshake that is cut short anywhere leads to nothing") {
  End a(1);
  End b(2);
  LinkSession dialer = a.dial(b);
  LinkSession listener = b.listen();
  const Handshake whole = connect(dialer, listener);
  const std::pair<const Bytes*, const Bytes*> flights[] = {{nullptr, &whole.hello},
                                                           {&whole.hello, &whole.first}};
  for (const auto& [before, flight] : flights) {
    for (std::size_t size = 0; size < flight->size(); ++size) {
      End fresh(2);
      LinkSession other = fresh.listen();
      if (before != nullptr) (void)feed(other, *before);
      const SessionStep step = feed(other, ByteView(*flight).first(size));
      CHECK(step.output.empty());
      CHECK_FALSE(step.refused);
    }
  }
  // A frame that is whole, with a handshake message that is not.
  LinkSession other = b.listen();
  b.seen = {};
  (void)feed(other, a.dial(b).start());
  CHECK(refused_as(feed(other, frame(FrameKind::handshake, Bytes(40, 9)))) == "malformed");
}

TEST_CASE("nothing is carried before the responder has taken the link") {
  End a(1);
  End b(2);
  LinkSession listener = b.listen();
  Bytes prologue = encode_hello({"demo", kProtocols, a.identity.node, a.identity.incarnation, {}});
  const Bytes back = feed(listener, frame(FrameKind::hello, prologue)).output;
  prologue.insert(prologue.end(), back.begin() + kFrameHeadBytes, back.end());
  NoiseHandshake handshake(NoisePattern::ik, Side::initiator, prologue, a.identity.key,
                           b.identity.key.public_key);
  const Bytes first = handshake.write({}, a.randomness).value();
  const Bytes second = feed(listener, frame(FrameKind::handshake, first)).output;
  REQUIRE(handshake.read(ByteView(second).subspan(kFrameHeadBytes)));
  SealedChannel channel(handshake.split());
  CHECK(refused_as(feed(listener, channel.seal(MessageKind::carried, as_bytes("early")).value())) ==
        "malformed");
}

TEST_CASE("a gateway that is removed during its handshake gets no link") {
  End a(1);
  End b(2);
  LinkSession dialer = a.dial(b);
  LinkSession listener = b.listen();
  const Bytes first = feed(dialer, feed(listener, dialer.start()).output).output;
  b.members = Members(testing::snapshot_of({2}));
  CHECK(refused_as(feed(listener, first)) == "untrusted");
}

TEST_CASE("a refusal in the clear is a hint that ends the attempt") {
  End a(1);
  LinkSession dialer = a.dial(End(2));
  (void)dialer.start();
  const std::uint8_t number = static_cast<std::uint8_t>(Refusal::capacity);
  CHECK(feed(dialer, frame(FrameKind::refusal, ByteView(&number, 1))).refused_us == Refusal::capacity);
  LinkSession other = a.dial(End(2));
  (void)other.start();
  const std::uint8_t unknown = 99;
  CHECK(refused_as(feed(other, frame(FrameKind::refusal, ByteView(&unknown, 1)))) == "malformed");
}

TEST_CASE("control messages come back as they were encoded, and nothing else does") {
  for (const ControlMessage& message :
       {ControlMessage{.kind = ControlKind::confirm},
        ControlMessage{.kind = ControlKind::ping, .token = 1ULL << 63},
        ControlMessage{.kind = ControlKind::bye, .bye = Bye::refused, .refusal = Refusal::replay}})
    CHECK(parse_control_message(encode_control_message(message)).message == message);
  CHECK_FALSE(parse_control_message({}).message);
  CHECK_FALSE(parse_control_message(Bytes{4, 1, 2}).message);
  CHECK_FALSE(parse_control_message(Bytes{3, 9, 0}).message);
  CHECK(parse_control_message(Bytes{200}).unknown);
}

TEST_CASE("only active gateways of the snapshot may link") {
  authority::Snapshot snapshot = testing::snapshot_of({1, 2, 3});
  snapshot.gateways[1].state = authority::State::revoked;
  snapshot.gateways[2].key.bytes = {1};  // no key of the curve's large subgroup
  snapshot.tombstones.push_back({"old", testing::node_key(4).public_key()});
  const Members members(snapshot);
  CHECK(members.all().size() == 1);
  CHECK(members.find(node_id(testing::node_key(1).public_key()))->gateway == "g1");
  CHECK(members.find(node_id(testing::node_key(2).public_key())) == nullptr);
  CHECK(members.find(node_id(testing::node_key(4).public_key())) == nullptr);
}
