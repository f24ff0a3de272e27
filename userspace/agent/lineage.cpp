// SPDX-License-Identifier: Apache-2.0
#include "agent/lineage.h"

#include "agent/errors.h"

namespace postern::agent {

Result<Lineage> open_lineage(const StateDirectory& state, const std::string& mesh,
                             std::function<void(const ledger::JournalStatus&)> after_flush) {
  Lineage lineage;
  ledger::JournalOptions options;
  options.directory = state.journal();
  options.after_flush = std::move(after_flush);
  const auto replay = [&](const ledger::Record& record) -> Result<> {
    lineage.hashes.emplace(record.lseq, record.hash);
    if (record.type != ledger::RecordType::event) return {};
    const std::string where = "journal record " + std::to_string(record.lseq.value);
    Result<ledger::Event> event = ledger::open_event(record.payload);
    if (!event) return pass_on(std::move(event), where);
    if (event->mesh != mesh) {
      return fail(errc::foreign_mesh, where + " is of mesh \"" + event->mesh + "\", the config says \"" +
                                          mesh + "\"; set `state` to this mesh's own directory");
    }
    if (Result<> folded = ledger::apply_event(lineage.authority, *event); !folded)
      return pass_on(std::move(folded), where);
    lineage.events.push_back(std::move(*event));
    return {};
  };
  Result<std::unique_ptr<ledger::Journal>> journal = ledger::Journal::open(options, replay);
  if (!journal) return pass_on(std::move(journal));
  lineage.journal = std::move(*journal);
  return lineage;
}

std::vector<ledger::Event> events_by(const Lineage& lineage, const wire::PublicKey& key) {
  std::vector<ledger::Event> own;
  for (const ledger::Event& event : lineage.events)
    if (event.key == key) own.push_back(event);
  return own;
}

}  // namespace postern::agent
