// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::agent::errc {

inline constexpr ErrorCode state_absent{"agent.state_absent", ErrorKind::config};
inline constexpr ErrorCode state_unsafe{"agent.state_unsafe"};  // owner, mode, symlink of the state directory
inline constexpr ErrorCode foreign_mesh{"agent.foreign_mesh"};  // the journal is another mesh's
inline constexpr ErrorCode foreign_pins{"agent.foreign_pins"};  // the pins belong to another journal
inline constexpr ErrorCode disk_went_back{"agent.disk_went_back", ErrorKind::authority};
inline constexpr ErrorCode snapshot_changed{"agent.snapshot_changed",
                                            ErrorKind::authority};  // file is not the journaled
inline constexpr ErrorCode not_reloadable{"agent.not_reloadable", ErrorKind::config};
inline constexpr ErrorCode ports_exhausted{"agent.ports_exhausted", ErrorKind::capacity};
inline constexpr ErrorCode event_loop{"agent.event_loop"};
inline constexpr ErrorCode source{"agent.source"};  // of snapshots: unreachable, or its answer is none
inline constexpr ErrorCode control_socket{"control.socket"};
inline constexpr ErrorCode control_denied{"control.denied"};
inline constexpr ErrorCode control_unknown_command{"control.unknown_command", ErrorKind::usage};
inline constexpr ErrorCode control_bad_argument{"control.bad_argument", ErrorKind::usage};
inline constexpr ErrorCode too_many_watchers{"watch.too_many", ErrorKind::capacity};
inline constexpr ErrorCode events_unknown_journal{"events.unknown_journal", ErrorKind::reset};
inline constexpr ErrorCode events_history_changed{"events.history_changed", ErrorKind::reset};
inline constexpr ErrorCode too_many_followers{"events.too_many", ErrorKind::capacity};
inline constexpr ErrorCode claims_closed{"claims.closed"};  // nothing is served that could be claimed
inline constexpr ErrorCode control_answer_too_large{"control.answer_too_large", ErrorKind::capacity};

}  // namespace postern::agent::errc
