// SPDX-License-Identifier: Apache-2.0
// The signed file {"signatures":[{"key","sig"},...],"signed":PAYLOAD} (SPEC 3.2). The signatures part is read
// by a bounded reader that never looks into the payload; the payload's bytes are verified before anything
// parses them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "authority/errors.h"
#include "authority/snapshot.h"
#include "core/result.h"
#include "wire/sign.h"

namespace postern::authority {

inline constexpr std::size_t kMaxSignatureBytes = 64U << 10;

struct EnvelopeSignature {
  std::string key_id;
  wire::Signature signature;
};

// Views into the file's text, which must outlive it.
struct Envelope {
  std::vector<EnvelopeSignature> signatures;
  std::string_view payload;
};

Result<Envelope> open_envelope(std::string_view file);
std::string seal_envelope(const std::vector<EnvelopeSignature>& signatures, std::string_view payload);
// Adds `key`'s signature of the payload under `domain`, in the order of key ids; replaces one that this key
// made before.
Result<std::string> add_signature(std::string_view file, const wire::SecretKey& key, std::string_view domain);

// Succeeds when at least `root.threshold` distinct public keys of `root` signed the payload. Ids of unknown
// keys and repeated ids neither help nor harm.
Result<> verify_threshold(const Envelope& envelope, const Root& root, std::string_view domain);

// BLAKE2b-256 of the payload: the identity of a snapshot.
Hash256 payload_hash(std::string_view payload);

// root.json: {"keys":[base64],"mesh","threshold","v":1} in canonical JSON; a trailing newline is allowed.
struct TrustAnchor {
  std::string mesh;
  Root root;
};
Result<TrustAnchor> parse_trust_anchor(std::string_view text);
std::string encode_trust_anchor(const TrustAnchor& anchor);

}  // namespace postern::authority
