// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/life.h"

#include <algorithm>

namespace postern::sim {
namespace {

constexpr std::uint64_t kStep_ns = 100 * kMs_ns;
constexpr std::uint64_t kTroubled_ns = 60 * kS_ns;
constexpr std::uint64_t kQuiet_ns = 150 * kS_ns;
constexpr std::uint64_t kMostDelay_ns = 900 * kMs_ns;
// Links come up again, then events are delivered and applied.
constexpr std::uint64_t kOverlapEnds_ns = 6 * kS_ns;

}  // namespace

Life::Life(std::uint64_t seed, std::function<void(const std::string&)> observer)
    : world_(seed),
      apart_(seed % 2 == 1),
      condenses_(seed % 16 == 3),
      network_(world_, world_.random.below(kMostDelay_ns)) {
  world_.observer = std::move(observer);
  make_gateways();
  make_roster();
  oracle_ = std::make_unique<Oracle>(world_, gateways_, resources_, apart_);
}

// The newcomer: nobody's candidate, and not there before the quiet phase or a stroke of fate.
bool Life::is_late(const Gateway& gateway) const {
  return condenses_ && &gateway == gateways_.back().get();
}

void Life::make_gateways() {
  const std::size_t number = 2 + world_.random.below(3) + (condenses_ ? 1 : 0);
  for (std::size_t i = 0; i < number; ++i) {
    const std::string name(1, static_cast<char>('a' + i));
    const std::uint64_t rate_permille = 900 + world_.random.below(201);
    gateways_.push_back(
        std::make_unique<Gateway>(world_, network_, name, rate_permille, world_.random.chance(80)));
    names_[gateways_.back()->node()] = name;
    for (std::size_t other = 0; other < i; ++other)
      wanted_.insert(std::minmax(gateways_[other]->name(), name));
  }
  // Some reach each other through a third alone, and are apart while it is away.
  if (apart_ && number > 2 && world_.random.chance(30)) wanted_.erase({"a", "b"});
}

void Life::make_roster() {
  roster_.mesh = "blue";
  roster_.serial = Serial(1);
  for (std::uint32_t number = 1; number <= 2; ++number) {
    ledger::Roster::Entry entry;
    entry.id = "r" + std::to_string(number);
    entry.ttl_ms = static_cast<std::uint32_t>(8'000 + world_.random.below(4'000));
    for (const auto& gateway : gateways_)
      if (!is_late(*gateway) && (number == 1 || world_.random.chance(70)))
        entry.candidates.push_back(gateway->node());
    if (entry.candidates.empty()) entry.candidates.push_back(gateways_.front()->node());
    if (number == 2) std::reverse(entry.candidates.begin(), entry.candidates.end());
    roster_.resources[ResourceNumber(number)] = std::move(entry);
    resources_.push_back(ResourceNumber(number));
  }
  for (const auto& gateway : gateways_) {
    gateway->follow(roster_, names_);
    if (!is_late(*gateway)) gateway->start();
  }
}

std::string Life::run() {
  if (std::string wrong = run_for(kTroubled_ns); !wrong.empty()) return wrong;
  end_troubles();
  const std::uint64_t healed_ns = world_.now_ns;
  std::string missing = "never looked at";
  while (world_.now_ns < healed_ns + kQuiet_ns && !missing.empty()) {
    if (std::string wrong = run_for(kS_ns); !wrong.empty()) return wrong;
    missing = oracle_->disagreement();
    if (world_.now_ns < healed_ns + 2 * kOverlapEnds_ns) missing = "too early";
  }
  if (!missing.empty()) say_views();
  if (!missing.empty()) return "no agreement after a quiet phase: " + missing;
  if (oracle_->last_overlap_ns() > healed_ns + kOverlapEnds_ns) return "two served for too long after a heal";
  return "";
}

std::uint64_t Life::steps_over() const {
  std::uint64_t steps = 0;
  for (const auto& gateway : gateways_)
    steps += gateway->runs() ? gateway->sync().counts().stepped : 0;
  return steps;
}

void Life::say_views() {
  for (const auto& gateway : gateways_) {
    if (!gateway->runs()) continue;
    world_.say(gateway->name() + ": " + std::to_string(gateway->claims().discontinuities()) +
               " discontinuities, " + std::to_string(gateway->claims().malformed()) + " malformed, " +
               std::to_string(gateway->claims().forged()) + " forged");
    for (const claims::ResourceView& view : gateway->claims().resources()) {
      std::string text = gateway->name() + ": " + view.id + " " + std::string(standing_name(view.standing)) +
                         ", epoch " + std::to_string(view.top ? view.top->token.epoch.value : 0) + " " +
                         std::string(verdict_name(view.verdict)) + " of " +
                         (view.top ? names_.at(view.top->author) : "nobody") + ", fence " +
                         std::to_string(view.fence.value) + (view.candidate ? ", candidate" : "") +
                         (view.yields ? ", yields" : "") + "; " + view.why;
      for (const claims::WaitsFor& waits : view.waits_for)
        text += "; waits: " + names_.at(waits.node) + " " + waits.why;
      world_.say(text);
    }
    for (const claims::NodeView& node : gateway->claims().nodes())
      world_.say(gateway->name() + " hears " + names_.at(node.node) + " " + std::to_string(node.boots) + "." +
                 std::to_string(node.beats) + ", silent for " + std::to_string(node.silent_ns / kMs_ns) +
                 (node.round ? ", round" : ""));
  }
}

std::string Life::run_for(std::uint64_t time_ns) {
  for (const std::uint64_t end_ns = world_.now_ns + time_ns; world_.now_ns < end_ns;)
    if (std::string wrong = step(); !wrong.empty()) return wrong;
  return "";
}

std::string Life::step() {
  ++steps_;
  world_.now_ns += kStep_ns;
  for (std::size_t i = 0; i < later_.size();) {
    if (later_[i].at_ns > world_.now_ns) {
      ++i;
      continue;
    }
    const std::function<void()> what = std::move(later_[i].what);
    later_.erase(later_.begin() + static_cast<std::ptrdiff_t>(i));
    what();
  }
  if (!quiet_ && world_.random.chance(4)) strike();
  if (!quiet_ && condenses_ && world_.random.chance(5)) any().work_and_compact(20 + world_.random.below(80));
  relink();
  network_.deliver();
  for (const auto& gateway : gateways_) {
    gateway->tick();
    if (std::string wrong = oracle_->look(); !wrong.empty()) {
      say_views();
      return wrong;
    }
  }
  return "";
}

void Life::relink() {
  for (const Network::Pair& pair : wanted_) {
    if (cut_.count(pair) != 0 || network_.linked(pair.first, pair.second)) continue;
    if (world_.random.chance(20)) network_.link(pair.first, pair.second);
  }
}

void Life::later(std::uint64_t most_ns, std::function<void()> what) {
  later_.push_back({world_.now_ns + kStep_ns + world_.random.below(most_ns), std::move(what)});
}

// ---- what befalls them

void Life::strike() {
  Gateway& gateway = any();
  switch (world_.random.below(apart_ ? 5 : 3)) {
    case 0:
      return order(gateway);
    case 1:
    case 2:
      return strike_host(gateway);
    case 3:
      return strike_network();
    default:
      return change_roster();
  }
}

void Life::strike_host(Gateway& gateway) {
  Gateway* const struck = &gateway;
  // A fork below what was summed up leaves a newcomer without what is before it (SPEC 5.7).
  switch (world_.random.below(apart_ && !condenses_ ? 7 : 6)) {
    case 0:
    case 1:
      gateway.kill();
      return later(world_.random.chance(60) ? 4 * kS_ns : 25 * kS_ns, [struck] { struck->start(); });
    case 2:
      gateway.cut_power();
      oracle_->forget_kernel(gateway.name());
      return later(20 * kS_ns, [struck] { struck->start(); });
    case 3:
      gateway.freeze(true);
      return later(20 * kS_ns, [struck] { struck->freeze(false); });
    case 4:
      gateway.fall_asleep();
      return later(25 * kS_ns, [struck] { struck->wake_up(); });
    case 5:
      if (!gateway.acts()) return;
      gateway.poison();
      return later(20 * kS_ns, [struck] {
        struck->kill();
        struck->start();
      });
    default:
      if (gateway.has_image() && world_.random.chance(50)) {
        gateway.lay_back_image();
        oracle_->forget_kernel(gateway.name());
        oracle_->forget_claims(gateway.name());
        return later(5 * kS_ns, [struck] { struck->start(); });
      }
      return gateway.take_image();
  }
}

void Life::strike_network() {
  if (wanted_.empty()) return;
  auto pair = wanted_.begin();
  std::advance(pair, static_cast<std::ptrdiff_t>(world_.random.below(wanted_.size())));
  const Network::Pair ends = *pair;
  const bool one_way = world_.random.chance(40);
  const bool turned = world_.random.chance(50);
  world_.say((one_way ? "stalled: " : "cut: ") + ends.first + (turned ? "<" : ">") + ends.second);
  if (!one_way) {
    cut_.insert(ends);
    network_.cut(ends.first, ends.second);
    return later(30 * kS_ns, [this, ends] { cut_.erase(ends); });
  }
  network_.stall(turned ? ends.second : ends.first, turned ? ends.first : ends.second);
  later(20 * kS_ns, [this, ends] { network_.cut(ends.first, ends.second); });
}

void Life::order(Gateway& gateway) {
  if (!gateway.acts()) return;
  const ResourceNumber resource = resources_[world_.random.below(resources_.size())];
  const bool claim = world_.random.chance(50);
  world_.say(gateway.name() + (claim ? " is told to claim " : " is told to release ") +
             std::to_string(resource.value));
  const Result<> done = claim ? gateway.claims().claim(resource) : gateway.claims().release(resource);
  if (!done) world_.say("refused: " + done.error().message());
}

// A floor is raised above whatever is held, or a candidate goes; each gateway hears of it in its own time.
void Life::change_roster() {
  const ResourceNumber number = resources_[world_.random.below(resources_.size())];
  ledger::Roster::Entry& entry = roster_.resources.at(number);
  roster_.serial = roster_.serial.next();
  if (world_.random.chance(50)) {
    for (const auto& gateway : gateways_)
      if (gateway->runs())
        entry.floor = std::max(entry.floor, gateway->replica().fold().claims().fence(number));
    world_.say("the floor of " + std::to_string(number.value) + " is raised to " +
               std::to_string(entry.floor.value));
  } else if (entry.candidates.size() > 1) {
    const std::size_t leaves = world_.random.below(entry.candidates.size());
    world_.say(names_.at(entry.candidates[leaves]) + " is no candidate of " + std::to_string(number.value) +
               " any more");
    entry.former.insert(entry.candidates[leaves]);
    entry.candidates.erase(entry.candidates.begin() + static_cast<std::ptrdiff_t>(leaves));
  }
  for (const auto& gateway : gateways_) {
    Gateway* const hears = gateway.get();
    later(5 * kS_ns, [this, hears] { hears->follow(roster_, names_); });
  }
}

void Life::end_troubles() {
  world_.say("all is quiet");
  quiet_ = true;
  later_.clear();
  cut_.clear();
  network_.go_on();
  for (const auto& gateway : gateways_) {
    gateway->wake_up();
    gateway->freeze(false);
    if (gateway->runs() && gateway->is_poisoned()) gateway->kill();
    gateway->forgive();
    gateway->follow(roster_, names_);
    gateway->set_automatic();
    gateway->start();
  }
}

}  // namespace postern::sim
