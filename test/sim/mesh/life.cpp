// SPDX-License-Identifier: Apache-2.0
#include "sim/mesh/life.h"

#include <algorithm>

namespace postern::sim {
namespace {

constexpr std::uint64_t kStep_ns = 100 * kMs_ns;
constexpr std::uint64_t kTroubled_ns = 60 * kS_ns;
constexpr std::uint64_t kQuiet_ns = 150 * kS_ns;
constexpr std::uint64_t kMostDelay_ns = 900 * kMs_ns;
// A failed attempt is made again after 30 s at the latest, by a clock that may be slow; and one may fail.
constexpr std::uint64_t kAllLinked_ns = 90 * kS_ns;
// Once all links are up, events are delivered and applied.
constexpr std::uint64_t kOverlapEnds_ns = 6 * kS_ns;

}  // namespace

Life::Life(std::uint64_t seed, std::function<void(const std::string&)> observer, std::set<Trouble> spared)
    : seed_(seed),
      world_(seed),
      spared_(std::move(spared)),
      apart_(seed % 2 == 1),
      condenses_(seed % 16 == 3),
      wires_(world_, world_.random.below(kMostDelay_ns)) {
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
        std::make_unique<Gateway>(world_, wires_, name, rate_permille, world_.random.chance(80)));
    names_[gateways_.back()->node()] = name;
    for (std::size_t other = 0; other < i; ++other)
      wanted_.insert(std::minmax(gateways_[other]->name(), name));
  }
  // Some reach each other through a third alone, and are apart while it is away.
  if (!apart_ || number == 2 || !world_.random.chance(30)) return;
  wanted_.erase({"a", "b"});
  wires_.part("a", "b");
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
  const std::uint64_t quiet_ns = world_.now_ns;
  while (!all_linked()) {
    if (world_.now_ns >= quiet_ns + kAllLinked_ns) return "no links after a quiet phase";
    if (std::string wrong = step(); !wrong.empty()) return wrong;
  }
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

bool Life::all_linked() const {
  return std::all_of(wanted_.begin(), wanted_.end(),
                     [&](const Wires::Pair& pair) { return wires_.linked(pair.first, pair.second); });
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
  befall();
  wires_.deliver();
  if (twin_) twin_->tick(world_.now_ns);
  if (twin_ && !twin_->fault().empty()) return "a twin: " + twin_->fault();
  for (const auto& gateway : gateways_) {
    gateway->tick();
    if (std::string wrong = oracle_->look(); !wrong.empty()) {
      say_views();
      return wrong;
    }
  }
  return "";
}

// What befalls at a step follows from the seed and the step alone, so that troubles can be taken out one by
// one (shrinker.h).
bool Life::befalls(unsigned kind, unsigned permille) {
  const Trouble trouble = 10 * steps_ + kind;
  fate_ = RandomSource(RandomSource(seed_ ^ (trouble << 32U)).next());
  if (fate_.below(1000) >= permille || spared_.count(trouble) != 0) return false;
  troubles_.push_back(trouble);
  return true;
}

void Life::befall() {
  if (quiet_) return;
  if (befalls(0, 40)) strike();
  if (condenses_ && befalls(1, 50)) any().work_and_compact(20 + fate_.below(80));
  // What is missing of a record holds its link up until that is given up as silent, longer than a delivery
  // may take: then two gateways are apart.
  if (apart_ && befalls(2, 10)) wires_.meddle();
  if (befalls(3, 5)) wires_.replay_handshake();
}

void Life::later(std::uint64_t most_ns, std::function<void()> what) {
  later_.push_back({world_.now_ns + kStep_ns + fate_.below(most_ns), std::move(what)});
}

// ---- what befalls them

void Life::strike() {
  Gateway& gateway = any();
  switch (fate_.below(apart_ ? 5 : 3)) {
    case 0:
      return order(gateway);
    case 1:
    case 2:
      return strike_host(gateway);
    case 3:
      return fate_.chance(10) ? double_process(gateway) : strike_network();
    default:
      return change_roster();
  }
}

void Life::strike_host(Gateway& gateway) {
  Gateway* const struck = &gateway;
  // A fork below what was summed up leaves a newcomer without what is before it (SPEC 5.7).
  switch (fate_.below(apart_ && !condenses_ ? 7 : 6)) {
    case 0:
    case 1:
      gateway.kill();
      return later(fate_.chance(60) ? 4 * kS_ns : 25 * kS_ns, [struck] { struck->start(); });
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
      if (gateway.has_image() && fate_.chance(50)) {
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
  std::advance(pair, static_cast<std::ptrdiff_t>(fate_.below(wanted_.size())));
  const Wires::Pair ends = *pair;
  const bool one_way = fate_.chance(40);
  const bool turned = fate_.chance(50);
  world_.say((one_way  ? "stalled: "
              : turned ? "reset: "
                       : "cut: ") +
             ends.first + (turned ? "<" : ">") + ends.second);
  if (!one_way) {
    wires_.cut(ends.first, ends.second, turned);
    return later(30 * kS_ns, [this, ends] { wires_.mend(ends.first, ends.second); });
  }
  wires_.stall(turned ? ends.second : ends.first, turned ? ends.first : ends.second);
  later(20 * kS_ns, [this, ends] { wires_.mend(ends.first, ends.second); });
}

// Its peers keep to the one that came last, and refuse the other one until that is started anew.
void Life::double_process(Gateway& gateway) {
  if (twin_ || !gateway.runs()) return;
  world_.say("a second process runs under the key of " + gateway.name());
  ++twins_;
  twin_of_ = &gateway;
  twin_ = wires_.plug_in(gateway.name() + "*", gateway.key(), mute_);
  twin_->follow(names_);
  later(10 * kS_ns, [this] { end_double(); });
}

void Life::end_double() {
  if (!twin_) return;
  if (twin_of_->is_asleep()) return later(5 * kS_ns, [this] { end_double(); });
  world_.say("one process runs under the key of " + twin_of_->name());
  twin_.reset();
  if (!twin_of_->runs()) return;
  twin_of_->kill();
  twin_of_->start();
}

void Life::order(Gateway& gateway) {
  if (!gateway.acts()) return;
  const ResourceNumber resource = resources_[fate_.below(resources_.size())];
  const bool claim = fate_.chance(50);
  world_.say(gateway.name() + (claim ? " is told to claim " : " is told to release ") +
             std::to_string(resource.value));
  const Result<> done = claim ? gateway.claims().claim(resource) : gateway.claims().release(resource);
  if (!done) world_.say("refused: " + done.error().message());
}

// A floor is raised above whatever is held, or a candidate goes; each gateway hears of it in its own time.
void Life::change_roster() {
  const ResourceNumber number = resources_[fate_.below(resources_.size())];
  ledger::Roster::Entry& entry = roster_.resources.at(number);
  roster_.serial = roster_.serial.next();
  if (fate_.chance(50)) {
    for (const auto& gateway : gateways_)
      if (gateway->runs())
        entry.floor = std::max(entry.floor, gateway->replica().fold().claims().fence(number));
    world_.say("the floor of " + std::to_string(number.value) + " is raised to " +
               std::to_string(entry.floor.value));
  } else if (entry.candidates.size() > 1) {
    const std::size_t leaves = fate_.below(entry.candidates.size());
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
  wires_.go_on();
  for (const auto& gateway : gateways_) {
    gateway->wake_up();
    gateway->freeze(false);
    if (gateway->runs() && gateway->is_poisoned()) gateway->kill();
    gateway->forgive();
    gateway->follow(roster_, names_);
    gateway->set_automatic();
    gateway->start();
  }
  end_double();
}

}  // namespace postern::sim
