// SPDX-License-Identifier: Apache-2.0
#include "sim/stories/scripted_mesh.h"

#include <doctest/doctest.h>

#include "unit/outcome.h"

namespace postern::testing {
namespace {

constexpr std::uint64_t kStep_ms = 100;
constexpr std::uint64_t kMeet_ms = 2'000;

ledger::Roster::Entry resource_of(std::string id, const sim::Oracle::Gateways& gateways,
                                  std::uint32_t ttl_ms) {
  ledger::Roster::Entry entry;
  entry.id = std::move(id);
  entry.ttl_ms = ttl_ms;
  for (const auto& gateway : gateways)
    entry.candidates.push_back(gateway->node());
  return entry;
}

}  // namespace

ScriptedMesh::ScriptedMesh(const Story& story) : world_(1) {
  for (const std::uint64_t rate_permille : story.rates_permille) {
    const std::string name(1, static_cast<char>('a' + gateways_.size()));
    gateways_.push_back(std::make_unique<sim::Gateway>(world_, network_, name, rate_permille, false));
    names_[gateways_.back()->node()] = name;
  }
  roster_.mesh = "blue";
  roster_.resources[kDoor] = resource_of("door", gateways_, story.ttl_ms);
  roster_.resources[kOther] = resource_of("other", gateways_, story.ttl_ms);
  oracle_ = std::make_unique<sim::Oracle>(world_, gateways_, std::vector{kDoor}, story.apart);
  follow_roster();
  for (const auto& gateway : gateways_)
    gateway->start();
  run(kMeet_ms);
}

void ScriptedMesh::run(std::uint64_t time_ms) {
  for (std::uint64_t passed_ms = 0; passed_ms < time_ms; passed_ms += kStep_ms) {
    world_.now_ns += kStep_ms * sim::kMs_ns;
    relink();
    network_.deliver();
    for (const auto& gateway : gateways_) {
      gateway->tick();
      REQUIRE(oracle_->look() == "");
    }
  }
}

bool ScriptedMesh::comes_to(const std::string& expected, std::uint64_t most_ms) {
  for (std::uint64_t passed_ms = 0; passed_ms < most_ms && serving() != expected; passed_ms += kStep_ms)
    run(kStep_ms);
  return serving() == expected;
}

void ScriptedMesh::relink() {
  for (auto one = gateways_.begin(); one != gateways_.end(); ++one)
    for (auto other = one + 1; other != gateways_.end(); ++other)
      if (cut_.count({(*one)->name(), (*other)->name()}) == 0)
        network_.link((*one)->name(), (*other)->name());
}

void ScriptedMesh::claim(char gateway) {
  const Result<> claimed = at(gateway).claims().claim(kDoor);
  REQUIRE_MESSAGE(claimed, context(claimed));
}

void ScriptedMesh::a_serves() {
  claim('a');
  REQUIRE(comes_to("a", 2'000));
}

void ScriptedMesh::release(char gateway) {
  const Result<> released = at(gateway).claims().release(kDoor);
  REQUIRE_MESSAGE(released, context(released));
}

void ScriptedMesh::cut(char one, char other) {
  const sim::Network::Pair ends = std::minmax(std::string(1, one), std::string(1, other));
  cut_.insert(ends);
  network_.cut(ends.first, ends.second);
}

void ScriptedMesh::isolate(char gateway) {
  for (const auto& other : gateways_)
    if (other->name()[0] != gateway) cut(gateway, other->name()[0]);
}

void ScriptedMesh::mend() {
  cut_.clear();
}

void ScriptedMesh::mend(char one, char other) {
  cut_.erase(std::minmax(std::string(1, one), std::string(1, other)));
}

void ScriptedMesh::add_resources(std::uint32_t first, std::uint32_t count) {
  const ledger::Roster::Entry door = roster_.resources.at(kDoor);
  for (std::uint32_t number = first; number < first + count; ++number) {
    ledger::Roster::Entry& entry = roster_.resources[ResourceNumber(number)] = door;
    entry.id = "r" + std::to_string(number);
  }
  follow_roster();
}

void ScriptedMesh::follow_roster() {
  roster_.serial = roster_.serial.next();
  for (const auto& gateway : gateways_)
    gateway->follow(roster_, names_);
}

std::string ScriptedMesh::serving() {
  std::string out;
  for (const auto& gateway : gateways_)
    if (gateway->serves(kDoor)) out += (out.empty() ? "" : "+") + gateway->name();
  return out;
}

std::string ScriptedMesh::holder(char gateway) {
  const ledger::Claim* const live = at(gateway).replica().fold().claims().live(kDoor);
  return live == nullptr ? "" : name_of(live->author);
}

std::vector<ledger::Verdict> ScriptedMesh::verdicts(char gateway) {
  const ledger::ClaimFold& fold = at(gateway).replica().fold().claims();
  std::vector<ledger::Verdict> out;
  for (const ledger::Claim* const claim : fold.claims_of(kDoor))
    out.push_back(fold.verdict(*claim));
  return out;
}

Epoch ScriptedMesh::top_epoch(char gateway) {
  const ledger::Claim* const top = at(gateway).replica().fold().claims().top(kDoor);
  return top == nullptr ? Epoch() : top->token.epoch;
}

claims::ResourceView ScriptedMesh::view(char gateway) {
  for (claims::ResourceView& view : at(gateway).claims().resources())
    if (view.resource == kDoor) return std::move(view);
  return {};
}

std::uint64_t ScriptedMesh::beats(char gateway, char of) {
  for (const claims::NodeView& node : at(gateway).claims().nodes())
    if (node.node == at(of).node()) return node.beats;
  return 0;
}

}  // namespace postern::testing
