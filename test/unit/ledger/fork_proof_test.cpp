// SPDX-License-Identifier: Apache-2.0
#include "ledger/fork_proof.h"

#include <doctest/doctest.h>

#include "ledger/format.h"
#include "stream_writer.h"

namespace postern::ledger {
namespace {

struct Sides {
  wire::SecretKey key = wire::SecretKey::generate();
  SealedEvent opened, a, b, a_next;

  Sides() {
    StreamWriter writer(key);
    opened = writer.write(std::string(kStreamOpened));
    StreamWriter other = writer;
    a = writer.write("Note", wire::Json::object({{"word", std::string(40'000, 'a')}}));
    b = other.write("Note", wire::Json::object({{"word", std::string(40'000, 'b')}}));
    a_next = writer.write("Note");
  }
};

std::string header(const SealedEvent& e) {
  return *header_of(e.sealed);
}

}  // namespace

TEST_CASE("the headers of two large events prove their fork in a small event") {
  const Sides sides;
  const Result<ForkProof> proof = prove_fork(header(sides.b), header(sides.a));
  REQUIRE(proof);
  CHECK(proof->at == Seq(2));
  CHECK(proof->prev == sides.opened.hash);
  CHECK(*proof == *prove_fork(header(sides.a), header(sides.b)));
  const wire::SecretKey teller = wire::SecretKey::generate();
  StreamWriter writer(teller);
  const SealedEvent told = writer.write(std::string(kStreamForked), body_of(*proof));
  CHECK(told.sealed.size() < 5000);
  CHECK(*read_fork(told.event) == *proof);
}

TEST_CASE("a header is the event without its body, and says so if the body changes") {
  const Sides sides;
  const Result<Event> opened = open_event_header(header(sides.a));
  REQUIRE(opened);
  CHECK(opened->seq == Seq(2));
  CHECK(header(sides.a).size() < kMaxEventHeaderBytes);
  std::string other_body = sides.a.sealed;
  other_body[other_body.find("aaaa")] = 'b';
  CHECK_FALSE(open_event_header(*header_of(other_body)));
}

TEST_CASE("what proves no fork is refused") {
  const Sides sides;
  const Sides others;
  CHECK_FALSE(prove_fork(header(sides.a), header(sides.a)));            // one event
  CHECK_FALSE(prove_fork(header(sides.a), header(sides.opened)));       // two places
  CHECK_FALSE(prove_fork(header(sides.a_next), header(sides.opened)));  // likewise
  CHECK_FALSE(prove_fork(header(sides.a), header(others.a)));           // two authors
  std::string unsigned_header = header(sides.b);
  unsigned_header[unsigned_header.find("\"lamport\":2") + 10] = '3';
  CHECK(prove_fork(header(sides.a), unsigned_header).error().code == errc::event_signature);
}

TEST_CASE("two events that follow different ones prove nothing about their own place") {
  const wire::SecretKey key = wire::SecretKey::generate();
  StreamWriter a(key);
  StreamWriter b = a;
  a.write_all(2, "a");
  b.write_all(2, "b");
  const SealedEvent third_a = a.write("Note");
  const SealedEvent third_b = b.write("Note");
  const Result<ForkProof> proof = prove_fork(header(third_a), header(third_b));
  REQUIRE_FALSE(proof);
  CHECK(proof.error().context.find("further back") != std::string::npos);
}

TEST_CASE("nobody proves a fork of a stream that is not the signer's") {
  const wire::SecretKey thief = wire::SecretKey::generate();
  const Sides victim;
  Event event = victim.a.event;
  event.key = thief.public_key();
  event.body = wire::Json::object();
  const std::string one = *header_of(seal_event(event, thief));
  event.kind = "Other";
  const std::string two = *header_of(seal_event(event, thief));
  CHECK_FALSE(prove_fork(one, two));
}

TEST_CASE("a StreamForked of another mesh, in the wrong order or with more in it is refused") {
  const Sides sides;
  const ForkProof proof = *prove_fork(header(sides.a), header(sides.b));
  Event event = sides.a.event;
  event.kind = kStreamForked;
  event.body = body_of(proof);
  CHECK(read_fork(event));
  event.mesh = "green";
  CHECK_FALSE(read_fork(event));
  event.mesh = "blue";
  event.body = wire::Json::object({{"first", proof.second}, {"second", proof.first}});
  CHECK_FALSE(read_fork(event));
  event.body = body_of(proof);
  event.body.set("more", 1);
  CHECK_FALSE(read_fork(event));
}

}  // namespace postern::ledger
