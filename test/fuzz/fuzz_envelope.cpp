// SPDX-License-Identifier: Apache-2.0
// Whatever opens as an envelope seals to the same bytes; a bundle and a trust anchor that are
// read are written the same.
#include <cstdlib>

#include "authority/bundle.h"
#include "authority/envelope.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace postern::authority;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  if (const auto envelope = open_envelope(file)) {
    if (seal_envelope(envelope->signatures, envelope->payload) != file) std::abort();
    if (verify_threshold(*envelope, Root{1, {}}, postern::wire::domain::snapshot)) std::abort();
  }
  if (const auto entries = open_bundle(file)) {
    if (seal_bundle(*entries) != file) std::abort();
  }
  if (const auto anchor = parse_trust_anchor(file)) {
    const std::string again = encode_trust_anchor(*anchor);
    if (again != file && again + "\n" != file) std::abort();
  }
  return 0;
}
