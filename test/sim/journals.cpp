// SPDX-License-Identifier: Apache-2.0
#include "sim/journals.h"

#include <cstdlib>

#include "ledger/compaction.h"
#include "ledger/segmented_journal.h"
#include "sim/simulated_directory.h"

namespace postern::ledger::sim {
namespace {

constexpr std::uint64_t kSeed = 7;

JournalOptions options() {
  JournalOptions options;
  options.machine = Id128{1};
  return options;
}

void require(bool good) {
  if (!good) std::abort();
}

// `batches` batches, large enough that a dozen fill a small segment.
void append(Journal& journal, int batches) {
  for (int i = 0; i < batches; ++i) {
    std::vector<std::string> batch(static_cast<std::size_t>(1 + i % 3));
    for (std::string& payload : batch)
      payload = "{\"i\":" + std::to_string(i) + ",\"p\":\"" + std::string(300, 'p') + "\"}";
    require(journal.append(batch).has_value());
  }
}

std::unique_ptr<Journal> opened(SimulatedDisk& disk) {
  std::vector<std::string> ignored;
  OpenedJournal journal = open_on(disk, ignored);
  require(journal.has_value());
  return std::move(*journal);
}

void compact(Journal& journal) {
  KeepEverything summary;
  static const wire::SecretKey key = wire::SecretKey::generate();
  require(journal.compact({key, summary, 0}).has_value());
}

}  // namespace

OpenedJournal open_on(SimulatedDisk& disk, std::vector<std::string>& found) {
  return SegmentedJournal::open(std::make_unique<SimulatedDirectory>(disk), options(),
                                [&found](const Record& record) -> Result<> {
                                  if (record.type == RecordType::event) found.push_back(record.payload);
                                  return {};
                                });
}

std::vector<SimulatedDisk::Image> written_journals() {
  SimulatedDisk disk({}, kSeed);
  require(SegmentedJournal::create(std::make_unique<SimulatedDirectory>(disk), options()).has_value());
  std::vector<SimulatedDisk::Image> images = {disk.durable_image()};
  append(*opened(disk), 4);
  images.push_back(disk.durable_image());
  {
    const std::unique_ptr<Journal> journal = opened(disk);
    append(*journal, 2);
    disk.end_after(1, End::power_cut);
    const std::vector<std::string> torn = {"{\"t\":\"" + std::string(3000, 't') + "\"}"};
    (void)journal->append(torn);
  }
  disk.restart();
  images.push_back(disk.durable_image());
  append(*opened(disk), 30);
  images.push_back(disk.durable_image());
  {
    const std::unique_ptr<Journal> journal = opened(disk);
    for (int i = 0; i < 2; ++i) {
      compact(*journal);
      append(*journal, 16);
    }
  }
  images.push_back(disk.durable_image());
  return images;
}

}  // namespace postern::ledger::sim
