// SPDX-License-Identifier: Apache-2.0
#include "ledger/fork_proof.h"

#include "ledger/event_kinds.h"

#include "wire/fields.h"

namespace postern::ledger {

Result<ForkProof> prove_fork(std::string_view header, std::string_view other) {
  if (header == other) return fail(errc::event_invalid, "fork: both headers are of one event");
  Result<Event> one = open_event_header(header);
  if (!one) return pass_on(std::move(one), "fork");
  Result<Event> two = open_event_header(other);
  if (!two) return pass_on(std::move(two), "fork");
  const bool same_place = one->stream == two->stream && one->seq == two->seq && one->mesh == two->mesh;
  if (!same_place || one->key != two->key) {
    return fail(errc::event_invalid,
                "fork: the headers are of different places or authors, expected one of each");
  }
  if (one->prev != two->prev) {
    return fail(errc::event_invalid,
                "fork: the headers follow different events; the fork lies further back, and is proven there");
  }
  if (!stream_belongs_to(one->stream, one->key)) {
    return fail(errc::event_invalid, "fork: the stream is not the author's own");
  }
  ForkProof proof{one->mesh, one->stream,         one->seq,          one->prev,
                  one->key,  std::string(header), std::string(other)};
  if (proof.second < proof.first) proof.first.swap(proof.second);
  return proof;
}

wire::Json body_of(const ForkProof& proof) {
  return wire::Json::object({{"first", proof.first}, {"second", proof.second}});
}

Result<ForkProof> read_fork(const Event& event) {
  wire::Fields fields(event.body, std::string(kStreamForked));
  const std::string first = fields.text("first");
  const std::string second = fields.text("second");
  if (const Result<> done = fields.finish(); !done) return fail(errc::event_invalid, done.error().message());
  Result<ForkProof> proof = prove_fork(first, second);
  if (!proof) return proof;
  if (proof->first != first)
    return fail(errc::event_invalid, "StreamForked: expected the lesser header first");
  if (proof->mesh != event.mesh)
    return fail(errc::event_invalid, "StreamForked: the fork is of another mesh");
  return proof;
}

}  // namespace postern::ledger
