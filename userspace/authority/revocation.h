// SPDX-License-Identifier: Apache-2.0
// The authority's word that the claims of a resource up to an epoch count no more (SPEC 10.2), before the
// next snapshot says so by a floor: a small signed document in an envelope,
// {"epoch","issued","mesh","resource", "v"}. Counts while the root that signed it stands; what it did to
// fences and floors by then, stays.
#pragma once

#include <string>
#include <string_view>

#include "authority/errors.h"
#include "authority/snapshot.h"
#include "core/ids.h"
#include "core/result.h"

namespace postern::authority {

inline constexpr std::size_t kMaxRevocationBytes = 32U << 10;

struct Revocation {
  std::string mesh;
  ResourceNumber resource;
  Epoch epoch;  // the highest that it revokes
  UtcSeconds issued;
  friend bool operator==(const Revocation&, const Revocation&) = default;
};

std::string encode_revocation(const Revocation& revocation);
Result<Revocation> parse_revocation(std::string_view payload);

// Signed by the threshold of `trusted`, and of this mesh.
Result<Revocation> verify_revocation(std::string_view file, const Root& trusted, std::string_view mesh);

}  // namespace postern::authority
