// SPDX-License-Identifier: Apache-2.0
// Ed25519 with domain separation: what is signed is `domain || 0x00 || bytes`, so a signature of one kind of
// document never verifies as another (SPEC 3.2). Secret keys move, never copy, and are wiped when they go.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "core/result.h"
#include "wire/errors.h"

namespace postern::wire {

namespace domain {
inline constexpr std::string_view snapshot = "postern/snapshot/v1";
inline constexpr std::string_view timestamp = "postern/timestamp/v1";
inline constexpr std::string_view revocation = "postern/revocation/v1";
inline constexpr std::string_view event = "postern/event/v1";
inline constexpr std::string_view beat = "postern/beat/v1";
inline constexpr std::string_view base = "postern/base/v1";
inline constexpr std::string_view link = "postern/link/v1";
}  // namespace domain

using Signature = std::array<std::uint8_t, 64>;

struct PublicKey {
  std::array<std::uint8_t, 32> bytes{};

  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;  // NOLINT(modernize-use-nullptr)

  std::string id() const;    // hex BLAKE2b-256 of the bytes; recomputed, never believed
  std::string text() const;  // base64
  static std::optional<PublicKey> parse(std::string_view base64);
};

// True only for a canonical, non-malleable signature by a key that is not of small order.
bool verify(const PublicKey& key, std::string_view domain, ByteView bytes, const Signature& signature);

class SecretKey {
 public:
  static SecretKey generate();
  // The seed is the secret itself: for key files only, in memory that is wiped (key_file.h).
  static SecretKey from_seed(std::span<const std::uint8_t, 32> seed);
  std::span<const std::uint8_t, 32> seed() const;
  // A key file: the line "postern-key-v1 <base64 of the 32-byte seed>". Refused when others than the owner
  // may read.
  static Result<SecretKey> load(const std::filesystem::path& path);
  // Writes a new file, mode 0600, durably. An existing file is never replaced.
  Result<> save(const std::filesystem::path& path) const;

  const PublicKey& public_key() const { return public_; }
  Signature sign(std::string_view domain, ByteView bytes) const;

 private:
  // The secret lies in guarded memory that is locked where the system allows it; freeing wipes it.
  struct Wiped {
    void operator()(std::uint8_t* secret) const;
  };

  SecretKey();
  std::unique_ptr<std::uint8_t[], Wiped> secret_;  // seed, then public key; empty only after a move
  PublicKey public_;
};

}  // namespace postern::wire
