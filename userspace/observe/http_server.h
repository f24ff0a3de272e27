// SPDX-License-Identifier: Apache-2.0
// /metrics, /healthz and /status over HTTP, from a thread of its own that sees published reports only
// (SPEC 7.3).
#pragma once

#include <memory>

#include "core/clock.h"
#include "core/ip.h"
#include "core/result.h"
#include "observe/publication.h"

namespace postern::observe {

namespace errc {
inline constexpr ErrorCode http_listen{"http.listen"};
}  // namespace errc

// A loop that has not published for this long is not live.
inline constexpr std::uint64_t kLiveWithinNs = 10'000'000'000;

class HttpServer {
 public:
  // Listens and serves until it is destroyed. `publication` and `clock` must outlive it and be thread-safe.
  static Result<std::unique_ptr<HttpServer>> start(const Endpoint& endpoint, Publication& publication,
                                                   const Clock& clock);
  virtual ~HttpServer() = default;
};

}  // namespace postern::observe
