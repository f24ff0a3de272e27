// SPDX-License-Identifier: Apache-2.0
// A secret key is nowhere in this process's memory once it is gone. The secret that is looked for is held
// inverted, so that the search does not find itself.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "core/unique_fd.h"
#include "unit/core/scratch_directory.h"
#include "wire/base64.h"
#include "wire/sign.h"

using namespace postern;

namespace {

// Shadow memory of sanitizers is larger, and no place for secrets.
constexpr std::uint64_t kLargestRegion = std::uint64_t{256} << 20;

using Inverted = std::vector<std::uint8_t>;

Inverted invert(ByteView bytes) {
  Inverted out(bytes.begin(), bytes.end());
  for (std::uint8_t& byte : out)
    byte = static_cast<std::uint8_t>(~byte);
  return out;
}

void wipe(volatile char* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = 0;
}

// The base64 of the seed as it stands in the key file.
Inverted seed_text_of(const std::filesystem::path& key_file) {
  constexpr std::size_t kPrefix = std::string_view("postern-key-v1 ").size();
  std::array<char, 128> raw{};
  const UniqueFd fd(::open(key_file.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t got = ::read(fd.get(), raw.data(), raw.size());
  REQUIRE(got > static_cast<ssize_t>(kPrefix) + 44);
  Inverted out = invert(as_bytes(std::string_view(raw.data() + kPrefix, 44)));
  wipe(raw.data(), raw.size());
  return out;
}

Inverted seed_of(Inverted text) {
  std::string base64;
  base64.reserve(text.size() + 1);
  for (const std::uint8_t byte : text)
    base64.push_back(static_cast<char>(~byte));
  Bytes seed = *wire::base64_decode(base64);
  Inverted out = invert(seed);
  wipe(base64.data(), base64.size());
  wipe(reinterpret_cast<char*>(seed.data()), seed.size());
  return out;
}

std::size_t copies_within(ByteView memory, const Inverted& secret) {
  std::size_t copies = 0;
  const std::uint8_t* at = memory.data();
  const std::uint8_t* const end = at + memory.size() - std::min(memory.size(), secret.size() - 1);
  while (at < end) {
    at = static_cast<const std::uint8_t*>(
        std::memchr(at, static_cast<std::uint8_t>(~secret.front()), static_cast<std::size_t>(end - at)));
    if (at == nullptr) break;
    std::size_t same = 1;
    while (same < secret.size() && at[same] == static_cast<std::uint8_t>(~secret[same]))
      ++same;
    if (same == secret.size()) ++copies;
    ++at;
  }
  return copies;
}

// Of all anonymous, writable memory of this process.
std::size_t copies_in_memory(const Inverted& secret) {
  std::ifstream maps("/proc/self/maps");
  const UniqueFd memory(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC));
  REQUIRE(memory.get() >= 0);
  std::size_t copies = 0;
  Bytes region;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::array<char, 5> rights{};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights.data()) != 3) continue;
    if (rights[0] != 'r' || rights[1] != 'w' || end - begin > kLargestRegion) continue;
    if (line.find('/') != std::string::npos) continue;  // a file's
    region.resize(end - begin);
    const ssize_t got = ::pread(memory.get(), region.data(), region.size(), static_cast<off_t>(begin));
    if (got > 0) copies += copies_within(ByteView(region).first(static_cast<std::size_t>(got)), secret);
    std::fill(region.begin(), region.end(), std::uint8_t{0});
  }
  return copies;
}

}  // namespace

TEST_CASE("a key that was made, saved, loaded and used leaves nothing of itself in memory") {
  const testing::ScratchDirectory scratch;
  const std::filesystem::path file = scratch / "node.key";
  std::optional<wire::SecretKey> made = wire::SecretKey::generate();
  REQUIRE(made->save(file));
  std::optional<wire::SecretKey> loaded = std::move(wire::SecretKey::load(file).value());
  [[maybe_unused]] const wire::Signature signature = loaded->sign(wire::domain::event, as_bytes("x"));
  const Inverted text = seed_text_of(file);
  const Inverted seed = seed_of(text);
  CHECK(copies_in_memory(seed) == 2);  // one a key: the search finds what is there
  CHECK(copies_in_memory(text) == 0);
  made.reset();
  wire::SecretKey moved = std::move(*loaded);
  loaded.reset();
  CHECK(copies_in_memory(seed) == 1);
  moved = wire::SecretKey::generate();
  CHECK(copies_in_memory(seed) == 0);
}
