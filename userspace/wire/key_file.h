// SPDX-License-Identifier: Apache-2.0
// Key files with a passphrase: one line "postern-sealed-key-v1 <base64>", mode 0600. The base64 holds salt,
// Argon2id's passes and memory (32-bit, little-endian, KiB), a nonce, and the seed in an XSalsa20-Poly1305
// box under the key that Argon2id makes of the passphrase. Whoever finds the file has to guess the
// passphrase, at a quarter of a gigabyte and most of a second a guess.
#pragma once

#include <filesystem>
#include <functional>

#include "core/result.h"
#include "wire/passphrase.h"
#include "wire/sign.h"

namespace postern::wire {

// Asked once, and only when the file needs it.
using AskPassphrase = std::function<Result<Passphrase>()>;

// A key file of either kind. Fails with errc::bad_key when the passphrase is wrong.
Result<SecretKey> load_key_file(const std::filesystem::path& path, const AskPassphrase& ask);

// Writes a new file durably; an existing one is never replaced. `passphrase` must not be empty.
Result<> save_sealed_key(const SecretKey& key, const std::filesystem::path& path,
                         const Passphrase& passphrase);

}  // namespace postern::wire
