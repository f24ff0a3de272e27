// SPDX-License-Identifier: Apache-2.0
#include "ledger/continuity.h"

namespace postern::ledger {
namespace {

constexpr Continuation kNewStream{false, true, true};

std::string words(const std::string& condition) {
  if (condition == "suspect")
    return "a start found the journal's end suspect: what was acknowledged last may be lost";
  if (condition == "adopted") return "the journal was adopted from another machine";
  if (condition == "went_back") return "the disk went back in time";
  if (condition == "repaired") return "the journal was repaired after a loss";
  return "a start found the journal \"" + condition + "\"";
}

}  // namespace

std::string why_broken(std::span<const Finding> findings, std::span<const Gap> gaps, Lseq opened_at) {
  for (const Finding& finding : findings) {
    if (finding.lseq > opened_at && finding.condition != "torn" && finding.condition != "clean")
      return words(finding.condition);
  }
  for (const Gap& gap : gaps) {
    if (gap.open && gap.last > opened_at)
      return "records " + std::to_string(gap.first.value) + " to " + std::to_string(gap.last.value) +
             " are lost";
  }
  return "";
}

Continuation decide_continuation(const ContinuityEvidence& evidence) {
  if (evidence.broken) return kNewStream;
  if (evidence.marks && *evidence.marks != Standing::level) return kNewStream;
  if (evidence.pinned) return {true, false, false};
  // What is torn was never acknowledged, so a journal that nobody else has copies of tells all there is.
  if (evidence.alone) return {true, true, false};
  if (evidence.clean_stop && evidence.marks) return {true, true, false};
  return kNewStream;
}

}  // namespace postern::ledger
