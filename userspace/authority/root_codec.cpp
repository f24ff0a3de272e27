// SPDX-License-Identifier: Apache-2.0
#include "authority/root_codec.h"

#include <set>

#include "authority/envelope.h"
#include "authority/snapshot_names.h"

namespace postern::authority {

Root read_root(wire::Fields& fields) {
  Root out;
  const wire::Json::Array& keys = fields.array("keys");
  for (std::size_t i = 0; i < keys.size() && i <= kMaxRootKeys; ++i) {
    const std::string* text = keys[i].as_string();
    const std::optional<wire::PublicKey> key = text == nullptr ? std::nullopt : wire::PublicKey::parse(*text);
    if (!key) fields.reject("keys", "holds at [" + std::to_string(i) + "] no base64 of 32 bytes");
    out.keys.push_back(key.value_or(wire::PublicKey{}));
  }
  out.threshold = static_cast<std::uint32_t>(fields.integer("threshold", 1, kMaxRootKeys));
  return out;
}

wire::Json root_keys(const Root& root) {
  wire::Json out = wire::Json::array();
  for (const wire::PublicKey& key : root.keys)
    out.push(wire::Json(key.text()));
  return out;
}

Result<> check_root(const Root& root) {
  const std::set<wire::PublicKey> distinct(root.keys.begin(), root.keys.end());
  if (root.keys.empty() || root.keys.size() > kMaxRootKeys) {
    return fail(errc::bad_root, "the root has " + std::to_string(root.keys.size()) + " keys, expected 1 to " +
                                    std::to_string(kMaxRootKeys));
  }
  if (distinct.size() != root.keys.size()) return fail(errc::bad_root, "the root names one key twice");
  if (root.threshold < 1 || root.threshold > root.keys.size()) {
    return fail(errc::bad_root, "the root's threshold is " + std::to_string(root.threshold) +
                                    ", expected 1 to the number of its keys, " +
                                    std::to_string(root.keys.size()));
  }
  return {};
}

Result<TrustAnchor> parse_trust_anchor(std::string_view text) {
  static constexpr std::size_t kMaxBytes = 64U << 10;
  if (text.ends_with('\n')) text.remove_suffix(1);
  const auto bad = [](const Error& error) {
    return fail(errc::bad_root,
                error.message() + " (expected {\"keys\":[...],\"mesh\":...,\"threshold\":...,\"v\":1})");
  };
  const Result<wire::Json> json = wire::parse_canonical(text, kMaxBytes);
  if (!json) return bad(json.error());
  wire::Fields fields(*json, "");
  TrustAnchor out;
  out.root.keys = {};
  out.mesh = fields.text("mesh");
  out.root = read_root(fields);
  fields.integer("v", 1, 1);
  if (const Result<> done = fields.finish(); !done) return bad(done.error());
  if (!is_mesh_name(out.mesh)) {
    return fail(errc::bad_root, "mesh is \"" + out.mesh + "\", expected " + std::string(kMeshNameForm));
  }
  if (Result<> checked = check_root(out.root); !checked) return pass_on(std::move(checked));
  return out;
}

std::string encode_trust_anchor(const TrustAnchor& anchor) {
  return wire::encode_canonical(wire::Json::object({{"keys", root_keys(anchor.root)},
                                                    {"mesh", anchor.mesh},
                                                    {"threshold", anchor.root.threshold},
                                                    {"v", 1}}));
}

}  // namespace postern::authority
