// SPDX-License-Identifier: Apache-2.0
// The swap (SPEC 2.3). A packet reads the selector once and reaches every table through the slot it names. So
// the idle slot may be written only after the packets that still hold it have ended: those that began before
// the last flip. That wait comes before every fill and not after every flip, because an agent may die between
// a flip and a wait, and its successor cannot know.
//
// What a slot holds is never changed in place. A table that differs goes into a fresh map; one that is equal
// is shared by both slots. The two plain arrays (gateway, port_classes) have a half a slot, written after the
// wait. Until the flip nothing of this is reachable for a packet, so a failure at any step leaves the active
// generation as it was, and the next attempt starts from whatever the idle slot holds.
#include "dataplane/generations.h"

#include <bpf/bpf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>

#include "dataplane/errors.h"
#include "dataplane/grace_period.h"
#include "dataplane/inner_table.h"
#include "dataplane/kernel_error.h"
#include "dataplane/mapped_array.h"
#include "dataplane/meter_rows.h"
#include "dataplane/rule_bank.h"
#include "dataplane/selector.h"

namespace postern::dataplane {
namespace {

constexpr std::size_t kPortLines = std::size_t{PT_PROTO_COUNT} * PT_PORT_LINES;

constexpr std::array<std::string_view, 11> kSwapped = {"ports",     "segments", "peers",   "endpoints",
                                                       "owners4",   "owners6",  "policy",  "rates",
                                                       "resources", "services", "backends"};
constexpr std::size_t kPolicy = 6;  // its place among them
static_assert(kSwapped[kPolicy] == "policy");
constexpr std::size_t kResources = 8;
static_assert(kSwapped[kResources] == "resources");

std::array<RowView, kSwapped.size()> views_of(const Tables& tables) {
  return {RowView(tables.ports),     RowView(tables.segments), RowView(tables.peers),
          RowView(tables.endpoints), RowView(tables.owners4),  RowView(tables.owners6),
          RowView(tables.policy),    RowView(tables.rates),    RowView(tables.resources),
          RowView(tables.services),  RowView(tables.backends)};
}

bool same_gateway(pt_gateway a, pt_gateway b) {
  a.generation = b.generation = 0;
  a.rule_bank = b.rule_bank = 0;
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class Key, class Value>
Result<> read_rows(std::string_view name, int outer_fd, std::uint32_t slot, Rows<Key, Value>& rows) {
  const Result<std::optional<InnerTable>> table = InnerTable::find(name, outer_fd, slot);
  if (!table) return fail(table.error().code, table.error().context);
  if (!*table) return fail(errc::map, "the active generation has no table " + std::string(name));
  Result<> read = (*table)->each([&](auto key, auto value) {
    auto& row = rows.emplace_back();
    std::memcpy(&row.first, key.data(), sizeof row.first);
    std::memcpy(&row.second, value.data(), sizeof row.second);
  });
  if (!read) return read;
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return std::memcmp(&a.first, &b.first, sizeof a.first) < 0; });
  return {};
}

}  // namespace

struct Generations::State {
  State(const Plane& plane_, Selector selector_, MappedArray port_classes_, Leases leases_,
        GracePeriod barrier_)
      : plane(plane_),
        selector(std::move(selector_)),
        port_classes(std::move(port_classes_)),
        leases(std::move(leases_)),
        barrier(std::move(barrier_)) {}

  const Plane& plane;
  Selector selector;
  MappedArray port_classes;
  Leases leases;
  GracePeriod barrier;
  // Of the active slot's tables; none where the slot is empty. Read when they are first asked for: a large
  // table takes a second. prepare() asks for those that it compares, hold() for that of resources.
  std::array<std::optional<TableDigest>, kSwapped.size()> digests;
  std::array<bool, kSwapped.size()> digested{};

  pt_port_line* port_lines(std::uint32_t slot) const {
    return port_classes.as<pt_port_line>() + slot * kPortLines;
  }

  Result<pt_gateway> gateway(std::uint32_t slot) const;
  Result<> digest_active(std::size_t table);
  Result<> fill_arrays(const pt_gateway& row, const pt_port_line* lines, std::uint32_t slot) const;
  Result<> fill_table(std::size_t table, const RowView& rows, std::uint32_t slot) const;
  Result<> share_table(std::size_t table, std::uint32_t slot) const;
  Result<> finish_slot(const Tables& tables, const pt_gateway& active, bool same_rules,
                       Generation generation) const;
};

Result<pt_gateway> Generations::State::gateway(std::uint32_t slot) const {
  pt_gateway row{};
  if (::bpf_map_lookup_elem(plane.map_fd("gateway"), &slot, &row) == 0) return row;
  return kernel_error(errc::map, "cannot read table gateway", errno);
}

Result<> Generations::State::digest_active(std::size_t table) {
  if (digested[table]) return {};
  const std::string_view name = kSwapped[table];
  const Result<std::optional<InnerTable>> active =
      InnerTable::find(name, plane.map_fd(name), selector.active_slot());
  if (!active) return fail(active.error().code, active.error().context);
  if (*active) {
    const Result<TableDigest> digest = (*active)->digest();
    if (!digest) return fail(digest.error().code, digest.error().context);
    digests[table] = *digest;
  }
  digested[table] = true;
  return {};
}

Result<> Generations::State::fill_arrays(const pt_gateway& row, const pt_port_line* lines,
                                         std::uint32_t slot) const {
  if (::bpf_map_update_elem(plane.map_fd("gateway"), &slot, &row, BPF_ANY) != 0) {
    return kernel_error(errc::map, "cannot write table gateway", errno);
  }
  std::memcpy(port_lines(slot), lines, kPortLines * sizeof(pt_port_line));
  const Result<pt_gateway> read_back = gateway(slot);
  if (!read_back) return fail(read_back.error().code, read_back.error().context);
  if (std::memcmp(&*read_back, &row, sizeof row) == 0) return {};
  return fail(errc::digest, "table gateway does not read back as it was written; nothing was swapped");
}

// Brings the idle slot's table to these rows.
Result<> Generations::State::fill_table(std::size_t table, const RowView& rows, std::uint32_t slot) const {
  const std::string_view name = kSwapped[table];
  const Result<InnerTable> fresh = InnerTable::fill(name, rows);
  if (!fresh) return fail(fresh.error().code, fresh.error().context);
  return fresh->place(plane.map_fd(name), slot);
}

// The idle slot's table becomes the active slot's.
Result<> Generations::State::share_table(std::size_t table, std::uint32_t slot) const {
  const std::string_view name = kSwapped[table];
  const int outer_fd = plane.map_fd(name);
  const Result<std::optional<InnerTable>> active = InnerTable::find(name, outer_fd, 1 - slot);
  if (!active) return fail(active.error().code, active.error().context);
  const Result<std::optional<InnerTable>> idle = InnerTable::find(name, outer_fd, slot);
  if (!idle) return fail(idle.error().code, idle.error().context);
  if (!*active) return fail(errc::map, "table " + std::string(name) + " vanished from the active slot");
  if (*idle && (*idle)->id() == (*active)->id()) return {};
  return (*active)->place(outer_fd, slot);
}

// What the idle slot has beside its tables. `active` is the row of the slot that is served.
Result<> Generations::State::finish_slot(const Tables& tables, const pt_gateway& active, bool same_rules,
                                         Generation generation) const {
  if (Result<> made = make_meter_rows(plane, tables); !made) return made;
  const auto bank = static_cast<std::uint8_t>(same_rules ? active.rule_bank : 1 - active.rule_bank);
  if (!same_rules)
    if (Result<> cleared = clear_rule_bank(plane, bank, tables); !cleared) return cleared;
  pt_gateway row = tables.gateway;
  row.generation = generation.value;
  row.rule_bank = bank;
  return fill_arrays(row, tables.port_classes.data(), selector.idle_slot());
}

Generations::Generations(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generations::Generations(Generations&&) noexcept = default;
Generations& Generations::operator=(Generations&&) noexcept = default;
Generations::~Generations() = default;

Result<Generations> Generations::open(const Plane& plane) {
  Result<MappedArray> selector =
      MappedArray::map(plane.map_fd("selector"), "selector", PT_SELECTOR_WORDS * sizeof(__u64));
  if (!selector) return pass_on(std::move(selector));
  Result<MappedArray> port_classes = MappedArray::map(plane.map_fd("port_classes"), "port_classes",
                                                      PT_SLOTS * kPortLines * sizeof(pt_port_line));
  if (!port_classes) return pass_on(std::move(port_classes));
  Result<Leases> leases = Leases::open(plane);
  if (!leases) return pass_on(std::move(leases));
  Result<GracePeriod> barrier = GracePeriod::create();
  if (!barrier) return pass_on(std::move(barrier));
  auto state = std::make_unique<State>(plane, Selector(std::move(*selector)), std::move(*port_classes),
                                       std::move(*leases), std::move(*barrier));
  return Generations(std::move(state));
}

Generation Generations::active() const {
  return state_->selector.generation();
}

Result<unsigned> Generations::alive() const {
  unsigned filled = 0;
  for (std::uint32_t slot = 0; slot < PT_SLOTS; ++slot) {
    const Result<pt_gateway> gateway = state_->gateway(slot);
    if (!gateway) return fail(gateway.error().code, gateway.error().context);
    if (gateway->generation != 0) ++filled;
  }
  return filled;
}

void Generations::close_at(std::uint64_t closes_ns) const {
  state_->selector.set_closes_ns(state_->selector.active_slot(), closes_ns);
}

std::uint64_t Generations::closes_ns() const {
  return state_->selector.closes_ns(state_->selector.active_slot());
}

struct Generations::Prepared::State {
  std::array<std::optional<TableDigest>, kSwapped.size()> wanted;
  std::array<std::optional<InnerTable>, kSwapped.size()> fresh;  // of those that differ
};

Generations::Prepared::Prepared(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generations::Prepared::Prepared(Prepared&&) noexcept = default;
Generations::Prepared& Generations::Prepared::operator=(Prepared&&) noexcept = default;
Generations::Prepared::~Prepared() = default;

Result<SwapReport> Generations::adopt(const Tables& tables, Generation floor, std::uint64_t closes_ns) {
  Result<Prepared> prepared = prepare(tables);
  if (!prepared) return pass_on(std::move(prepared));
  return commit(std::move(*prepared), tables, floor, closes_ns);
}

Result<Generations::Prepared> Generations::prepare(const Tables& tables) const {
  if (Result<> fits = check_capacity(tables); !fits) return pass_on(std::move(fits));
  const auto views = views_of(tables);
  auto out = std::make_unique<Prepared::State>();
  for (std::size_t i = 0; i < kSwapped.size(); ++i) {
    if (i == kResources) continue;
    if (Result<> read = state_->digest_active(i); !read) return pass_on(std::move(read));
    out->wanted[i] = TableDigest(views[i]);
    if (out->wanted[i] == state_->digests[i]) continue;
    Result<InnerTable> fresh = InnerTable::fill(kSwapped[i], views[i]);
    if (!fresh) return pass_on(std::move(fresh));
    out->fresh[i].emplace(std::move(*fresh));
  }
  return Prepared(std::move(out));
}

Result<SwapReport> Generations::commit(Prepared prepared, const Tables& tables, Generation floor,
                                       std::uint64_t closes_ns) {
  State& state = *state_;
  if (Result<> read = state.digest_active(kResources); !read) return pass_on(std::move(read));
  auto& [wanted, fresh] = *prepared.state_;
  const RowView resources(tables.resources);
  wanted[kResources] = TableDigest(resources);
  const std::uint32_t active_slot = state.selector.active_slot();

  SwapReport report{active(), false, {}};
  for (std::size_t i = 0; i < kSwapped.size(); ++i)
    if (wanted[i] != state.digests[i]) report.tables_written.push_back(kSwapped[i]);
  const Result<pt_gateway> gateway = state.gateway(active_slot);
  if (!gateway) return fail(gateway.error().code, gateway.error().context);
  if (!same_gateway(*gateway, tables.gateway)) report.tables_written.push_back("gateway");
  if (std::memcmp(state.port_lines(active_slot), tables.port_classes.data(),
                  kPortLines * sizeof(pt_port_line)) != 0) {
    report.tables_written.push_back("port_classes");
  }
  if (report.tables_written.empty() && active() != Generation()) {
    close_at(closes_ns);
    return report;
  }

  report.generation = std::max(active(), floor).next();
  report.changed = true;
  const std::uint32_t idle_slot = state.selector.idle_slot();
  if (Result<> waited = state.barrier.wait(); !waited) return pass_on(std::move(waited));
  for (std::size_t i = 0; i < kSwapped.size(); ++i) {
    Result<> filled;
    if (fresh[i])
      filled = fresh[i]->place(state.plane.map_fd(kSwapped[i]), idle_slot);
    else if (i == kResources && wanted[i] != state.digests[i])
      filled = state.fill_table(i, resources, idle_slot);
    else
      filled = state.share_table(i, idle_slot);
    if (!filled) return pass_on(std::move(filled));
  }
  if (Result<> finished =
          state.finish_slot(tables, *gateway, wanted[kPolicy] == state.digests[kPolicy], report.generation);
      !finished)
    return pass_on(std::move(finished));
  state.selector.set_closes_ns(idle_slot, closes_ns);
  state.selector.flip(report.generation);
  state.digests = wanted;
  return report;
}

Result<SwapReport> Generations::hold(const Rows<__u32, pt_resource>& resources, Generation floor) {
  if (active() == Generation()) return fail(errc::map, "nothing was adopted yet that could be held");
  if (resources.size() > PT_MAX_RESOURCES) {
    return fail(errc::capacity, "table resources needs " + std::to_string(resources.size()) +
                                    " rows and has room for " + std::to_string(PT_MAX_RESOURCES));
  }
  State& state = *state_;
  const std::uint32_t active_slot = state.selector.active_slot();
  const std::uint32_t idle_slot = state.selector.idle_slot();
  SwapReport report{active(), false, {}};
  const RowView rows(resources);
  const TableDigest wanted(rows);
  if (Result<> read = state.digest_active(kResources); !read) return pass_on(std::move(read));
  if (state.digests[kResources] == wanted) return report;

  const Result<pt_gateway> gateway = state.gateway(active_slot);
  if (!gateway) return fail(gateway.error().code, gateway.error().context);
  report = {std::max(active(), floor).next(), true, {kSwapped[kResources]}};
  Result<> filled = state.barrier.wait();
  for (std::size_t i = 0; filled && i < kSwapped.size(); ++i)
    filled = i == kResources ? state.fill_table(i, rows, idle_slot) : state.share_table(i, idle_slot);
  if (!filled) return pass_on(std::move(filled));
  pt_gateway row = *gateway;
  row.generation = report.generation.value;
  filled = state.fill_arrays(row, state.port_lines(active_slot), idle_slot);
  if (!filled) return pass_on(std::move(filled));
  state.selector.set_closes_ns(idle_slot, state.selector.closes_ns(active_slot));
  state.selector.flip(report.generation);
  state.digests[kResources] = wanted;
  return report;
}

Result<Rows<__u32, pt_resource>> Generations::holders() const {
  Rows<__u32, pt_resource> rows;
  if (active() == Generation()) return rows;
  const State& state = *state_;
  Result<> read = read_rows("resources", state.plane.map_fd("resources"), state.selector.active_slot(), rows);
  if (!read) return pass_on(std::move(read));
  return rows;
}

Result<Rows<pt_port_key, pt_port>> Generations::ports() const {
  Rows<pt_port_key, pt_port> rows;
  if (active() == Generation()) return rows;
  const State& state = *state_;
  Result<> read = read_rows("ports", state.plane.map_fd("ports"), state.selector.active_slot(), rows);
  if (!read) return pass_on(std::move(read));
  return rows;
}

Result<pt_gateway> Generations::gateway() const {
  if (active() == Generation()) return pt_gateway{};
  return state_->gateway(state_->selector.active_slot());
}

Result<Tables> Generations::read_active() const {
  const State& state = *state_;
  const std::uint32_t slot = state.selector.active_slot();
  if (active() == Generation()) return fail(errc::map, "no generation is active: nothing was adopted yet");
  Tables tables;
  const Result<pt_gateway> gateway = state.gateway(slot);
  if (!gateway) return fail(gateway.error().code, gateway.error().context);
  tables.gateway = *gateway;
  tables.gateway.generation = 0;
  tables.gateway.rule_bank = 0;
  const auto read = [&](std::string_view name, auto& rows) {
    return read_rows(name, state.plane.map_fd(name), slot, rows);
  };
  Result<> all = read("ports", tables.ports);
  if (all) all = read("segments", tables.segments);
  if (all) all = read("peers", tables.peers);
  if (all) all = read("endpoints", tables.endpoints);
  if (all) all = read("owners4", tables.owners4);
  if (all) all = read("owners6", tables.owners6);
  if (all) all = read("policy", tables.policy);
  if (all) all = read("rates", tables.rates);
  if (all) all = read("resources", tables.resources);
  if (all) all = read("services", tables.services);
  if (all) all = read("backends", tables.backends);
  if (!all) return pass_on(std::move(all));
  tables.port_classes.assign(state.port_lines(slot), state.port_lines(slot) + kPortLines);
  return tables;
}

Result<> Generations::raise_fences(const std::map<ResourceNumber, Epoch>& floors) {
  if (!floors.empty()) {  // the greatest number last: all are within the table, or none is raised
    if (const Result<Epoch> last = fence(floors.rbegin()->first); !last) {
      return fail(last.error().code, last.error().context);
    }
  }
  for (const auto& [number, epoch] : floors) {
    if (Result<> raised = state_->leases.raise_fence(number, epoch); !raised) return raised;
  }
  return {};
}

Result<Epoch> Generations::fence(ResourceNumber resource) const {
  return state_->leases.fence(resource);
}

Result<std::vector<pt_count>> Generations::rule_counts(std::size_t rules) const {
  const Result<pt_gateway> gateway = state_->gateway(state_->selector.active_slot());
  if (!gateway) return fail(gateway.error().code, gateway.error().context);
  return read_rule_bank(state_->plane, gateway->rule_bank, rules);
}

const Leases& Generations::leases() const {
  return state_->leases;
}

}  // namespace postern::dataplane
