// SPDX-License-Identifier: Apache-2.0
#include "authority/timestamp_rules.h"

#include <string>

#include "core/utc.h"

namespace postern::authority {
namespace {

std::string number(Serial serial) {
  return "serial " + std::to_string(serial.value);
}

tl::unexpected<Error> older(const std::string& how) {
  return fail(errc::timestamp_rollback,
              "the timestamp " + how + "; its source is stale or replays old files: see to the source");
}

tl::unexpected<Error> other_hash(const Timestamp& timestamp, const Hash256& known, std::string_view whose) {
  return fail(errc::equivocation, "the timestamp names " + number(timestamp.serial) + " with hash " +
                                      to_hex(timestamp.hash) + ", " + std::string(whose) + " has " +
                                      to_hex(known));
}

}  // namespace

Result<> may_follow(const Timestamp& timestamp, const Adopted& adopted, const std::optional<Timestamp>& last,
                    UtcSeconds now) {
  if (timestamp.expires <= now) {
    return fail(errc::timestamp_expired, "the timestamp expired at " + utc_text(timestamp.expires) +
                                             ", it is " + utc_text(now) +
                                             " now; have the authority sign a new one");
  }
  if (last && timestamp.issued < last->issued) {
    return older("was issued at " + utc_text(timestamp.issued) + ", before the last one, of " +
                 utc_text(last->issued));
  }
  if (last && timestamp.serial < last->serial)
    return older("names " + number(timestamp.serial) + ", the last one named " + number(last->serial));
  if (timestamp.serial < adopted.serial)
    return older("names " + number(timestamp.serial) + ", adopted is " + number(adopted.serial));
  if (timestamp.serial.value - adopted.serial.value > kMaxSerialStep) {
    return fail(errc::fast_forward, "the timestamp names " + number(timestamp.serial) + ", adopted is " +
                                        number(adopted.serial) + "; one step is at most " +
                                        std::to_string(kMaxSerialStep));
  }
  if (timestamp.serial == adopted.serial && timestamp.hash != adopted.hash)
    return other_hash(timestamp, adopted.hash, "the adopted snapshot");
  if (last && timestamp.serial == last->serial && timestamp.hash != last->hash)
    return other_hash(timestamp, last->hash, "the last timestamp");
  return {};
}

Freshness freshness(const Adopted& adopted, const std::optional<Timestamp>& last, UtcSeconds freshest,
                    std::int64_t max_age_s, UtcSeconds now) {
  Freshness out;
  if (last && last->serial > adopted.serial) out.behind = last->serial;
  // A snapshot that is newer than the timestamp stands for itself until its own expiry.
  const bool vouched_for = last && last->serial >= adopted.serial;
  out.frozen =
      (vouched_for && last->expires <= now) || (max_age_s != 0 && now.value - freshest.value > max_age_s);
  return out;
}

}  // namespace postern::authority
