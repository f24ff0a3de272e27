// SPDX-License-Identifier: Apache-2.0
#include "agent/watch_filter.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "agent/errors.h"
#include "agent/sample_report.h"
#include "dataplane/counters.h"
#include "wire/fields.h"

namespace postern::agent {
namespace {

constexpr std::int64_t kMostRate_per_s = 1'000'000;
constexpr std::uint64_t kSecond_ns = 1'000'000'000;
// The kernel's coarse clock moves by up to 10 ms: a token must not be lost between two of its steps.
constexpr std::uint64_t kLeastTokens = 64;
constexpr std::uint64_t kTokensInRate = 10;

// Sets the bits of the labels that `key` lists.
template <std::size_t N>
void read_labels(wire::Fields& fields, std::string_view key, std::string_view (*label)(unsigned),
                 std::bitset<N>& bits) {
  if (fields.optional(key) == nullptr) return;
  bits.reset();
  for (const wire::Json& wanted : fields.array(key)) {
    std::string known;
    bool found = false;
    for (unsigned number = 0; number < N; ++number) {
      if (label(number).empty()) continue;
      known.append(known.empty() ? "" : ", ").append(label(number));
      if (wanted.as_string() == nullptr || *wanted.as_string() != label(number)) continue;
      bits.set(number);
      found = true;
    }
    if (!found) return fields.reject(key, "expected names of " + known);
  }
}

std::optional<IpPrefix> read_prefix(wire::Fields& fields, std::string_view key) {
  if (fields.optional(key) == nullptr) return std::nullopt;
  const std::string text = fields.text(key);
  if (const std::optional<IpPrefix> prefix = IpPrefix::parse(text)) return prefix;
  if (const std::optional<IpAddress> address = IpAddress::parse(text))
    return IpPrefix{*address, static_cast<std::uint8_t>(address->is_v4() ? 32 : 128)};
  fields.reject(key, "expected an address or a prefix");
  return std::nullopt;
}

// The number of what `key` names.
template <class Map>
void read_name(wire::Fields& fields, std::string_view key, const Map& names, std::uint32_t& number) {
  if (fields.optional(key) == nullptr) return;
  const std::string wanted = fields.text(key);
  for (const auto& [id, name] : names) {
    if (name != wanted) continue;
    if constexpr (std::is_same_v<std::decay_t<decltype(id)>, PeerId>) {
      number = id.value;
    } else {
      number = id;
    }
    return;
  }
  fields.reject(key, "there is no \"" + wanted + "\"");
}

bool holds(const std::optional<IpPrefix>& prefix, const pt_sample& sample, const pt_address& address) {
  return !prefix || ((sample.flags & PT_SAMPLE_INNER) != 0 && prefix->contains(address_of(address)));
}

template <class Value>
Value agreed(std::span<const WatchFilter> filters, Value WatchFilter::*member) {
  for (const WatchFilter& filter : filters)
    if (filter.*member != filters.front().*member) return Value{};
  return filters.front().*member;
}

}  // namespace

Result<WatchFilter> read_watch_filter(const wire::Json& arguments, const Names& names) {
  wire::Fields fields(arguments, "arguments");
  WatchFilter filter;
  filter.verdicts.set(PT_VERDICT_DROP).set(PT_VERDICT_REFUSED);
  filter.reasons.set();
  read_labels(fields, "verdicts", dataplane::verdict_label, filter.verdicts);
  read_labels(fields, "reasons", dataplane::drop_label, filter.reasons);
  read_name(fields, "interface", names.interfaces(), filter.ifindex);
  read_name(fields, "segment", names.legend().segments, filter.vni);
  read_name(fields, "peer", names.legend().peers, filter.peer);
  filter.source = read_prefix(fields, "source");
  filter.destination = read_prefix(fields, "destination");
  if (fields.optional("snap_bytes") != nullptr)
    filter.snap_bytes = static_cast<std::uint32_t>(fields.integer("snap_bytes", 0, PT_SNAP_BYTES));
  if (fields.optional("rate_per_s") != nullptr)
    filter.rate_per_s = static_cast<std::uint32_t>(fields.integer("rate_per_s", 0, kMostRate_per_s));
  if (Result<> done = fields.finish(); !done) return fail(errc::control_bad_argument, done.error().context);
  return filter;
}

bool matches(const WatchFilter& filter, const pt_sample& sample) {
  if (sample.verdict >= PT_VERDICT_COUNT || !filter.verdicts[sample.verdict]) return false;
  if (sample.reason != 0 && (sample.reason >= PT_DROP_REASON_COUNT || !filter.reasons[sample.reason]))
    return false;
  if (filter.ifindex != 0 && filter.ifindex != sample.ifindex) return false;
  if (filter.vni != 0 && filter.vni != sample.vni) return false;
  if (filter.peer != 0 && filter.peer != sample.sender && filter.peer != sample.receiver) return false;
  return holds(filter.source, sample, sample.source) && holds(filter.destination, sample, sample.destination);
}

pt_watch widest(std::span<const WatchFilter> filters, std::uint64_t until_ns) {
  pt_watch watch{};
  if (filters.empty()) return watch;
  watch.until_ns = until_ns;
  watch.ifindex = agreed(filters, &WatchFilter::ifindex);
  watch.vni = agreed(filters, &WatchFilter::vni);
  watch.peer = agreed(filters, &WatchFilter::peer);
  std::uint64_t rate_per_s = 1;
  bool limited = true;
  for (const WatchFilter& filter : filters) {
    for (unsigned verdict = 0; verdict < PT_VERDICT_COUNT; ++verdict)
      watch.verdicts |= static_cast<__u32>(filter.verdicts[verdict]) << verdict;
    for (unsigned reason = 0; reason < PT_DROP_REASON_COUNT; ++reason)
      watch.reasons[reason / 64] |= static_cast<__u64>(filter.reasons[reason]) << reason % 64;
    watch.snap = std::max(watch.snap, filter.snap_bytes);
    limited = limited && filter.rate_per_s != 0;
    rate_per_s = std::max<std::uint64_t>(rate_per_s, filter.rate_per_s);
  }
  if (!limited) return watch;
  watch.token_ns = static_cast<__u32>(kSecond_ns / rate_per_s);
  watch.tokens = std::max(kLeastTokens, rate_per_s / kTokensInRate);
  return watch;
}

}  // namespace postern::agent
