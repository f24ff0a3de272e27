// SPDX-License-Identifier: Apache-2.0
#include "sim/oracle.h"

#include <algorithm>

namespace postern::ledger::sim {
namespace {

std::string brief(const std::string& payload) {
  return payload.substr(0, 24) + " (" + std::to_string(payload.size()) + " bytes)";
}

}  // namespace

void Oracle::submit(std::span<const std::string> payloads) {
  in_flight_.emplace_back(payloads.begin(), payloads.end());
}

void Oracle::withdraw() {
  if (!in_flight_.empty()) in_flight_.pop_front();
}

std::string Oracle::acknowledge(Lseq head) {
  if (in_flight_.empty()) return "acknowledged a batch that was never handed in";
  if (head <= head_) return "acknowledged lseq " + std::to_string(head.value) + " a second time";
  if (pin_ < head) return "acknowledged lseq " + std::to_string(head.value) + " before the pin was told";
  const std::vector<std::string>& batch = in_flight_.front();
  settled_.insert(settled_.end(), batch.begin(), batch.end());
  for (std::size_t i = batch.size(); i > 0; --i)
    settled_at_.emplace_back(head.value - i + 1);
  in_flight_.pop_front();
  head_ = head;
  return "";
}

void Oracle::pin(const JournalStatus& status) {
  pin_ = status.head;
}

void Oracle::put(const std::string& name, const std::string& content) {
  side_files_[name].unsettled.push_back(content);
}

void Oracle::put_acknowledged(const std::string& name) {
  SideFile& file = side_files_[name];
  file.settled = file.unsettled.back();
  file.unsettled.clear();
}

std::string Oracle::judge_chain(const std::vector<Record>& found) const {
  for (std::size_t i = 1; i < found.size(); ++i) {
    const Record& before = found[i - 1];
    const Record& record = found[i];
    if (record.lseq <= before.lseq) return "lseq " + std::to_string(record.lseq.value) + " is out of order";
    if (record.lseq != before.lseq.next()) continue;
    if (record.hash != chain_hash(record.lseq, record.type, before.hash, record.payload)) {
      return "the chain breaks at lseq " + std::to_string(record.lseq.value);
    }
  }
  return "";
}

std::string Oracle::judge_events(const std::vector<Record>& found, const RecoveryReport& report,
                                 Harm harm) const {
  const std::size_t owed = std::min(found.size(), settled_.size());
  for (std::size_t i = 0; i < owed; ++i) {
    if (found[i].payload != settled_[i]) {
      return "event " + std::to_string(i) + " is " + brief(found[i].payload) + ", was " + brief(settled_[i]);
    }
  }
  if (found.size() < settled_.size()) {
    const std::string lost = std::to_string(settled_.size() - found.size()) +
                             " acknowledged events are gone, the first of them " + brief(settled_[owed]);
    if (harm == Harm::none) return lost;
    if (harm == Harm::flipped && report.found != RecoveryClass::suspect)
      return lost + ", and it was not said";
    if (harm == Harm::old_image && pin_ <= report.head) return lost + ", and the pin does not tell";
    return "";
  }
  std::size_t at = settled_.size();
  for (const std::vector<std::string>& batch : in_flight_) {
    for (const std::string& payload : batch) {
      if (at == found.size()) return "";
      if (found[at].payload != payload) {
        return "event " + std::to_string(at) + " is " + brief(found[at].payload) + ", in flight was " +
               brief(payload);
      }
      ++at;
    }
  }
  if (at < found.size()) return "event " + brief(found[at].payload) + " was never handed in, or was given up";
  return "";
}

std::string Oracle::judge_side_files(const Journal& journal, Harm harm) {
  for (auto& [name, file] : side_files_) {
    const Result<std::string> content = journal.get_file(name, 1U << 20);
    const bool candidate =
        content && std::find(file.unsettled.begin(), file.unsettled.end(), *content) != file.unsettled.end();
    if (harm != Harm::old_image && !candidate && content && content != file.settled) {
      return name + " holds something that was never put there";
    }
    if (harm != Harm::old_image && !content && file.settled) return name + " is gone";
    if (content)
      file.settled = *content;
    else
      file.settled.reset();
    file.unsettled.clear();
  }
  return "";
}

// What a base leaves out is put back, so that the rest is judged as ever. What it keeps must be what was.
std::string Oracle::restore_compacted(std::vector<Record>& found, const Base* base) const {
  if (!compacted_ || base == nullptr) return "";
  std::vector<Record> whole;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < settled_.size() && settled_at_[i] <= base->lseq; ++i) {
    whole.push_back({settled_at_[i], RecordType::event, {}, settled_[i], true});
    if (kept == found.size() || !found[kept].from_base || found[kept].lseq != settled_at_[i]) continue;
    if (found[kept].payload != settled_[i]) return "a base keeps another event than was";
    whole.back().hash = found[kept++].hash;
  }
  if (kept < found.size() && found[kept].from_base) return "a base keeps an event that never was";
  // The chain cannot be followed through what was left out.
  std::erase_if(found, [](const Record& record) { return record.from_base; });
  found.insert(found.begin(), whole.begin(), whole.end());
  return "";
}

std::string Oracle::judge_start(std::vector<Record> found, const Journal& journal, Harm harm) {
  const RecoveryReport& report = journal.recovery();
  const std::vector<Record> shown = found;
  if (std::string bad = restore_compacted(found, report.base.get()); !bad.empty()) return bad;
  if (std::string bad = judge_events(found, report, harm); !bad.empty()) return bad;
  if (std::string bad = judge_chain(shown); !bad.empty()) return bad;
  if (std::string bad = judge_side_files(journal, harm); !bad.empty()) return bad;
  const Lseq head = journal.status().head;
  if (harm == Harm::none) {
    if (report.found == RecoveryClass::suspect) return "a crash was classified suspect: " + report.finding;
    if (head < head_) return "the head fell to lseq " + std::to_string(head.value);
    if (report.first_unproven < first_unproven_) {
      return "what is proven fell below lseq " + std::to_string(first_unproven_.value);
    }
  }
  settled_.clear();
  settled_at_.clear();
  for (const Record& record : found) {
    settled_.push_back(record.payload);
    settled_at_.push_back(record.lseq);
  }
  in_flight_.clear();
  head_ = pin_ = head;
  first_unproven_ = report.first_unproven;
  return "";
}

}  // namespace postern::ledger::sim
