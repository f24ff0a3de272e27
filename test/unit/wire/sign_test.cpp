// SPDX-License-Identifier: Apache-2.0
#include "wire/sign.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/file.h"
#include "unit/core/scratch_directory.h"
#include "unit/outcome.h"
#include "wire/base64.h"
#include "wire/ed25519.h"
#include "wire/hash.h"

using namespace postern;
using namespace postern::wire;
using namespace postern::testing;

TEST_CASE("a signature verifies for its own key, domain and bytes, and for nothing else") {
  const SecretKey key = SecretKey::generate();
  const SecretKey other = SecretKey::generate();
  const Signature signature = key.sign(domain::snapshot, as_bytes("payload"));
  CHECK(verify(key.public_key(), domain::snapshot, as_bytes("payload"), signature));
  CHECK_FALSE(verify(other.public_key(), domain::snapshot, as_bytes("payload"), signature));
  CHECK_FALSE(verify(key.public_key(), domain::event, as_bytes("payload"), signature));
  CHECK_FALSE(verify(key.public_key(), domain::snapshot, as_bytes("payloae"), signature));
  Signature changed = signature;
  changed[0] ^= 1;
  CHECK_FALSE(verify(key.public_key(), domain::snapshot, as_bytes("payload"), changed));
}

TEST_CASE("a signature of one kind of document never verifies as any other") {
  const SecretKey key = SecretKey::generate();
  constexpr std::string_view kDomains[] = {domain::snapshot, domain::timestamp, domain::revocation,
                                           domain::event,    domain::beat,      domain::base,
                                           domain::link};
  for (const std::string_view made_as : kDomains) {
    const Signature signature = key.sign(made_as, as_bytes("payload"));
    for (const std::string_view taken_as : kDomains) {
      CAPTURE(made_as);
      CAPTURE(taken_as);
      CHECK(verify(key.public_key(), taken_as, as_bytes("payload"), signature) == (made_as == taken_as));
    }
  }
}

TEST_CASE("what is signed is the domain, a zero byte and the bytes") {
  const SecretKey key = SecretKey::generate();
  const Signature signature = key.sign("d", as_bytes("x"));
  CHECK(ed25519_verify(key.public_key().bytes, as_bytes(std::string_view("d\0x", 3)), signature));
  // Bytes cannot move over from the message into the domain.
  CHECK_FALSE(verify(key.public_key(), "dx", {}, signature));
}

TEST_CASE("a key's id is the hash of its bytes, and its text comes back") {
  const PublicKey key = SecretKey::generate().public_key();
  CHECK(key.id() == to_hex(blake2b({key.bytes})));
  CHECK(PublicKey::parse(key.text()) == key);
  for (const std::string_view bad : {"", "AAAA", "not base64"})
    CHECK_FALSE(PublicKey::parse(bad));
  CHECK_FALSE(PublicKey::parse(base64_encode(Bytes(33, 1))));
}

TEST_CASE("a saved key is loaded back, readable by its owner alone") {
  const ScratchDirectory scratch;
  const SecretKey key = SecretKey::generate();
  REQUIRE(outcome(key.save(scratch / "key")) == "ok");
  struct stat status {};
  REQUIRE(::stat((scratch / "key").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0600);
  CHECK(read_file(scratch / "key", 100).value().starts_with("postern-key-v1 "));
  const Result<SecretKey> loaded = SecretKey::load(scratch / "key");
  REQUIRE(outcome(loaded) == "ok");
  CHECK(loaded->public_key() == key.public_key());
  CHECK(loaded->sign("d", as_bytes("x")) == key.sign("d", as_bytes("x")));
}

TEST_CASE("a key file derives the published public key from its seed") {
  // RFC 8032 section 7.1, test 1.
  const ScratchDirectory scratch;
  const Bytes seed = from_hex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60").value();
  REQUIRE(outcome(write_file_durably(scratch / "key", "postern-key-v1 " + base64_encode(seed), 0600)) ==
          "ok");
  CHECK(to_hex(SecretKey::load(scratch / "key").value().public_key().bytes) ==
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
}

TEST_CASE("saving a key never replaces one") {
  const ScratchDirectory scratch;
  const SecretKey key = SecretKey::generate();
  REQUIRE(outcome(key.save(scratch / "key")) == "ok");
  CHECK(outcome(SecretKey::generate().save(scratch / "key")) == "file.exists");
  CHECK(SecretKey::load(scratch / "key").value().public_key() == key.public_key());
}

TEST_CASE("a key file that others may read is refused") {
  const ScratchDirectory scratch;
  REQUIRE(outcome(SecretKey::generate().save(scratch / "key")) == "ok");
  for (const mode_t mode : {0640, 0604, 0660, 0602}) {
    REQUIRE(::chmod((scratch / "key").c_str(), mode) == 0);
    CHECK(outcome(SecretKey::load(scratch / "key")) == "key.invalid");
    CHECK(says(SecretKey::load(scratch / "key"), "chmod 600"));
  }
}

TEST_CASE("what is no key file is refused") {
  const ScratchDirectory scratch;
  const std::string seed = base64_encode(Bytes(32, 7));
  for (const std::string& text :
       {std::string(), "postern-key-v2 " + seed, "postern-key-v1 " + base64_encode(Bytes(31, 7)),
        "postern-key-v1 " + seed + "\n\n", "postern-key-v1 " + seed + "x",
        "postern-key-v1  " + seed.substr(1), std::string(100'000, 'x')}) {
    REQUIRE(outcome(write_file_durably(scratch / "key", text, 0600)) == "ok");
    CHECK(outcome(SecretKey::load(scratch / "key")) == "key.invalid");
  }
  CHECK(outcome(SecretKey::load(scratch / "none")) == "file.unreadable");
  CHECK(outcome(SecretKey::load(scratch / "")) == "key.invalid");
}

TEST_CASE("a moved key signs as before") {
  SecretKey key = SecretKey::generate();
  const Signature before = key.sign("d", as_bytes("x"));
  const SecretKey moved = std::move(key);
  CHECK(moved.sign("d", as_bytes("x")) == before);
}
