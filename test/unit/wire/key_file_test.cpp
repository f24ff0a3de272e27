// SPDX-License-Identifier: Apache-2.0
#include "wire/key_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "core/file.h"
#include "unit/core/scratch_directory.h"
#include "unit/outcome.h"

using namespace postern;
using namespace postern::wire;
using namespace postern::testing;

namespace {

Passphrase phrase(std::string_view text) {
  Passphrase out;
  for (const char c : text)
    out.append(c);
  return out;
}

AskPassphrase answer(std::string text) {
  return [text = std::move(text)]() -> Result<Passphrase> { return phrase(text); };
}

Result<Passphrase> nobody_asks() {
  FAIL("asked for a passphrase");
  return Passphrase();
}

}  // namespace

TEST_CASE("a key file with a passphrase opens with it, and with no other") {
  const ScratchDirectory scratch;
  const auto path = scratch / "sealed.key";
  const SecretKey key = SecretKey::generate();
  REQUIRE(save_sealed_key(key, path, phrase("correct horse")));
  const Result<SecretKey> opened = load_key_file(path, answer("correct horse"));
  REQUIRE(opened);
  CHECK(opened->public_key() == key.public_key());
  const Result<SecretKey> wrong = load_key_file(path, answer("correct horsE"));
  CHECK(outcome(wrong) == "key.invalid");
  CHECK(says(wrong, "the passphrase is wrong"));
  CHECK(says(SecretKey::load(path), "without a passphrase"));
}

TEST_CASE("the file of a sealed key holds no trace of the seed, and is its owner's alone") {
  const ScratchDirectory scratch;
  const auto path = scratch / "sealed.key";
  const SecretKey key = SecretKey::generate();
  REQUIRE(save_sealed_key(key, path, phrase("x")));
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(key.save(scratch / "plain.key"));
  const std::string plain = read_file(scratch / "plain.key", 1024).value();
  const std::string sealed = read_file(path, 1024).value();
  CHECK(sealed.find(plain.substr(15, 40)) == std::string::npos);
  ::chmod(path.c_str(), 0640);
  CHECK(says(load_key_file(path, nobody_asks), "chmod 600"));
}

TEST_CASE("a sealed key file is refused when it was changed, and asks for absurd work only in vain") {
  const ScratchDirectory scratch;
  const auto path = scratch / "sealed.key";
  REQUIRE(save_sealed_key(SecretKey::generate(), path, phrase("x")));
  const std::string good = read_file(path, 1024).value();
  const auto with = [&](std::string text) {
    REQUIRE(write_file_durably(path, text, 0600));
    return load_key_file(path, answer("x"));
  };
  std::string changed = good;
  changed[changed.size() - 6] = changed[changed.size() - 6] == 'A' ? 'B' : 'A';
  CHECK(says(with(changed), "damaged"));
  CHECK(says(with(good.substr(0, good.size() - 5)), "damaged"));
  // Passes and memory stand after the 16 bytes of salt: all bits set.
  std::string greedy = good;
  greedy.replace(22 + 24, 8, "////////");
  CHECK(says(with(greedy), "damaged"));
}

TEST_CASE("a key file without a passphrase opens without being asked for one") {
  const ScratchDirectory scratch;
  const SecretKey key = SecretKey::generate();
  REQUIRE(key.save(scratch / "plain.key"));
  CHECK(load_key_file(scratch / "plain.key", nobody_asks).value().public_key() == key.public_key());
  CHECK(outcome(save_sealed_key(key, scratch / "no.key", Passphrase())) == "key.invalid");
}
