// SPDX-License-Identifier: Apache-2.0
#include "authority/policy_test.h"

#include <algorithm>

#include "authority/errors.h"
#include "authority/prefix_index.h"
#include "core/name.h"

namespace postern::authority {
namespace {

using config::PolicyTest;

bool is_active(const Snapshot& snapshot, const Owner& owner) {
  const auto active = [&owner](const auto& node) {
    return node.id == owner.id && node.state == State::active;
  };
  if (owner.kind == OwnerKind::peer) return std::any_of(snapshot.peers.begin(), snapshot.peers.end(), active);
  if (owner.kind == OwnerKind::gateway)
    return std::any_of(snapshot.gateways.begin(), snapshot.gateways.end(), active);
  return true;
}

std::string owner_words(const Prefix& prefix) {
  return std::string(word_of(prefix.owner.kind)) + " " + in_quotes(prefix.owner.id);
}

// Why nothing goes from or to `address`; empty when its prefix is in use.
std::string obstacle(const Snapshot& snapshot, const Prefix* prefix, const IpAddress& address) {
  if (prefix == nullptr) return "nobody owns " + address.text() + " there";
  if (!is_active(snapshot, prefix->owner))
    return address.text() + " belongs to the revoked " + owner_words(*prefix);
  return {};
}

std::string door_words(const Service& service) {
  return std::string(word_of(service.protocol)) + " port " + std::to_string(service.port);
}

const Service* service_of(const Snapshot& snapshot, const Prefix& prefix) {
  if (prefix.owner.kind != OwnerKind::service) return nullptr;
  const auto found = std::find_if(snapshot.services.begin(), snapshot.services.end(),
                                  [&](const Service& service) { return service.id == prefix.owner.id; });
  return found == snapshot.services.end() ? nullptr : &*found;
}

// Why a service does not take the packet as the first one of a flow; empty when one of its backends does.
std::string closed_door(const Service& service, const PolicyTest& test) {
  if (test.protocol != word_of(service.protocol) || test.port != service.port)
    return "service " + in_quotes(service.id) + " takes " + door_words(service) + " alone";
  const bool served = std::any_of(service.backends.begin(), service.backends.end(),
                                  [](const Backend& backend) { return !backend.drain; });
  return served ? std::string() : "service " + in_quotes(service.id) + " has no backend that takes new flows";
}

// Why a service's address does not send it as the first packet of a flow. One of UDP is taken to come from
// the service's own port.
std::string closed_to_leave(const Service& service, const PolicyTest& test) {
  if (service.protocol == Protocol::udp && test.protocol == "udp") return {};
  return "the address of service " + in_quotes(service.id) + " answers from " + door_words(service) +
         " and asks for nothing";
}

// A test that names no code is of all codes of its type: whoever must reach needs each of them, whoever must
// not may have none.
bool code_matches(const Rule& rule, const PolicyTest& test) {
  if (rule.codes.empty()) return true;
  if (!test.code) return !test.allow;
  return std::find(rule.codes.begin(), rule.codes.end(), *test.code) != rule.codes.end();
}

bool matches(const Rule& rule, const PolicyTest& test) {
  if (rule.protocol == Protocol::any) return true;
  if (word_of(rule.protocol) != test.protocol) return false;
  if (test.port) {
    return rule.ports.empty() ||
           std::any_of(rule.ports.begin(), rule.ports.end(), [&](const PortRange& range) {
             return range.first <= *test.port && *test.port <= range.last;
           });
  }
  if (rule.types.empty()) return true;
  return code_matches(rule, test) &&
         std::find(rule.types.begin(), rule.types.end(), *test.type) != rule.types.end();
}

std::string words_of(const PolicyTest& test) {
  return test.from.text() + " to " + test.to.text() + " in " + test.segment + ", " + test.protocol +
         (test.port ? " port " + std::to_string(*test.port) : " type " + std::to_string(*test.type)) +
         (test.code ? " code " + std::to_string(*test.code) : "");
}

PolicyTestResult run(const PolicyTest& test, const Snapshot& snapshot, const SnapshotNames& names,
                     const PrefixIndex& index) {
  PolicyTestResult out{test.line, words_of(test), test.allow, false, {}};
  const Segment* segment = names.segment(test.segment);
  if (segment == nullptr) {
    out.because = "there is no such segment";
    return out;
  }
  const Prefix* from = index.longest_match(segment->vni, test.from);
  const Prefix* to = index.longest_match(segment->vni, test.to);
  out.because = obstacle(snapshot, from, test.from);
  if (out.because.empty()) out.because = obstacle(snapshot, to, test.to);
  if (!out.because.empty()) return out;
  if (const Service* service = service_of(snapshot, *from)) out.because = closed_to_leave(*service, test);
  if (!out.because.empty()) return out;
  if (const Service* service = service_of(snapshot, *to)) out.because = closed_door(*service, test);
  if (!out.because.empty()) return out;
  const auto rule = std::find_if(snapshot.rules.begin(), snapshot.rules.end(), [&](const Rule& candidate) {
    return candidate.from == from->class_id && candidate.to == to->class_id && matches(candidate, test);
  });
  out.allowed = rule != snapshot.rules.end();
  out.because = out.allowed ? "rules[" + std::to_string(rule - snapshot.rules.begin()) + "] allows it"
                            : "no rule allows it";
  out.because += " from class " + in_quotes(from->class_id) + " to " + in_quotes(to->class_id);
  return out;
}

}  // namespace

std::vector<PolicyTestResult> run_policy_tests(const config::PolicyFile& policy, const Snapshot& snapshot) {
  std::vector<PolicyTestResult> out;
  const Result<SnapshotNames> names = SnapshotNames::of(snapshot, place_in_document);
  if (!names) return out;
  const Result<PrefixIndex> index = PrefixIndex::of(snapshot, *names, place_in_document);
  if (!index) return out;
  for (const PolicyTest& test : policy.tests)
    out.push_back(run(test, snapshot, *names, *index));
  return out;
}

Result<> require_policy_tests(const std::vector<PolicyTestResult>& results, std::string_view origin) {
  const auto failed = [](const PolicyTestResult& result) { return !result.passed(); };
  const auto count = std::count_if(results.begin(), results.end(), failed);
  if (count == 0) return {};
  const PolicyTestResult& first = *std::find_if(results.begin(), results.end(), failed);
  return fail(errc::policy_test,
              std::string(origin) + ":" + std::to_string(first.line) + ": " + first.what +
                  (first.wants_allow ? " must be allowed, but is not: " : " must be denied, but is not: ") +
                  first.because + "; " + std::to_string(count) + " of " + std::to_string(results.size()) +
                  " tests of the policy fail (postern authority test tells all)");
}

}  // namespace postern::authority
