// SPDX-License-Identifier: Apache-2.0
#include "sync/verifier.h"

#include "ledger/errors.h"

namespace postern::sync {

Verdict verify(const VerifyJob& job) {
  Verdict out;
  out.step = job.step;
  Seq seq = job.first;
  for (const std::string& sealed : job.sealed) {
    Result<ledger::Event> event = ledger::open_event(sealed);
    if (!event) {
      out.forged = event.error().code == ledger::errc::event_signature;
      out.unread = !out.forged;
      out.why = event.error().message();
      return out;
    }
    const bool in_place = job.step ? event->seq >= seq && event->seq <= job.step->to : event->seq == seq;
    if (event->stream != job.stream || !in_place) {
      out.forged = true;
      out.why = "event " + to_hex(event->stream) + "/" + std::to_string(event->seq.value) + " was sent as " +
                to_hex(job.stream) + "/" + std::to_string(seq.value);
      return out;
    }
    seq = event->seq.next();
    out.good.push_back({std::move(*event), sealed, ledger::event_hash(sealed)});
  }
  return out;
}

}  // namespace postern::sync
