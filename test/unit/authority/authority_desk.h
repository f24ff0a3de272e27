// SPDX-License-Identifier: Apache-2.0
// An authority that issues one snapshot after another, and rotates its keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "authority/adoption_rules.h"
#include "authority/bundle.h"
#include "authority/chain.h"
#include "authority/envelope.h"
#include "authority/snapshot_codec.h"
#include "unit/authority/sample_snapshot.h"

namespace postern::testing {

class AuthorityDesk {
 public:
  AuthorityDesk() {
    keys_.push_back(wire::SecretKey::generate());
    snapshot_ = sample_snapshot();
    snapshot_.root = {1, {keys_.back().public_key()}};
  }

  const authority::Snapshot& snapshot() const { return snapshot_; }
  authority::Snapshot& change() { return snapshot_; }
  authority::Root root() const { return snapshot_.root; }
  const wire::SecretKey& key() const { return keys_.back(); }

  // The current snapshot, signed by the key that is in force, and by the one before when `change` moved on.
  std::string file() const {
    std::string out = seal(snapshot_, keys_.back());
    if (rotating_)
      out = authority::add_signature(out, keys_[keys_.size() - 2], wire::domain::snapshot).value();
    return out;
  }
  static std::string seal(const authority::Snapshot& snapshot, const wire::SecretKey& key) {
    return authority::add_signature(authority::seal_envelope({}, authority::encode_snapshot(snapshot)), key,
                                    wire::domain::snapshot)
        .value();
  }
  authority::Candidate candidate(const authority::Root& trusted) const {
    return authority::verify_snapshot(file(), trusted, "demo").value();
  }
  authority::Adopted adopted() const {
    authority::Candidate candidate;
    candidate.snapshot = snapshot_;
    candidate.hash = authority::payload_hash(authority::encode_snapshot(snapshot_));
    return authority::remembered(candidate);
  }

  // The next serial, chained to the current one.
  AuthorityDesk& issue_next() {
    snapshot_.prev = adopted().hash;
    snapshot_.serial = snapshot_.serial.next();
    rotating_ = false;
    return *this;
  }
  // The same, under a new key.
  AuthorityDesk& rotate() {
    issue_next();
    keys_.push_back(wire::SecretKey::generate());
    snapshot_.root = {1, {keys_.back().public_key()}};
    rotating_ = true;
    return *this;
  }

 private:
  std::vector<wire::SecretKey> keys_;
  authority::Snapshot snapshot_;
  bool rotating_ = false;
};

// Signed files, to be put into a bundle.
struct Files {
  std::vector<std::pair<Serial, std::string>> files;

  Files& add(const AuthorityDesk& desk) {
    files.emplace_back(desk.snapshot().serial, desk.file());
    return *this;
  }
  std::string bundle() const {
    std::vector<authority::BundleEntry> entries;
    for (const auto& [serial, file] : files)
      entries.push_back({serial, file});
    return authority::seal_bundle(entries);
  }
};

}  // namespace postern::testing
