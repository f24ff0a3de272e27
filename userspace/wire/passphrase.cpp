// SPDX-License-Identifier: Apache-2.0
#include "wire/passphrase.h"

#include <sodium.h>

#include <cstdlib>

#include "wire/sodium_ready.h"

namespace postern::wire {

void Passphrase::Wiped::operator()(char* text) const {
  ::sodium_free(text);
}

Passphrase::Passphrase() {
  sodium_ready();
  text_.reset(static_cast<char*>(::sodium_malloc(kMaxBytes)));
  if (!text_) std::abort();  // out of memory, as operator new would have it
}

bool Passphrase::append(char c) {
  if (size_ == kMaxBytes) return false;
  text_[size_++] = c;
  return true;
}

void Passphrase::clear() {
  ::sodium_memzero(text_.get(), kMaxBytes);
  size_ = 0;
}

}  // namespace postern::wire
