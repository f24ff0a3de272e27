// SPDX-License-Identifier: Apache-2.0
#include "wire/sign.h"

#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/file.h"
#include "core/unique_fd.h"
#include "wire/base64.h"
#include "wire/ed25519.h"
#include "wire/hash.h"
#include "wire/sodium_ready.h"

namespace postern::wire {
namespace {

constexpr std::string_view kKeyFilePrefix = "postern-key-v1 ";
constexpr std::size_t kSeedText = 44;  // base64 of 32 bytes
constexpr std::size_t kKeyFileBytes = kKeyFilePrefix.size() + kSeedText;

Bytes with_domain(std::string_view domain, ByteView bytes) {
  Bytes out;
  out.reserve(domain.size() + 1 + bytes.size());
  out.insert(out.end(), domain.begin(), domain.end());
  out.push_back(0);
  out.insert(out.end(), bytes.begin(), bytes.end());
  return out;
}

// The file's text, in memory that is wiped. One byte more than a key file has tells a longer one.
struct KeyText {
  std::array<char, kKeyFileBytes + 2> bytes{};
  std::size_t size = 0;
  KeyText() = default;
  KeyText(const KeyText&) = delete;
  KeyText& operator=(const KeyText&) = delete;
  ~KeyText() { ::sodium_memzero(bytes.data(), bytes.size()); }
};

Result<> read_key_text(const std::filesystem::path& path, KeyText& text) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) {
    return fail(postern::errc::file_unreadable, "cannot open " + path.string() + ": " + std::strerror(errno));
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return fail(errc::bad_key, path.string() + " is no regular file; name a key file");
  }
  if ((status.st_mode & 077) != 0) {
    return fail(errc::bad_key,
                path.string() +
                    " may be read or changed by others than its owner; take that away (chmod 600) "
                    "and consider the key exposed");
  }
  while (text.size < text.bytes.size()) {
    const ssize_t got = ::read(fd.get(), text.bytes.data() + text.size, text.bytes.size() - text.size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return fail(postern::errc::file_unreadable,
                  "cannot read " + path.string() + ": " + std::strerror(errno));
    }
    if (got == 0) break;
    text.size += static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

bool ed25519_verify(ByteView public_key, ByteView message, ByteView signature) {
  sodium_ready();
  return public_key.size() == crypto_sign_PUBLICKEYBYTES && signature.size() == crypto_sign_BYTES &&
         ::crypto_sign_verify_detached(signature.data(), message.data(), message.size(), public_key.data()) ==
             0;
}

std::string PublicKey::id() const {
  return to_hex(blake2b({bytes}));
}

std::string PublicKey::text() const {
  return base64_encode(bytes);
}

std::optional<PublicKey> PublicKey::parse(std::string_view base64) {
  const std::optional<Bytes> decoded = base64_decode(base64);
  PublicKey out;
  if (!decoded || decoded->size() != out.bytes.size()) return std::nullopt;
  std::copy(decoded->begin(), decoded->end(), out.bytes.begin());
  return out;
}

bool verify(const PublicKey& key, std::string_view domain, ByteView bytes, const Signature& signature) {
  return ed25519_verify(key.bytes, with_domain(domain, bytes), signature);
}

void SecretKey::Wiped::operator()(std::uint8_t* secret) const {
  ::sodium_free(secret);
}

SecretKey::SecretKey() {
  sodium_ready();
  secret_.reset(static_cast<std::uint8_t*>(::sodium_malloc(crypto_sign_SECRETKEYBYTES)));
  if (!secret_) std::abort();  // out of memory, as operator new would have it
}

SecretKey SecretKey::generate() {
  SecretKey out;
  ::crypto_sign_keypair(out.public_.bytes.data(), out.secret_.get());
  return out;
}

SecretKey SecretKey::from_seed(std::span<const std::uint8_t, 32> seed) {
  SecretKey out;
  ::crypto_sign_seed_keypair(out.public_.bytes.data(), out.secret_.get(), seed.data());
  return out;
}

std::span<const std::uint8_t, 32> SecretKey::seed() const {
  return std::span<const std::uint8_t, 32>(secret_.get(), 32);
}

Result<SecretKey> SecretKey::load(const std::filesystem::path& path) {
  KeyText text;
  if (Result<> read = read_key_text(path, text); !read) return pass_on(std::move(read));
  const std::string_view line(text.bytes.data(), text.size);
  const bool framed =
      line.size() == kKeyFileBytes || (line.size() == kKeyFileBytes + 1 && line.back() == '\n');
  std::optional<Bytes> seed;
  if (framed && line.starts_with(kKeyFilePrefix)) {
    seed = base64_decode(line.substr(kKeyFilePrefix.size(), kSeedText));
  }
  if (!seed || seed->size() != crypto_sign_SEEDBYTES) {
    if (seed) ::sodium_memzero(seed->data(), seed->size());
    return fail(errc::bad_key, path.string() +
                                   " is no key file without a passphrase: expected one line \"postern-key-v1 "
                                   "<base64 of 32 bytes>\"; "
                                   "`postern keygen` makes one");
  }
  SecretKey out;
  ::crypto_sign_seed_keypair(out.public_.bytes.data(), out.secret_.get(), seed->data());
  ::sodium_memzero(seed->data(), seed->size());
  return out;
}

Result<> SecretKey::save(const std::filesystem::path& path) const {
  std::string encoded = base64_encode({secret_.get(), crypto_sign_SEEDBYTES});
  std::string line;
  line.reserve(kKeyFileBytes + 1);
  line.append(kKeyFilePrefix).append(encoded).append("\n");
  Result<> saved = create_file_durably(path, line, 0600);
  ::sodium_memzero(encoded.data(), encoded.size());
  ::sodium_memzero(line.data(), line.size());
  return saved;
}

Signature SecretKey::sign(std::string_view domain, ByteView bytes) const {
  const Bytes message = with_domain(domain, bytes);
  Signature out{};
  ::crypto_sign_detached(out.data(), nullptr, message.data(), message.size(), secret_.get());
  return out;
}

}  // namespace postern::wire
