// SPDX-License-Identifier: Apache-2.0
#include "ledger/findings.h"

#include <algorithm>

#include "ledger/errors.h"
#include "wire/fields.h"
#include "wire/json.h"

namespace postern::ledger {
namespace {

// Nothing acknowledged was missing then: worth no report.
constexpr std::string_view kClean = "clean";
constexpr std::string_view kTorn = "torn";

constexpr std::string_view kByRound = "round";
constexpr std::string_view kByOperator = "operator";

Result<wire::Json> parse(const Record& record) {
  Result<wire::Json> json = wire::parse_canonical(record.payload, kMaxEventBytes);
  if (json) return json;
  return fail(errc::damage, "record " + std::to_string(record.lseq.value) +
                                " is none that this program writes: " + json.error().context);
}

}  // namespace

std::string open_payload(std::string_view condition, Lseq first_unproven, std::uint64_t kept) {
  return wire::encode_canonical(
      wire::Json::object({{"class", condition},
                          {"first_unproven", wire::Json::decimal(first_unproven.value)},
                          {"kept", wire::Json::decimal(kept)}}));
}

std::string settled_payload(Lseq through, SettledBy by) {
  return wire::encode_canonical(
      wire::Json::object({{"by", by == SettledBy::an_operator ? kByOperator : kByRound},
                          {"through", wire::Json::decimal(through.value)}}));
}

Result<> Findings::see(const Record& record) {
  if (record.type != RecordType::open && record.type != RecordType::settled) return {};
  const Result<wire::Json> json = parse(record);
  if (!json) return tl::unexpected<Error>(json.error());
  wire::Fields fields(*json, "record " + std::to_string(record.lseq.value));
  if (record.type == RecordType::open) {
    Finding finding;
    finding.lseq = record.lseq;
    finding.condition = fields.text("class");
    finding.first_unproven = Lseq(fields.decimal("first_unproven"));
    finding.kept = fields.decimal("kept");
    if (finding.condition != kClean) findings_.push_back(std::move(finding));
  } else {
    const std::string by = fields.text("by");
    if (by != kByRound && by != kByOperator) fields.reject("by", "expected \"round\" or \"operator\"");
    const Lseq through(fields.decimal("through"));
    std::erase_if(findings_, [&](const Finding& finding) {
      return finding.lseq <= through && (by == kByRound || finding.condition == kTorn);
    });
    for (Finding& finding : findings_)
      if (finding.lseq <= through) finding.given_up = true;
    for (Gap& gap : gaps_)
      if (gap.last <= through) gap.open = false;
  }
  if (const Result<> done = fields.finish(); !done) return fail(errc::damage, done.error().message());
  return {};
}

std::vector<Gap> Findings::open_gaps() const {
  std::vector<Gap> open;
  std::copy_if(gaps_.begin(), gaps_.end(), std::back_inserter(open), [](const Gap& gap) { return gap.open; });
  return open;
}

bool Findings::needs_sync_round() const {
  return !open_gaps().empty() || std::any_of(findings_.begin(), findings_.end(), [](const Finding& finding) {
    return finding.condition != kTorn && !finding.given_up;
  });
}

bool Findings::claims_wait() const {
  return !open_gaps().empty() || std::any_of(findings_.begin(), findings_.end(), [](const Finding& finding) {
    return finding.condition != kTorn;
  });
}

}  // namespace postern::ledger
