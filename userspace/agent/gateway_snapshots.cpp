// SPDX-License-Identifier: Apache-2.0
#include "agent/gateway_snapshots.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "core/file.h"
#include "mesh/errors.h"
#include "sync/errors.h"
#include "wire/hash.h"

namespace postern::agent {
namespace {

constexpr std::chrono::milliseconds kTick{100};

tl::unexpected<Error> unwritable(const std::filesystem::path& path) {
  return fail(errc::file_unwritable, "cannot write " + path.string() + ": " + std::strerror(errno));
}

}  // namespace

GatewaySnapshots::GatewaySnapshots(asio::io_context& io, Gateway& gateway, const Clock& clock,
                                   spdlog::logger& log, Door door)
    : gateway_(gateway),
      clock_(clock),
      log_(log),
      door_(std::move(door)),
      exchange_(*this, *this),
      each_tick_(io, kTick, [this] {
        exchange_.tick(clock_.monotonic_ns(), gateway_.config().links && gateway_.config().links_snapshots);
      }) {
  // Of an agent that was killed.
  drop();
}

SnapshotExchangeStatus GatewaySnapshots::status() const {
  return {exchange_.counts(), exchange_.fetching_from().value_or(""), exchange_.problem()};
}

Result<> GatewaySnapshots::send(std::string_view gateway, ByteView message) {
  if (links_ == nullptr) return fail(mesh::errc::link_down, "links are not open yet");
  return links_->send(gateway, message);
}

// ---- what is served here

// One that may be rolled back is nobody else's business yet. The file stays open, so that it can be read
// after a newer one has taken its place.
std::optional<sync::SnapshotOffer> GatewaySnapshots::served() {
  const Adoption& adoption = gateway_.adoption();
  const std::optional<authority::Adopted>& adopted = gateway_.foundation().lineage.authority.adopted;
  if (!adopted || !adoption.is_in_force() || adoption.on_trial()) return std::nullopt;
  const std::optional<Served>& in_force = adoption.served();
  if (in_force->serial != adopted->serial || in_force->hash != adopted->hash) return std::nullopt;
  const ledger::SnapshotId id{adopted->serial, adopted->hash};
  if (known_ != id) {
    known_ = id;
    offer_.reset();
    look_at(id);
  }
  return offer_;
}

// Beside the loop: it may be of a hundred megabytes.
void GatewaySnapshots::look_at(const ledger::SnapshotId& id) {
  const std::filesystem::path path =
      StateDirectory{gateway_.config().state}.journal() / ledger::snapshot_file_name(id);
  gateway_.orders().submit([this, id, path] {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    const Result<std::string> text = read_file(path, sync::kMaxSnapshotFileBytes);
    std::optional<sync::SnapshotOffer> offer;
    if (file && text) offer = sync::SnapshotOffer{id.serial, wire::blake2b({as_bytes(*text)}), text->size()};
    gateway_.orders().on_loop([&] { use(id, std::move(file), offer); });
  });
}

// Unless another one is served by now.
void GatewaySnapshots::use(const ledger::SnapshotId& id, UniqueFd file,
                           const std::optional<sync::SnapshotOffer>& offer) {
  if (known_ != id) return;
  if (!offer)
    log_.warn("snapshot {} is not offered to other gateways: its file in the journal cannot be read",
              id.serial.value);
  file_ = std::move(file);
  offer_ = offer;
}

Serial GatewaySnapshots::adopted() const {
  const std::optional<authority::Adopted>& adopted = gateway_.foundation().lineage.authority.adopted;
  return adopted ? adopted->serial : Serial();
}

Result<Bytes> GatewaySnapshots::read(const sync::SnapshotOffer& offer, std::uint64_t offset,
                                     std::size_t bytes) {
  if (!file_ || offer != offer_) return fail(errc::file_unreadable, "another snapshot is served");
  Bytes out(bytes);
  const ssize_t got = ::pread(file_.get(), out.data(), out.size(), static_cast<off_t>(offset));
  if (got != static_cast<ssize_t>(bytes))
    return fail(errc::file_unreadable, "the snapshot's file is cut short");
  return out;
}

// ---- what comes

std::filesystem::path GatewaySnapshots::incoming() const {
  return StateDirectory{gateway_.config().state}.incoming_snapshot();
}

Result<> GatewaySnapshots::begin() {
  spool_.reset(::open(incoming().c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  return spool_ ? Result<>() : unwritable(incoming());
}

Result<> GatewaySnapshots::append(ByteView bytes) {
  return write_all(spool_.get(), as_text(bytes)) ? Result<>() : unwritable(incoming());
}

void GatewaySnapshots::drop() {
  spool_.reset();
  ::unlink(incoming().c_str());
}

void GatewaySnapshots::take(const sync::SnapshotOffer& offer, std::string_view gateway, Done done) {
  const auto text =
      std::make_shared<const Result<std::string>>(read_file(incoming(), sync::kMaxSnapshotFileBytes));
  drop();
  if (!*text) return done(tl::unexpected(text->error()));
  log_.info("snapshot {}: came from gateway {}", offer.serial.value, gateway);
  gateway_.orders().submit([this, text, offer, done = std::move(done)] {
    const bool same = wire::blake2b({as_bytes(**text)}) == offer.hash;
    const Result<> taken =
        same ? door_(**text) : fail(sync::errc::malformed, "it is not the file that was offered");
    gateway_.orders().on_loop([&] { done(taken); });
  });
}

}  // namespace postern::agent
