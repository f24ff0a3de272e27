// SPDX-License-Identifier: Apache-2.0
// Noise handshakes (rev 34, section 5) over 25519, ChaChaPoly and BLAKE2b. Links use IK. Sans I/O; ephemeral
// keys come from the Randomness that is handed in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/bytes.h"
#include "core/result.h"
#include "mesh/guarded.h"
#include "mesh/node_key.h"
#include "mesh/noise_cipher.h"
#include "mesh/randomness.h"

namespace postern::mesh {

enum class NoisePattern { ik, xx };
enum class Side { initiator, responder };

// The keys of both directions after a handshake.
struct NoiseKeys {
  NoiseKey send{};
  NoiseKey receive{};
};

class NoiseHandshake {
 public:
  // `own` must outlive this. IK's initiator knows `remote`; nobody else does.
  NoiseHandshake(NoisePattern pattern, Side side, ByteView prologue, const StaticKey& own,
                 std::optional<DhPublic> remote = std::nullopt);

  // The next message of this side, with `payload` inside; sealed as far as the pattern has keys by then.
  Result<Bytes> write(ByteView payload, Randomness& randomness);
  // Reads the other side's next message and gives its payload. After a failure the handshake is over.
  Result<Bytes> read(ByteView message);

  bool finished() const { return next_ == messages_.size(); }
  // Known once it was given or read; whose it is, is the caller's to judge.
  const std::optional<DhPublic>& remote_static() const { return remote_static_; }
  // Of everything that both sides saw. Good when finished.
  const NoiseHash& hash() const { return hash_; }
  // The keys that the finished handshake leads to.
  Guarded<NoiseKeys> split() const;

 private:
  enum class Token : std::uint8_t { e, s, ee, es, se, ss };
  using Message = std::span<const Token>;

  struct Secrets {
    NoiseHash chaining_key{};
    NoiseKey key{};
    DhSecret ephemeral{};
  };

  static std::span<const Message> messages_of(NoisePattern pattern);
  bool is_mine() const { return (next_ % 2 == 0) == (side_ == Side::initiator); }
  Result<> check_turn(bool writing) const;
  Result<> write_token(Token token, Bytes& out, Randomness& randomness);
  Result<> read_token(Token token, ByteView& rest);
  Result<> mix_dh(Token token);
  void mix_key(ByteView input);
  void mix_hash(ByteView data) { hash_ = noise_hash(hash_, data); }
  Result<> append_sealed(ByteView plaintext, Bytes& out);
  Result<Bytes> open_sealed(ByteView sealed);

  std::span<const Message> messages_;
  Side side_;
  const StaticKey* own_;
  Guarded<Secrets> secrets_;
  NoiseHash hash_{};
  bool keyed_ = false;
  bool failed_ = false;
  std::uint64_t nonce_ = 0;
  std::size_t next_ = 0;  // message of the pattern
  DhPublic own_ephemeral_{};
  std::optional<DhPublic> remote_static_;
  std::optional<DhPublic> remote_ephemeral_;
};

}  // namespace postern::mesh
