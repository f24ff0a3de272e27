// SPDX-License-Identifier: Apache-2.0
#include "sync/snapshot_exchange.h"

#include <doctest/doctest.h>

#include <deque>
#include <map>
#include <set>

#include "mesh/errors.h"
#include "sync/errors.h"
#include "wire/hash.h"

using namespace postern;
using namespace postern::sync;

namespace {

constexpr std::uint64_t kTick_ns = 100 * mesh::kMillisecond_ns;

SnapshotOffer offer_of(std::uint64_t serial, const std::string& file) {
  return {Serial(serial), wire::blake2b({as_bytes(file)}), file.size()};
}

// A gateway that adopts whatever file is as its serial says: SERIAL, then anything.
class Node final : public SnapshotShelf, public Carrier {
 public:
  explicit Node(std::string called) : name(std::move(called)) {}

  void serve(std::uint64_t serial, std::string text) {
    file = std::move(text);
    serial_ = Serial(serial);
  }
  std::optional<SnapshotOffer> served() override {
    if (serial_ == Serial() || on_trial) return std::nullopt;
    return offer_of(serial_.value, file);
  }
  Serial adopted() const override { return serial_; }
  Result<Bytes> read(const SnapshotOffer&, std::uint64_t offset, std::size_t bytes) override {
    const ByteView all = as_bytes(file);
    return Bytes(all.begin() + static_cast<std::ptrdiff_t>(offset),
                 all.begin() + static_cast<std::ptrdiff_t>(offset + bytes));
  }
  Result<> begin() override {
    spool.emplace();
    return {};
  }
  Result<> append(ByteView bytes) override {
    REQUIRE(spool);
    spool->append(as_text(bytes));
    most_spooled = std::max(most_spooled, spool->size());
    return {};
  }
  void drop() override { spool.reset(); }
  void take(const SnapshotOffer& offer, std::string_view, Done done) override { done(took(offer)); }
  Result<> took(const SnapshotOffer& offer) {
    const std::string text = *std::exchange(spool, std::nullopt);
    if (wire::blake2b({as_bytes(text)}) != offer.hash) return fail(errc::malformed, "another file");
    ++offered;
    if (!text.starts_with(std::to_string(offer.serial.value) + " "))
      return fail(errc::unknown_kind, "forged");
    serve(offer.serial.value, text);
    return {};
  }
  Result<> send(std::string_view gateway, ByteView message) override {
    REQUIRE(message.size() <= mesh::kMaxMessagePayload);
    if (full.count(std::string(gateway)) != 0) return fail(mesh::errc::link_full, "");
    out.emplace_back(std::string(gateway), Bytes(message.begin(), message.end()));
    return {};
  }
  void hold(std::string_view) override {}
  void resume(std::string_view) override {}

  std::string name;
  std::string file;
  bool on_trial = false;
  bool fetches = true;
  std::optional<std::string> spool;
  std::size_t most_spooled = 0;
  int offered = 0;  // to the door
  std::set<std::string> full;
  std::deque<std::pair<std::string, Bytes>> out;
  SnapshotExchange exchange{*this, *this};

 private:
  Serial serial_;
};

struct Mesh {
  void link(Node& one, Node& other) {
    nodes[one.name] = &one;
    nodes[other.name] = &other;
    one.exchange.on_up({other.name, 1, {}});
    other.exchange.on_up({one.name, 1, {}});
  }
  void run_for(std::uint64_t time_ms) {
    for (const std::uint64_t end_ns = now_ns + time_ms * mesh::kMillisecond_ns; now_ns < end_ns;) {
      now_ns += kTick_ns;
      for (auto& [name, node] : nodes)
        node->exchange.tick(now_ns, node->fetches);
      deliver();
    }
  }
  void deliver() {
    for (bool any = true; any;) {
      any = false;
      for (auto& [name, node] : nodes) {
        if (node->out.empty()) continue;
        const auto [to, bytes] = std::move(node->out.front());
        node->out.pop_front();
        any = true;
        if (nodes.count(to) != 0 && mute.count(name) == 0) nodes.at(to)->exchange.on_message(name, bytes);
      }
    }
  }
  std::map<std::string, Node*> nodes;
  std::set<std::string> mute;  // what they send is lost
  std::uint64_t now_ns = 1'000 * mesh::kSecond_ns;
};

std::string large_file(std::uint64_t serial) {
  std::string file = std::to_string(serial) + " ";
  while (file.size() < 5 * kSnapshotChunkBytes + 7)
    file += static_cast<char>('a' + file.size() % 23);
  return file;
}

}  // namespace

TEST_CASE("a newer snapshot goes from gateway to gateway, over several, in chunks of a bounded size") {
  Node a("a");
  Node b("b");
  Node c("c");
  a.serve(7, large_file(7));
  c.serve(6, "6 old");
  Mesh mesh;
  mesh.link(a, b);
  mesh.link(b, c);
  mesh.run_for(3'000);
  CHECK(b.file == a.file);
  CHECK(c.file == a.file);
  CHECK(b.exchange.counts().adopted == 1);
  CHECK(a.exchange.counts().sent == 6);
  CHECK(a.exchange.counts().adopted == 0);
  // What is served later is told.
  c.serve(8, "8 newest");
  mesh.run_for(3'000);
  CHECK(a.file == "8 newest");
  CHECK(a.offered == 1);
}

TEST_CASE("a snapshot on trial is offered to nobody, and one that fetches none is left alone") {
  Node a("a");
  Node b("b");
  a.serve(7, "7 on trial");
  a.on_trial = true;
  Mesh mesh;
  mesh.link(a, b);
  mesh.run_for(2'000);
  CHECK(b.file.empty());
  a.on_trial = false;
  b.fetches = false;
  mesh.run_for(2'000);
  CHECK(b.file.empty());
  b.fetches = true;
  mesh.run_for(2'000);
  CHECK(b.file == a.file);
}

TEST_CASE("a forged snapshot is refused, counted, and not fetched again for a while, whoever offers it") {
  Node a("a");
  Node bad("bad");
  Node twin("twin");
  Node good("good");
  bad.serve(9, "not signed");
  twin.serve(9, "not signed");
  good.serve(8, "8 real");
  Mesh mesh;
  mesh.link(a, bad);
  mesh.link(a, twin);
  mesh.link(a, good);
  bad.fetches = twin.fetches = good.fetches = false;
  mesh.run_for(20'000);
  CHECK(a.file == "8 real");
  CHECK(a.exchange.counts().refused == 1);
  CHECK(a.exchange.problem().empty());
  CHECK_FALSE(a.spool);
  mesh.run_for(300'000);
  CHECK(a.exchange.counts().refused == 2);
  CHECK(a.exchange.problem().find("forged") != std::string::npos);
}

TEST_CASE("a peer that sends other bytes than it offered is given up, and another one asked") {
  Node a("a");
  Node good("good");
  good.serve(8, large_file(8));
  good.fetches = false;
  Mesh mesh;
  mesh.nodes["a"] = &a;
  a.exchange.on_up({"bad", 1, {}});
  const auto offer = [&] { a.exchange.on_message("bad", encode(offer_of(9, large_file(8)))); };
  const auto chunk = [&](std::uint64_t offset, const Bytes& bytes) {
    a.exchange.on_message("bad", encode(SnapshotChunk{offer_of(9, large_file(8)).hash, offset, bytes}));
  };
  // A chunk that is too short.
  offer();
  mesh.run_for(100);
  mesh.run_for(100);
  REQUIRE(a.exchange.fetching_from() == "bad");
  chunk(0, Bytes(100));
  CHECK(a.exchange.counts().garbage == 1);
  CHECK_FALSE(a.spool);
  // Chunks of the right size and another content: found out when it is whole, before anything is verified.
  mesh.run_for(2'000);
  offer();
  mesh.run_for(200);
  REQUIRE(a.exchange.fetching_from() == "bad");
  for (std::uint64_t offset = 0; offset < large_file(8).size(); offset += kSnapshotChunkBytes) {
    chunk(offset, Bytes(std::min<std::size_t>(kSnapshotChunkBytes, large_file(8).size() - offset)));
  }
  CHECK(a.exchange.counts().garbage == 2);
  CHECK(a.offered == 0);
  CHECK(a.most_spooled == large_file(8).size());
  // What nobody asked for goes nowhere.
  chunk(0, Bytes(kSnapshotChunkBytes));
  CHECK_FALSE(a.spool);
  // It says to have one, and is silent: the next one is asked.
  mesh.run_for(10'000);
  mesh.link(a, good);
  offer();
  mesh.run_for(15'000);
  CHECK(a.file == good.file);
}

TEST_CASE("who is asked by everybody answers each in turn, and waits while a link is full") {
  Node a("a");
  Node b("b");
  a.serve(7, large_file(7));
  Mesh mesh;
  mesh.link(a, b);
  mesh.run_for(100);
  a.full.insert("b");
  mesh.run_for(1'000);
  CHECK(b.file.empty());
  a.full.clear();
  a.exchange.on_room("b");
  mesh.run_for(2'000);
  CHECK(b.file == a.file);
  // A flood of questions costs so many answers a tick.
  a.out.clear();
  for (int i = 0; i < 1'000; ++i)
    a.exchange.on_message("b", encode(SnapshotAsk{offer_of(7, a.file).hash, 0}));
  CHECK(a.out.size() <= 8);
}

TEST_CASE("messages about snapshots read back as they were, and others are refused") {
  const Bytes bytes(9, 3);
  for (const SnapshotMessage& message :
       {SnapshotMessage(SnapshotOffer{Serial(5), Hash256{1}, 77}),
        SnapshotMessage(SnapshotAsk{Hash256{2}, 0}),
        SnapshotMessage(SnapshotChunk{Hash256{3}, kSnapshotChunkBytes, bytes}),
        SnapshotMessage(SnapshotGone{Hash256{4}})}) {
    const Bytes encoded = encode(message);
    CHECK(is_snapshot_message(encoded));
    const Result<SnapshotMessage> read = decode_snapshot_message(encoded);
    REQUIRE(read);
    CHECK(encode(*read) == encoded);
    for (std::size_t size = 0; size < 33; ++size)
      CHECK_FALSE(decode_snapshot_message(ByteView(encoded).first(size)));
  }
  CHECK_FALSE(decode_snapshot_message(encode(SnapshotOffer{Serial(5), Hash256{1}, 0})));
  CHECK_FALSE(
      decode_snapshot_message(encode(SnapshotOffer{Serial(5), Hash256{1}, kMaxSnapshotFileBytes + 1})));
  CHECK_FALSE(decode_snapshot_message(encode(SnapshotAsk{Hash256{2}, 5})));
  CHECK_FALSE(decode_snapshot_message(encode(SnapshotChunk{Hash256{3}, 0, Bytes(kSnapshotChunkBytes + 1)})));
  CHECK_FALSE(is_snapshot_message(Bytes{23}));
  CHECK_FALSE(is_snapshot_message(Bytes{28}));
}
