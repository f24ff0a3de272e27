// SPDX-License-Identifier: Apache-2.0
#include "cli/stream_audit.h"

#include "ledger/errors.h"

namespace postern::cli {
namespace {

constexpr std::size_t kMaxForks = 64;  // named; the first is proof enough

}  // namespace

Result<> StreamAudit::add(const ledger::Record& record) {
  if (record.type == ledger::RecordType::open) {
    const Result<wire::Json> json = wire::parse_canonical(record.payload, ledger::kMaxEventBytes);
    const wire::Json* found = json ? json->find("class") : nullptr;
    if (found != nullptr && found->as_string() != nullptr) last_recovery_ = *found->as_string();
  }
  if (record.type != ledger::RecordType::event) return {};
  const std::string where = "record " + std::to_string(record.lseq.value);
  Result<ledger::Event> event = ledger::open_event(record.payload);
  if (!event) return pass_on(std::move(event), where);
  if (event->mesh != mesh_) {
    return fail(ledger::errc::event_invalid,
                where + " is of mesh \"" + event->mesh + "\", the config says \"" + mesh_ + "\"");
  }
  const Hash256 hash = ledger::event_hash(record.payload);
  const auto [head, fresh] = heads_.try_emplace(event->stream, Head{event->seq, hash});
  if (fresh) return {};
  const bool twice =
      event->seq <= head->second.seq && !(event->seq == head->second.seq && hash == head->second.hash);
  const bool elsewhere = event->seq == head->second.seq.next() && event->prev != head->second.hash;
  if ((twice || elsewhere) && forks_.size() < kMaxForks) forks_.push_back({event->stream, event->seq});
  if (event->seq > head->second.seq) head->second = Head{event->seq, hash};
  return {};
}

wire::Json StreamAudit::forks_json() const {
  wire::Json list = wire::Json::array();
  for (const Fork& fork : forks_)
    list.push(
        wire::Json::object({{"seq", wire::Json::decimal(fork.seq.value)}, {"stream", to_hex(fork.stream)}}));
  return list;
}

std::string StreamAudit::fork_lines() const {
  std::string out;
  for (const Fork& fork : forks_) {
    out += "fork          stream " + to_hex(fork.stream) + " has two events at seq " +
           std::to_string(fork.seq.value) + ": two processes wrote it\n";
  }
  return out;
}

}  // namespace postern::cli
