// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/config.h"
#include "core/result.h"

namespace spdlog {
class logger;
}

namespace postern::agent {

// Takes the data path down: our programs off their interfaces, all pins removed, the backstop left in place,
// so that the gateway is closed. Refuses while an agent holds the journal's lock. Needs no sound journal,
// only its lock.
Result<> detach_data_path(const config::Config& config, spdlog::logger& log);

}  // namespace postern::agent
