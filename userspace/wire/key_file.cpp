// SPDX-License-Identifier: Apache-2.0
#include "wire/key_file.h"

#include <fcntl.h>
#include <sodium.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "core/file.h"
#include "core/unique_fd.h"
#include "wire/base64.h"
#include "wire/sodium_ready.h"

namespace postern::wire {
namespace {

constexpr std::string_view kHead = "postern-sealed-key-v1 ";
constexpr std::size_t kMaxFileBytes = 1024;
constexpr std::uint32_t kPasses = crypto_pwhash_OPSLIMIT_MODERATE;
constexpr std::uint32_t kMemoryKib = crypto_pwhash_MEMLIMIT_MODERATE / 1024;
// What a file may ask of this machine: more than this program ever writes, and not all of its memory.
constexpr std::uint32_t kMaxPasses = 16;
constexpr std::uint32_t kMaxMemoryKib = 1U << 20;

struct Sealed {
  std::array<std::uint8_t, crypto_pwhash_SALTBYTES> salt{};
  std::uint32_t passes = kPasses;
  std::uint32_t memory_kib = kMemoryKib;
  std::array<std::uint8_t, crypto_secretbox_NONCEBYTES> nonce{};
  std::array<std::uint8_t, crypto_secretbox_MACBYTES + crypto_sign_SEEDBYTES> box{};
};
constexpr std::size_t kSealedBytes = crypto_pwhash_SALTBYTES + 8 + crypto_secretbox_NONCEBYTES +
                                     crypto_secretbox_MACBYTES + crypto_sign_SEEDBYTES;

// Guarded memory that is wiped when it goes.
struct Wipe {
  void operator()(std::uint8_t* secret) const { ::sodium_free(secret); }
};
using Secret = std::unique_ptr<std::uint8_t[], Wipe>;

Result<Secret> make_secret(std::size_t size) {
  sodium_ready();
  Secret out(static_cast<std::uint8_t*>(::sodium_malloc(size)));
  if (!out) return fail(errc::bad_key, "there is no memory for a key");
  return out;
}

Result<Secret> stretch(const Passphrase& passphrase, const Sealed& sealed) {
  Result<Secret> key = make_secret(crypto_secretbox_KEYBYTES);
  if (!key) return key;
  const std::string_view text = passphrase.view();
  if (::crypto_pwhash(key->get(), crypto_secretbox_KEYBYTES, text.data(), text.size(), sealed.salt.data(),
                      sealed.passes, std::size_t{sealed.memory_kib} * 1024,
                      crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return fail(errc::bad_key, "this machine lacks the memory, " + std::to_string(sealed.memory_kib / 1024) +
                                   " MiB, that the key file's passphrase needs");
  }
  return key;
}

void put_u32(Bytes& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<std::uint8_t>(value >> shift));
}

Bytes encode(const Sealed& sealed) {
  Bytes out(sealed.salt.begin(), sealed.salt.end());
  put_u32(out, sealed.passes);
  put_u32(out, sealed.memory_kib);
  out.insert(out.end(), sealed.nonce.begin(), sealed.nonce.end());
  out.insert(out.end(), sealed.box.begin(), sealed.box.end());
  return out;
}

std::optional<Sealed> decode(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::optional<Bytes> bytes = base64_decode(text);
  if (!bytes || bytes->size() != kSealedBytes) return std::nullopt;
  Sealed out;
  auto at = bytes->begin();
  const auto take = [&at](auto& into) {
    std::copy_n(at, into.size(), into.begin());
    at += static_cast<std::ptrdiff_t>(into.size());
  };
  const auto take_u32 = [&take] {
    std::array<std::uint8_t, 4> four{};
    take(four);
    return static_cast<std::uint32_t>(four[0] | four[1] << 8 | four[2] << 16) | std::uint32_t{four[3]} << 24;
  };
  take(out.salt);
  out.passes = take_u32();
  out.memory_kib = take_u32();
  take(out.nonce);
  take(out.box);
  const bool sane =
      out.passes >= 1 && out.passes <= kMaxPasses && out.memory_kib >= 8 && out.memory_kib <= kMaxMemoryKib;
  return sane ? std::optional(out) : std::nullopt;
}

Result<SecretKey> open_sealed(const Sealed& sealed, const Passphrase& passphrase) {
  const Result<Secret> key = stretch(passphrase, sealed);
  if (!key) return tl::unexpected<Error>(key.error());
  const Result<Secret> seed = make_secret(crypto_sign_SEEDBYTES);
  if (!seed) return tl::unexpected<Error>(seed.error());
  if (::crypto_secretbox_open_easy(seed->get(), sealed.box.data(), sealed.box.size(), sealed.nonce.data(),
                                   key->get()) != 0) {
    return fail(errc::bad_key, "the passphrase is wrong, or the file was damaged");
  }
  return SecretKey::from_seed(std::span<const std::uint8_t, 32>(seed->get(), 32));
}

// Looks at no more than the first word: without a passphrase, the secret follows it.
bool is_sealed(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, kHead.size()> head{};
  const bool sealed = fd && ::read(fd.get(), head.data(), head.size()) == static_cast<ssize_t>(head.size()) &&
                      std::string_view(head.data(), head.size()) == kHead;
  ::sodium_memzero(head.data(), head.size());
  return sealed;
}

}  // namespace

Result<SecretKey> load_key_file(const std::filesystem::path& path, const AskPassphrase& ask) {
  if (!is_sealed(path)) return SecretKey::load(path);
  const Result<std::string> text = read_file(path, kMaxFileBytes);
  if (!text) return tl::unexpected<Error>(text.error());
  const std::filesystem::perms mode = std::filesystem::status(path).permissions();
  if ((mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all)) !=
      std::filesystem::perms::none) {
    return fail(
        errc::bad_key,
        path.string() + " may be read or changed by others than its owner; take that away (chmod 600)");
  }
  const std::optional<Sealed> sealed = decode(std::string_view(*text).substr(kHead.size()));
  if (!sealed) {
    return fail(errc::bad_key, path.string() +
                                   " was damaged: it begins like a key file with a passphrase, but "
                                   "does not go on like one; restore it from a copy");
  }
  Result<Passphrase> passphrase = ask();
  if (!passphrase) return pass_on(std::move(passphrase));
  Result<SecretKey> key = open_sealed(*sealed, *passphrase);
  if (!key) return pass_on(std::move(key), path.string());
  return key;
}

Result<> save_sealed_key(const SecretKey& key, const std::filesystem::path& path,
                         const Passphrase& passphrase) {
  if (passphrase.empty())
    return fail(errc::bad_key, "the passphrase is empty; type one, or make a key without");
  sodium_ready();
  Sealed sealed;
  ::randombytes_buf(sealed.salt.data(), sealed.salt.size());
  ::randombytes_buf(sealed.nonce.data(), sealed.nonce.size());
  const Result<Secret> box_key = stretch(passphrase, sealed);
  if (!box_key) return tl::unexpected<Error>(box_key.error());
  ::crypto_secretbox_easy(sealed.box.data(), key.seed().data(), key.seed().size(), sealed.nonce.data(),
                          box_key->get());
  return create_file_durably(path, std::string(kHead) + base64_encode(encode(sealed)) + "\n", 0600);
}

}  // namespace postern::wire
