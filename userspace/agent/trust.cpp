// SPDX-License-Identifier: Apache-2.0
#include "agent/trust.h"

#include "authority/envelope.h"
#include "core/file.h"

namespace postern::agent {
namespace {

constexpr std::size_t kMaxTrustAnchorBytes = 1U << 20;

}  // namespace

Result<authority::Root> trusted_root(const ledger::AuthorityState& state,
                                     const std::filesystem::path& trust_anchor, const std::string& mesh) {
  if (state.adopted) return state.adopted->root;
  Result<std::string> text = read_file(trust_anchor, kMaxTrustAnchorBytes);
  if (!text)
    return pass_on(std::move(text), "the trust anchor (`root` in the config), needed for the first snapshot");
  Result<authority::TrustAnchor> anchor = authority::parse_trust_anchor(*text);
  if (!anchor) return pass_on(std::move(anchor), trust_anchor.string());
  if (anchor->mesh != mesh) {
    return fail(authority::errc::bad_root, trust_anchor.string() + " is the trust anchor of mesh \"" +
                                               anchor->mesh + "\", this gateway is in \"" + mesh +
                                               "\"; install the right one");
  }
  return std::move(anchor->root);
}

}  // namespace postern::agent
