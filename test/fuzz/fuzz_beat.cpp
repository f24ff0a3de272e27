// SPDX-License-Identifier: Apache-2.0
// What a gateway may say about leases: it is decoded within the bounds, or refused; and what was decoded is
// encoded as the same bytes.
#include <algorithm>
#include <cstdlib>

#include "claims/beat.h"
#include "claims/errors.h"

using namespace postern;
using namespace postern::claims;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView bytes(data, size);
  const Result<Message> read = decode(bytes);
  if (!read) {
    require(read.error().code == errc::malformed);
    return 0;
  }
  if (const auto* beat = std::get_if<BeatMessage>(&*read))
    require(beat->rows.size() <= kMaxRows && beat->beat.echoes.size() <= mesh::kMaxGateways);
  const Bytes again = encode(*read);
  require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  return 0;
}
