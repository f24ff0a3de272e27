// SPDX-License-Identifier: Apache-2.0
#include "agent/delivery.h"

#include "core/bytes.h"

namespace postern::agent {
namespace {

constexpr std::chrono::minutes kRetry{5};

}  // namespace

bool Delivery::is_old_news(std::string_view text, Serial adopted, Instant now) const {
  if (offered_ != wire::blake2b({as_bytes(text)})) return false;
  return !retry_at_ || (adopted == adopted_ && now < *retry_at_);
}

void Delivery::note(std::string_view text, Serial adopted, const Result<>& taken, Instant now) {
  offered_ = wire::blake2b({as_bytes(text)});
  adopted_ = adopted;
  retry_at_.reset();
  if (taken) return;
  // The disk and the kernel may mend at any moment, what is signed wrongly does not mend by itself.
  const bool soon = taken.error().code.kind == ErrorKind::failure;
  retry_at_ = now + (soon ? std::chrono::minutes(0) : kRetry);
}

}  // namespace postern::agent
