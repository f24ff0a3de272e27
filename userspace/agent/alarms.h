// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

namespace spdlog {
class logger;
}

namespace postern::agent {

// Says each problem once when it comes and once when it is gone, however often it is looked at.
class Alarms {
 public:
  struct Change {
    std::vector<std::string> raised;
    std::vector<std::string> cleared;
  };

  // What is new and what is gone since the last call.
  Change update(const std::vector<std::string>& problems);

 private:
  std::set<std::string> standing_;
};

// Logs raised problems as errors and cleared ones as news.
void log_change(spdlog::logger& log, const Alarms::Change& change);

}  // namespace postern::agent
