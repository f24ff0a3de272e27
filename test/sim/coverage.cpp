// SPDX-License-Identifier: Apache-2.0
#include "sim/coverage.h"

#include <initializer_list>

namespace postern::ledger::sim {
namespace {

// Below so many crashes chance alone may pass something by.
constexpr std::uint64_t kEnoughCrashes = 2000;

void add_all(std::map<std::string, std::uint64_t>& to, const std::map<std::string, std::uint64_t>& from) {
  for (const auto& [name, count] : from)
    to[name] += count;
}

std::string list(const std::map<std::string, std::uint64_t>& counts) {
  std::string text;
  for (const auto& [name, count] : counts)
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(count);
  return text;
}

std::string absent(const std::map<std::string, std::uint64_t>& counts,
                   std::initializer_list<const char*> names) {
  std::string text;
  for (const char* name : names)
    if (!counts.contains(name)) text += std::string(text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

void Coverage::add(const Coverage& other) {
  seeds += other.seeds;
  crashes += other.crashes;
  power_cuts += other.power_cuts;
  in_recovery_again += other.in_recovery_again;
  acknowledged += other.acknowledged;
  add_all(phases, other.phases);
  add_all(classes, other.classes);
  add_all(troubles, other.troubles);
}

std::string Coverage::missing() const {
  if (crashes < kEnoughCrashes) return "";
  const std::string phase = absent(
      phases, {"create", "recovery", "append", "roll", "side file", "close", "compaction", "between calls"});
  const std::string kind =
      absent(classes, {"clean", "torn", "suspect", "damage", "journal.disk_full", "journal.poisoned"});
  const std::string trouble = absent(troubles, {"failed call", "full disk", "flipped bit", "old image",
                                                "second writer", "compaction", "bad base"});
  std::string text = phase;
  for (const std::string& more : {kind, trouble})
    if (!more.empty()) text += (text.empty() ? "" : ", ") + more;
  if (in_recovery_again == 0)
    text += std::string(text.empty() ? "" : ", ") + "a crash in a repeated recovery";
  return text;
}

std::string Coverage::text() const {
  return std::to_string(seeds) + " seeds, " + std::to_string(crashes) + " crashes (" +
         std::to_string(power_cuts) + " power cuts, " + std::to_string(crashes - power_cuts) + " kills), " +
         std::to_string(acknowledged) + " events acknowledged\n  struck in: " + list(phases) +
         "; in a recovery after a struck one " + std::to_string(in_recovery_again) +
         "\n  starts: " + list(classes) + "\n  troubles: " + list(troubles);
}

}  // namespace postern::ledger::sim
