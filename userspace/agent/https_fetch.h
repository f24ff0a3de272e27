// SPDX-License-Identifier: Apache-2.0
// One HTTPS request, bounded in size and time. No redirects, no other protocol, no proxy from the
// environment.
#pragma once

#include <atomic>
#include <cstddef>
#include <filesystem>
#include <string>

#include "core/result.h"

namespace postern::agent {

struct HttpsRequest {
  std::string url;
  std::string etag;          // of the copy at hand; empty: none
  std::filesystem::path ca;  // PEM of whom to trust; empty: the system's
  long timeout_s = 30;       // for the whole of it
  std::size_t limit_bytes = 0;
  bool optional = false;  // that the server has no such document is no failure
};

struct HttpsReply {
  bool unchanged = false;  // the copy at hand is the newest
  bool missing = false;    // of an optional document
  std::string body;
  std::string etag;
};

// Blocks. Ends soon after `cancelled` turns true. The body is whole, or there is none.
Result<HttpsReply> fetch_https(const HttpsRequest& request, const std::atomic<bool>& cancelled);

}  // namespace postern::agent
