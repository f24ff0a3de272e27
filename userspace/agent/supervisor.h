// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace postern::agent {

// Tells the service supervisor `state` ("READY=1", "STOPPING=1"), as sd_notify(3) has it. Without
// NOTIFY_SOCKET nobody wants to know. Failing is no harm: the supervisor has its own time-outs.
void tell_supervisor(std::string_view state);

}  // namespace postern::agent
