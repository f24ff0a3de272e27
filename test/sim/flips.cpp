// SPDX-License-Identifier: Apache-2.0
#include "sim/flips.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ledger/errors.h"
#include "ledger/segmented_journal.h"
#include "sim/oracle.h"
#include "sim/simulated_directory.h"

namespace postern::ledger::sim {
namespace {

enum class After { nothing, torn_batch, recovery };

struct Scene {
  SimulatedDisk::Image image;
  Oracle oracle;
  std::string segment;
  std::size_t begin = 0;               // of the batch
  std::size_t end = 0;                 // of its last block
  std::vector<std::size_t> in_record;  // bytes of it that belong to a record, without alignment
};

using Opened = Result<std::unique_ptr<Journal>>;

Opened open(SimulatedDisk& disk, Oracle& oracle, std::vector<Record>& found) {
  JournalOptions options;
  options.machine = Id128{1};
  options.after_flush = [&oracle](const JournalStatus& status) { oracle.pin(status); };
  return SegmentedJournal::open(std::make_unique<SimulatedDirectory>(disk), options,
                                [&found](const Record& record) -> Result<> {
                                  if (record.type == RecordType::event) found.push_back(record);
                                  return {};
                                });
}

std::vector<std::string> batch(int number, std::size_t records, std::size_t bytes) {
  std::vector<std::string> payloads;
  for (std::size_t i = 0; i < records; ++i) {
    payloads.push_back("{\"b\":" + std::to_string(number) + ",\"i\":" + std::to_string(i) + ",\"p\":\"" +
                       std::string(bytes, 'p') + "\"}");
  }
  return payloads;
}

std::string acknowledged(Journal& journal, Oracle& oracle, const std::vector<std::string>& payloads) {
  oracle.submit(payloads);
  const Result<Lseq> head = journal.append(payloads);
  return head ? oracle.acknowledge(*head) : head.error().message();
}

// Which bytes of the batch are records.
void measure(Scene& scene, const std::vector<std::string>& payloads) {
  std::size_t at = scene.begin;
  for (const std::string& payload : payloads) {
    for (std::size_t i = 0; i < record_field::size + payload.size(); ++i)
      scene.in_record.push_back(at + i);
    at += record_bytes(payload.size());
  }
  scene.end = round_up(at, kBlockBytes);
}

std::string build(After after, Scene& scene) {
  SimulatedDisk disk({}, 1);
  JournalOptions options;
  options.machine = Id128{1};
  if (Result<> made = SegmentedJournal::create(std::make_unique<SimulatedDirectory>(disk), options); !made) {
    return made.error().message();
  }
  std::vector<Record> found;
  Opened journal = open(disk, scene.oracle, found);
  if (!journal) return journal.error().message();
  const std::vector<std::string> last = batch(2, 2, 150);
  for (const auto& payloads : {batch(0, 1, 90), batch(1, 3, 40), last}) {
    if (std::string bad = acknowledged(**journal, scene.oracle, payloads); !bad.empty()) return bad;
  }
  scene.segment = "seg-1";
  scene.begin = kFirstBatchOffset + 2 * kBlockBytes;
  if (after == After::torn_batch) {
    const std::vector<std::string> torn = batch(3, 1, 3000);
    scene.oracle.submit(torn);
    disk.end_after(1, End::power_cut);
    (void)(*journal)->append(torn);
  }
  journal->reset();
  disk.end_now(End::power_cut);
  disk.restart();
  measure(scene, last);
  if (after == After::recovery) {
    found.clear();
    Opened again = open(disk, scene.oracle, found);
    if (!again) return again.error().message();
    if (std::string bad = scene.oracle.judge_start(found, **again, Harm::none); !bad.empty()) return bad;
    scene.segment = "seg-2";
    scene.begin = kFirstBatchOffset;
    scene.in_record.clear();
    measure(scene, last);
  }
  scene.image = disk.durable_image();
  return "";
}

// What became of one flip; a violation goes to `bad`.
std::string judge(const Scene& scene, std::size_t bit, bool in_record, std::string& bad) {
  SimulatedDisk disk({}, bit);
  disk.put_back(scene.image);
  disk.flip(scene.segment, bit);
  const SimulatedDisk::Image flipped = disk.visible_image();
  Oracle oracle = scene.oracle;
  std::vector<Record> found;
  const Opened journal = open(disk, oracle, found);
  if (!journal) {
    const ErrorCode code = journal.error().code;
    if (code != errc::damage && code != errc::suspect) bad = "refused as " + journal.error().message();
    if (disk.visible_image() != flipped) bad = "a refusal changed what is on the disk";
    return code == errc::damage ? "damage" : "suspect";
  }
  const RecoveryClass verdict = (*journal)->recovery().found;
  bad = oracle.judge_start(found, **journal, Harm::flipped);
  if (bad.empty() && in_record && verdict != RecoveryClass::suspect)
    bad = "a flip in a record was passed over";
  return std::string(recovery_class_name(verdict));
}

}  // namespace

Flips flip_each_bit_of_the_last_batch() {
  Flips flips;
  for (const After after : {After::nothing, After::torn_batch, After::recovery}) {
    if (!flips.violation.empty()) break;
    Scene scene;
    flips.violation = build(after, scene);
    for (std::size_t bit = scene.begin * 8; flips.violation.empty() && bit < scene.end * 8; ++bit) {
      const bool in_record = std::binary_search(scene.in_record.begin(), scene.in_record.end(), bit / 8);
      // Padding is most of a block and says nothing: a bit of each byte will do.
      if (!in_record && bit % 8 != bit / 8 % 8) continue;
      const std::string verdict = judge(scene, bit, in_record, flips.violation);
      ++flips.tried;
      ++flips.verdicts[(in_record ? "record: " : "elsewhere: ") + verdict];
      if (flips.violation.empty()) continue;
      flips.violation += " (bit " + std::to_string(bit % 8) + " of byte " + std::to_string(bit / 8) + " of " +
                         scene.segment + ")";
    }
  }
  return flips;
}

}  // namespace postern::ledger::sim
