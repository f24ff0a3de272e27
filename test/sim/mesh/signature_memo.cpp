// SPDX-License-Identifier: Apache-2.0
// In a simulated mesh each gateway checks the signatures of all others, and checks them again after each
// crash. Whether a signature is right is a pure function of key, message and signature, and half of a life's
// time went into it; the linker puts this memo before libsodium's (--wrap), so a signature is checked once by
// libsodium and then remembered.
#include <sodium/crypto_sign.h>
#include <xxhash.h>

#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker gives these names
extern "C" {
int __real_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long message_bytes, const unsigned char* key);
int __wrap_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long message_bytes, const unsigned char* key);
int __real_crypto_sign_detached(unsigned char* signature, unsigned long long* signature_bytes,
                                const unsigned char* message, unsigned long long message_bytes,
                                const unsigned char* secret);
int __wrap_crypto_sign_detached(unsigned char* signature, unsigned long long* signature_bytes,
                                const unsigned char* message, unsigned long long message_bytes,
                                const unsigned char* secret);
}

namespace {

constexpr std::size_t kMostRemembered = 1U << 16U;

class Memo {
 public:
  std::optional<int> of(const XXH128_hash_t& digest) {
    const std::lock_guard lock(mutex_);
    const auto known = found_.find(digest.low64);
    if (known == found_.end() || known->second.first.high64 != digest.high64) return std::nullopt;
    return known->second.second;
  }
  void keep(const XXH128_hash_t& digest, int right) {
    const std::lock_guard lock(mutex_);
    if (found_.size() >= kMostRemembered) found_.clear();
    found_.insert_or_assign(digest.low64, std::pair{digest, right});
  }

 private:
  std::mutex mutex_;
  std::unordered_map<XXH64_hash_t, std::pair<XXH128_hash_t, int>> found_;
};

Memo& memo() {
  static Memo all;
  return all;
}

XXH128_hash_t digest_of(const unsigned char* signature, const unsigned char* message,
                        unsigned long long message_bytes, const unsigned char* key) {
  std::vector<unsigned char> all(message, message + message_bytes);
  all.insert(all.end(), signature, signature + crypto_sign_BYTES);
  all.insert(all.end(), key, key + crypto_sign_PUBLICKEYBYTES);
  return ::XXH3_128bits(all.data(), all.size());
}

}  // namespace

int __wrap_crypto_sign_verify_detached(const unsigned char* signature, const unsigned char* message,
                                       unsigned long long message_bytes, const unsigned char* key) {
  const XXH128_hash_t digest = digest_of(signature, message, message_bytes, key);
  if (const std::optional<int> known = memo().of(digest)) return *known;
  const int right = __real_crypto_sign_verify_detached(signature, message, message_bytes, key);
  memo().keep(digest, right);
  return right;
}

int __wrap_crypto_sign_detached(unsigned char* signature, unsigned long long* signature_bytes,
                                const unsigned char* message, unsigned long long message_bytes,
                                const unsigned char* secret) {
  const int failed = __real_crypto_sign_detached(signature, signature_bytes, message, message_bytes, secret);
  // The public key is the second half of the secret one.
  if (failed == 0)
    memo().keep(digest_of(signature, message, message_bytes, secret + crypto_sign_SEEDBYTES), 0);
  return failed;
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
