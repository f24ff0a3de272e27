// SPDX-License-Identifier: Apache-2.0
// What a peer, or a great many streams, may cost.
#include "unit/sync/sync_network.h"

using namespace postern;
using namespace postern::sync;
using namespace postern::testing;
using ledger::Offer;

namespace {

std::size_t bytes_of_events(const std::vector<Message>& messages) {
  std::size_t bytes = 0;
  for (const Message& message : messages)
    if (std::holds_alternative<Events>(message)) bytes += encode(message).size();
  return bytes;
}

std::uint32_t session_of(const SyncNetwork& network, const std::string& by, const std::string& towards) {
  std::uint32_t session = 0;
  for (const Message& said : network.messages(by, towards))
    if (const auto* credit = std::get_if<Credit>(&said); credit != nullptr) session = credit->session;
  return session;
}

// First events of as many streams as a mesh may have, but for the own ones of a few gateways.
const std::vector<ledger::SealedEvent>& many_streams() {
  static const std::vector<ledger::SealedEvent> events = [] {
    std::vector<ledger::SealedEvent> out;
    while (out.size() < ledger::kMaxStreams - 8) {
      const wire::SecretKey key = wire::SecretKey::generate();
      for (std::size_t i = 0; i < ledger::kMaxStreamsANode; ++i)
        out.push_back(ledger::StreamWriter(key).write_all(1)[0]);
    }
    return out;
  }();
  return events;
}

}  // namespace

TEST_CASE("a peer is sent no more events than it gave credit for, and the rest when it gives more") {
  SyncNetwork network;
  network.link_bytes = std::size_t{1} << 30;
  network.keep_diary = true;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  a.write(130, "a", 40'000);
  network.link("a", "b");
  b.verifier.holds = true;
  network.run_for(3'000);
  const std::size_t sent = bytes_of_events(network.messages("a", "b"));
  CHECK(sent <= kMaxWindowBytes);
  CHECK(sent > kMaxWindowBytes - 2 * kMaxEventsBytes);
  CHECK(b.row("a").waiting_bytes == sent);
  CHECK(a.row("b").credit_bytes == kMaxWindowBytes - sent);
  CHECK(b.verifier.jobs.size() == 1);
  b.verifier.go_on();
  network.run_for(2'000);
  CHECK(network.level());
}

TEST_CASE("the windows of many peers together stay within what all may hold") {
  CHECK(window_bytes(1) == kMaxWindowBytes);
  CHECK(window_bytes(16) == kMaxWindowBytes);
  CHECK(window_bytes(64) * 64 <= kAllWindowsBytes);
  CHECK(window_bytes(mesh::kMaxGateways) == kMinWindowBytes);
}

TEST_CASE("a peer that sends more events than it has credit for is not listened to for a while") {
  SyncNetwork network;
  network.keep_diary = true;
  SyncNode& a = network.add("a");
  network.add("bad");
  network.link("a", "bad");
  network.run_for(300);
  const wire::SecretKey third = wire::SecretKey::generate();
  ledger::StreamWriter writer(third);
  const std::vector<ledger::SealedEvent> events = writer.write_all(60, std::string(1'000, 'x'));
  std::vector<std::string_view> sealed;
  for (const ledger::SealedEvent& event : events)
    sealed.push_back(event.sealed);
  sealed.resize(45);
  const Message message = Events{session_of(network, "a", "bad"), writer.stream(), Seq(1), sealed};
  a.verifier.holds = true;
  for (std::size_t bytes = 0; bytes <= kMaxWindowBytes; bytes += encode(message).size())
    network.send_as("bad", "a", message);
  network.deliver();
  CHECK(a.sync->counts().overdrawn == 1);
  CHECK(a.row("bad").penalties == 1);
  CHECK(a.row("bad").why.find("credit") != std::string::npos);
}

TEST_CASE("streams take turns, so that a long one holds up no other") {
  SyncNetwork network;
  network.keep_diary = true;
  network.add("a");
  SyncNode& b = network.add("b");
  const wire::SecretKey third = wire::SecretKey::generate();
  for (int i = 0; i < 3; ++i)
    b.take(ledger::StreamWriter(third).write_all(150, std::string(2'000, 'x')));
  network.link("a", "b");
  network.run_for(3'000);
  CHECK(network.level());
  std::vector<Id128> order;
  for (const Message& message : network.messages("b", "a"))
    if (const auto* events = std::get_if<Events>(&message); events != nullptr && events->sealed.size() > 5)
      order.push_back(events->stream);
  REQUIRE(order.size() > 12);
  for (std::size_t i = 0; i + 1 < 12; ++i)
    CHECK(order[i] != order[i + 1]);
}

TEST_CASE("with as many streams as there may be, two gateways find by ranges the few that differ") {
  SyncNetwork network;
  network.keep_diary = true;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  a.take(many_streams());
  std::vector<ledger::SealedEvent> most = many_streams();
  most.resize(most.size() - 2);
  b.take(most);
  network.link("a", "b");
  network.run_for(2'000);
  CHECK(network.level());
  std::size_t marks = 0;
  for (const auto& [from, to] : {std::pair{"a", "b"}, std::pair{"b", "a"}})
    for (const Message& message : network.messages(from, to)) {
      if (!std::holds_alternative<Events>(message)) CHECK(encode(message).size() <= kRoundMarksBytes);
      if (const auto* told = std::get_if<Marks>(&message); told != nullptr) marks += told->marks.size();
    }
  CHECK(marks <= 2 * 5 * 2 * kMarksPerRange);
  CHECK(a.row("b").events_in + b.row("a").events_in <= 8);
}

TEST_CASE("a newcomer gets all streams, however many, and each round moves events") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  network.add("b");
  a.take(many_streams());
  network.link("a", "b");
  network.run_for(100);
  // All marks at once are asked for while all events are still to be sent.
  network.slow = {{"a", "b"}};
  Expand all;
  Span span;
  for (const StreamMark& mark : [&] {
         std::vector<StreamMark> ends;
         for (std::size_t i = 63; i < many_streams().size(); i += 64)
           ends.push_back({many_streams()[i].event.stream, Seq(1), {}, Seq()});
         std::sort(ends.begin(), ends.end(),
                   [](const StreamMark& x, const StreamMark& y) { return x.stream < y.stream; });
         return ends;
       }()) {
    span = {span.last, mark.stream};
    all.spans.push_back(span);
  }
  network.link_bytes = std::size_t{1} << 30;
  network.send_as("b", "a", all);
  network.deliver();
  network.slow.insert({"b", "a"});
  a.write(40, "a", 40'000);
  network.keep_diary = true;
  network.run_for(100);
  std::size_t sealed = 0;
  std::size_t marks = 0;
  for (const Message& message : network.messages("a", "b")) {
    const std::size_t bytes = encode(message).size();
    sealed += mesh::sealed_bytes(bytes);
    if (std::holds_alternative<Marks>(message)) marks += bytes;
  }
  CHECK(sealed <= kRoundBytes);
  CHECK(marks > kRoundMarksBytes / 2);
  CHECK(marks <= kRoundMarksBytes);
  CHECK(bytes_of_events(network.messages("a", "b")) > kRoundBytes / 2);
  network.slow.clear();
  network.run_for(10'000);
  CHECK(network.level());
}

TEST_CASE("a peer that tells of more streams than there may be is not listened to for a while") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  network.add("bad");
  network.link("a", "bad");
  network.run_for(300);
  for (std::uint32_t part = 1; part <= 3; ++part) {
    Marks marks;
    for (std::uint32_t i = 1; i <= ledger::kMaxStreams; ++i) {
      Id128 id{};
      id[0] = static_cast<std::uint8_t>(part);
      id[1] = static_cast<std::uint8_t>(i >> 8);
      id[2] = static_cast<std::uint8_t>(i);
      marks.marks.push_back({id, Seq(1), Hash256{1}, Seq()});
    }
    network.send_as("bad", "a", marks);
  }
  network.deliver();
  CHECK(a.row("bad").penalties == 1);
  CHECK(a.row("bad").why == "marks of more streams than a mesh has");
}

TEST_CASE("a peer that talks without end is read on at the next tick only") {
  SyncNetwork network;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  network.link("a", "b");
  network.run_for(300);
  Marks marks;
  for (std::uint32_t i = 1; i <= ledger::kMaxStreams; ++i) {
    Id128 id{};
    id[0] = static_cast<std::uint8_t>(i >> 8);
    id[1] = static_cast<std::uint8_t>(i);
    id[2] = 1;
    marks.marks.push_back({id, Seq(1), Hash256{1}, Seq()});
  }
  for (int i = 0; i < 9; ++i)
    network.send_as("b", "a", marks);
  network.deliver();
  CHECK(a.held.count("b") == 1);
  CHECK(network.queued_bytes("b", "a") >= 4 * kMaxMarksBytes);
  b.write(3);
  network.run_for(1'000);
  CHECK(a.held.empty());
  CHECK(network.level());
}

TEST_CASE("a link that takes little at a time carries everything in the end") {
  SyncNetwork network;
  network.link_bytes = kMaxEventsBytes + 1'000;
  SyncNode& a = network.add("a");
  SyncNode& b = network.add("b");
  a.write(100, "a", 5'000);
  b.write(100, "b", 5'000);
  network.link("a", "b");
  network.run_for(5'000);
  CHECK(network.level());
}

TEST_CASE("what is early has room of its author's and of all, and what found none is sent again") {
  EarlyEvents early;
  const auto event_of = [](const wire::SecretKey& key, Id128 stream, std::uint64_t seq, std::size_t bytes) {
    ledger::Event event;
    event.key = key.public_key();
    event.stream = stream;
    event.seq = Seq(seq);
    return ledger::VerifiedEvent{event, std::string(bytes, 'x'), {}};
  };
  const wire::SecretKey mad = wire::SecretKey::generate();
  CHECK(early.hold(event_of(mad, Id128{1}, 1, kMaxEarlyBytesAnAuthor)));
  CHECK_FALSE(early.hold(event_of(mad, Id128{1}, 2, 300)));
  CHECK_FALSE(early.hold(event_of(mad, Id128{2}, 1, 300)));
  CHECK(early.hold(event_of(mad, Id128{1}, 1, 300)));  // is there
  const std::size_t authors = kMaxEarlyBytes / kMaxEarlyBytesAnAuthor;
  for (std::size_t i = 1; i < authors; ++i)
    CHECK(early.hold(event_of(wire::SecretKey::generate(), Id128{9, static_cast<std::uint8_t>(i)}, 1,
                              kMaxEarlyBytesAnAuthor)));
  CHECK_FALSE(early.hold(event_of(wire::SecretKey::generate(), Id128{3}, 1, 300)));
  early.retry([](const ledger::VerifiedEvent& event) {
    return event.event.stream == Id128{1} ? Offer::taken : Offer::early;
  });
  CHECK(early.bytes() == kMaxEarlyBytes - kMaxEarlyBytesAnAuthor);
  CHECK(early.hold(event_of(mad, Id128{2}, 1, 300)));
}
