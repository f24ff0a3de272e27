// SPDX-License-Identifier: Apache-2.0
// What the process of a simulated gateway has of the network, whichever network that is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/bytes.h"
#include "mesh/link_handler.h"
#include "wire/sign.h"

namespace postern::sim {

using Names = std::map<wire::PublicKey, std::string>;

// Destroyed with its process.
class Uplink {
 public:
  virtual ~Uplink() = default;
  // Whole or not at all.
  virtual bool send(std::string_view to, ByteView message) = 0;
  virtual void hold(std::string_view from) = 0;
  virtual void resume(std::string_view from) = 0;
  // Who may link from now on.
  virtual void follow(const Names& names) = 0;
  // Hands on what came. Of a process that does not act it waits.
  virtual void tick(std::uint64_t monotonic_ns) = 0;
  // The host is gone, and tells nobody.
  virtual void lose_power() = 0;
  // What no network may do to links, or "".
  virtual const std::string& fault() const = 0;
};

class Cables {
 public:
  virtual ~Cables() = default;
  // `key` and `handler` must outlive it, and this too.
  virtual std::unique_ptr<Uplink> plug_in(const std::string& name, const wire::SecretKey& key,
                                          mesh::LinkHandler& handler) = 0;
};

}  // namespace postern::sim
