// SPDX-License-Identifier: Apache-2.0
#include "authority/envelope.h"

#include <algorithm>
#include <set>

#include "wire/base64.h"
#include "wire/hash.h"

namespace postern::authority {
namespace {

constexpr std::string_view kHead = "{\"signatures\":[";
constexpr std::string_view kKey = "{\"key\":\"";
constexpr std::string_view kSig = "\",\"sig\":\"";
constexpr std::string_view kEntryEnd = "\"}";
constexpr std::string_view kSigned = "],\"signed\":";
constexpr std::size_t kKeyIdText = 64;  // hex of 32 bytes
constexpr std::size_t kSigText = 88;    // base64 of 64 bytes
// A wrong signature costs a pass over the payload, so that not more than these are tried for one key.
constexpr int kMaxTries = 4;

// Reads the few fixed words before the payload. Never looks further than kMaxSignatureBytes.
class Scanner {
 public:
  explicit Scanner(std::string_view file) : text_(file.substr(0, kMaxSignatureBytes)) {}

  bool skip(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::string_view take(std::size_t size) {
    const std::string_view out = text_.substr(at_, size);
    at_ += out.size();
    return out;
  }
  std::size_t at() const { return at_; }
  bool exhausted() const { return text_.size() == kMaxSignatureBytes && at_ + kHead.size() > text_.size(); }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

tl::unexpected<Error> malformed(const Scanner& scanner, std::string_view expected) {
  return fail(errc::envelope, "byte " + std::to_string(scanner.at()) + " of the snapshot file: expected " +
                                  std::string(expected) + "; this is no signed snapshot, or it was changed");
}

Result<EnvelopeSignature> read_signature(Scanner& scanner) {
  EnvelopeSignature out;
  if (!scanner.skip(kKey)) return malformed(scanner, "{\"key\":\"...\",\"sig\":\"...\"}");
  const std::string_view id = scanner.take(kKeyIdText);
  if (!array_from_hex<32>(id)) return malformed(scanner, "a key id before it, 64 digits of lower-case hex");
  out.key_id = id;
  if (!scanner.skip(kSig)) return malformed(scanner, "\",\"sig\":\"");
  const std::optional<Bytes> bytes = wire::base64_decode(scanner.take(kSigText));
  if (!bytes || bytes->size() != out.signature.size()) {
    return malformed(scanner, "a signature before it, base64 of 64 bytes");
  }
  std::copy(bytes->begin(), bytes->end(), out.signature.begin());
  if (!scanner.skip(kEntryEnd)) return malformed(scanner, "\"}");
  return out;
}

Result<std::vector<EnvelopeSignature>> read_signatures(Scanner& scanner) {
  std::vector<EnvelopeSignature> out;
  if (!scanner.skip(kHead)) return malformed(scanner, kHead);
  while (!scanner.skip(kSigned)) {
    if (!out.empty() && !scanner.skip(",")) return malformed(scanner, "a comma or ],\"signed\":");
    Result<EnvelopeSignature> signature = read_signature(scanner);
    if (!signature) return pass_on(std::move(signature));
    out.push_back(std::move(*signature));
  }
  return out;
}

enum class Verdict { absent, bad, good };

Verdict judge(const Envelope& envelope, const wire::PublicKey& key, std::string_view domain) {
  const std::string id = key.id();
  int tries = 0;
  for (const EnvelopeSignature& entry : envelope.signatures) {
    if (entry.key_id != id) continue;
    if (wire::verify(key, domain, as_bytes(envelope.payload), entry.signature)) return Verdict::good;
    if (++tries == kMaxTries) break;
  }
  return tries == 0 ? Verdict::absent : Verdict::bad;
}

}  // namespace

Result<Envelope> open_envelope(std::string_view file) {
  Scanner scanner(file);
  Result<std::vector<EnvelopeSignature>> signatures = read_signatures(scanner);
  if (!signatures) {
    if (!scanner.exhausted()) return pass_on(std::move(signatures));
    return fail(errc::envelope,
                "the signatures take more than " + std::to_string(kMaxSignatureBytes) + " bytes");
  }
  std::string_view payload = file.substr(scanner.at());
  if (payload.size() < 3 || payload.front() != '{' || !payload.ends_with("}}")) {
    return fail(
        errc::envelope,
        "the snapshot file does not end with the signed object and one closing brace; it was cut short, or "
        "something follows it");
  }
  payload.remove_suffix(1);
  return Envelope{std::move(*signatures), payload};
}

std::string seal_envelope(const std::vector<EnvelopeSignature>& signatures, std::string_view payload) {
  std::string out;
  out.reserve(payload.size() + kHead.size() + kSigned.size() + 1 + signatures.size() * 180);
  out += kHead;
  std::string_view separator;
  for (const EnvelopeSignature& entry : signatures) {
    out.append(separator).append(kKey).append(entry.key_id).append(kSig);
    out.append(wire::base64_encode(entry.signature)).append(kEntryEnd);
    separator = ",";
  }
  return out.append(kSigned).append(payload).append("}");
}

Result<std::string> add_signature(std::string_view file, const wire::SecretKey& key,
                                  std::string_view domain) {
  Result<Envelope> envelope = open_envelope(file);
  if (!envelope) return pass_on(std::move(envelope));
  std::vector<EnvelopeSignature>& signatures = envelope->signatures;
  const std::string id = key.public_key().id();
  std::erase_if(signatures, [&id](const EnvelopeSignature& entry) { return entry.key_id == id; });
  signatures.push_back({id, key.sign(domain, as_bytes(envelope->payload))});
  std::stable_sort(
      signatures.begin(), signatures.end(),
      [](const EnvelopeSignature& a, const EnvelopeSignature& b) { return a.key_id < b.key_id; });
  std::string out = seal_envelope(signatures, envelope->payload);
  if (Result<Envelope> again = open_envelope(out); !again) return pass_on(std::move(again));
  return out;
}

Result<> verify_threshold(const Envelope& envelope, const Root& root, std::string_view domain) {
  const std::set<wire::PublicKey> keys(root.keys.begin(), root.keys.end());
  std::uint32_t good = 0;
  std::string bad;
  for (const wire::PublicKey& key : keys) {
    if (root.threshold != 0 && good >= root.threshold) return {};
    const Verdict verdict = judge(envelope, key, domain);
    if (verdict == Verdict::good) ++good;
    if (verdict == Verdict::bad) bad = key.id();
  }
  if (root.threshold != 0 && good >= root.threshold) return {};
  if (!bad.empty()) {
    return fail(errc::signature,
                "the signature of key " + bad +
                    " does not match the content: the snapshot was changed after it was signed, "
                    "or signed for something else; fetch it again");
  }
  return fail(errc::threshold, std::to_string(good) + " keys of the trusted root signed this, " +
                                   std::to_string(root.threshold) +
                                   " are needed; have the missing ones sign it (postern authority sign)");
}

Hash256 payload_hash(std::string_view payload) {
  return wire::blake2b({as_bytes(payload)});
}

}  // namespace postern::authority
