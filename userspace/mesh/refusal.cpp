// SPDX-License-Identifier: Apache-2.0
#include "mesh/refusal.h"

namespace postern::mesh {

std::string_view refusal_label(Refusal refusal) {
  switch (refusal) {
    case Refusal::malformed:
      return "malformed";
    case Refusal::oversized:
      return "oversized";
    case Refusal::signature:
      return "signature";
    case Refusal::replay:
      return "replay";
    case Refusal::protocol_unsupported:
      return "protocol_unsupported";
    case Refusal::self_link:
      return "self_link";
    case Refusal::mesh_mismatch:
      return "mesh_mismatch";
    case Refusal::untrusted:
      return "untrusted";
    case Refusal::capacity:
      return "capacity";
    case Refusal::unknown_link:
      return "unknown_link";
  }
  return "unknown";
}

std::optional<Refusal> refusal_of(std::uint8_t number) {
  if (number < 1 || number > kRefusalCount) return std::nullopt;
  return static_cast<Refusal>(number);
}

}  // namespace postern::mesh
