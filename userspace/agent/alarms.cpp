// SPDX-License-Identifier: Apache-2.0
#include "agent/alarms.h"

#include <spdlog/logger.h>

#include <algorithm>
#include <iterator>

namespace postern::agent {

Alarms::Change Alarms::update(const std::vector<std::string>& problems) {
  std::set<std::string> now(problems.begin(), problems.end());
  Change change;
  std::set_difference(now.begin(), now.end(), standing_.begin(), standing_.end(),
                      std::back_inserter(change.raised));
  std::set_difference(standing_.begin(), standing_.end(), now.begin(), now.end(),
                      std::back_inserter(change.cleared));
  standing_ = std::move(now);
  return change;
}

void log_change(spdlog::logger& log, const Alarms::Change& change) {
  for (const std::string& problem : change.raised)
    log.error("alarm: {}", problem);
  for (const std::string& problem : change.cleared)
    log.info("over: {}", problem);
}

}  // namespace postern::agent
