// SPDX-License-Identifier: Apache-2.0
// What `postern monitor` and `postern capture` have in common: filters, and listening to the agent.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/live_output.h"
#include "cli/reply.h"
#include "wire/json.h"

namespace postern::cli {

struct WatchOptions {
  std::vector<std::string> verdicts;
  std::vector<std::string> reasons;
  std::string interface;
  std::string peer;
  std::string segment;
  std::string source;
  std::string destination;
  bool all = false;
  std::uint64_t count = 0;    // 0: no end
  std::uint64_t seconds = 0;  // 0: no end
};

void add_watch_options(CLI::App& command, WatchOptions& options);

// The members of the request `watch`. Without a filter of verdicts: `usual` ones.
wire::Json watch_arguments(const WatchOptions& options, const std::vector<std::string>& usual);

// Listens until count, seconds, a signal or `take` (false) end it. `take` gets each line of the agent: a
// sample (postern/sample/v1) or a loss (postern/samples-lost/v1). Fails when the agent refuses or ends.
using TakeLine = std::function<bool(const wire::Json& line, std::string_view text)>;
std::optional<Refusal> listen(const Globals& globals, const WatchOptions& options, wire::Json arguments,
                              const LiveOutput& output, const TakeLine& take);

inline bool is_sample(const wire::Json& line) {
  return Reply(line).text("schema") == "postern/sample/v1";
}
// Packets of a loss line that were to be seen and were not.
std::uint64_t lost_of(const wire::Json& line);

// "10.1.0.10:40000 > 10.2.0.10:80 tcp, ttl 64", or that there is none.
std::string packet_words(const Reply& sample);
// "denied": verdict and reason in one or two words.
std::string verdict_words(const Reply& sample);

}  // namespace postern::cli
