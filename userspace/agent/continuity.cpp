// SPDX-License-Identifier: Apache-2.0
#include "agent/continuity.h"

#include <string>

#include "agent/errors.h"

namespace postern::agent {
namespace {

constexpr const char* kRemedy =
    "the disk went back in time (an old backup or VM snapshot?); the kernel keeps its last generation. Bring "
    "back the newest copy of the state directory, or lay down the newest snapshot with `postern authority "
    "recover --bundle FILE` and start posternd again; or take the data path down with `posternd --detach` "
    "(it "
    "journals the loss, so that nothing is promised twice), start, and apply the newest snapshot";

}  // namespace

Result<> check_journal_pin(const std::optional<dataplane::JournalPin>& pin, const ledger::JournalEnd& end) {
  if (!pin) return {};
  if (pin->journal != end.journal) {
    return fail(errc::foreign_pins,
                "the pinned data path belongs to journal " + to_hex(pin->journal) +
                    ", this state directory holds journal " + to_hex(end.journal) +
                    "; set `state` to the right directory, or take the data path down with "
                    "`posternd --detach` to start it anew under this journal");
  }
  if (pin->head > end.head) {
    return fail(errc::disk_went_back, "the kernel was served from journal record " +
                                          std::to_string(pin->head.value) + ", the journal on disk ends at " +
                                          std::to_string(end.head.value) + ": " + kRemedy);
  }
  return check_pinned_record(pin, end.head, end.head_hash);
}

Result<> check_pinned_record(const std::optional<dataplane::JournalPin>& pin, Lseq lseq,
                             const Hash256& hash) {
  if (!pin || pin->head != lseq || pin->hash == hash) return {};
  return fail(errc::disk_went_back, "journal record " + std::to_string(lseq.value) +
                                        " is not the one that the kernel was served from: " + kRemedy);
}

Result<> check_serial(Serial kernel, std::optional<Serial> adopted) {
  if (kernel <= adopted.value_or(Serial())) return {};
  return fail(errc::disk_went_back,
              "the kernel serves serial " + std::to_string(kernel.value) + ", the journal knows " +
                  (adopted ? "serial " + std::to_string(adopted->value) : std::string("none")) + ": " +
                  kRemedy);
}

Result<> check_fences(const std::map<ResourceNumber, Epoch>& kernel,
                      const std::map<ResourceNumber, Epoch>& adopted) {
  for (const auto& [resource, epoch] : kernel) {
    const auto known = adopted.find(resource);
    const Epoch persisted = known == adopted.end() ? Epoch() : known->second;
    if (epoch <= persisted) continue;
    return fail(errc::disk_went_back, "the kernel fences resource number " + std::to_string(resource.value) +
                                          " at epoch " + std::to_string(epoch.value) + ", on disk it is " +
                                          std::to_string(persisted.value) + ": " + kRemedy);
  }
  return {};
}

}  // namespace postern::agent
