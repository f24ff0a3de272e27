// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::ledger::errc {

inline constexpr ErrorCode absent{"journal.absent"};  // only `postern init` creates one
inline constexpr ErrorCode exists{"journal.exists"};
inline constexpr ErrorCode unsafe_directory{"journal.unsafe_directory"};  // owner, mode, symlink, hard link
inline constexpr ErrorCode file_system{"journal.file_system"};  // not one of those whose fsync is known
inline constexpr ErrorCode contended{"journal.contended"};      // another process holds the lock
inline constexpr ErrorCode lock_unsupported{"journal.lock_unsupported"};
inline constexpr ErrorCode foreign_machine{"journal.foreign_machine"};
inline constexpr ErrorCode newer_format{"journal.newer_format"};
inline constexpr ErrorCode suspect{"journal.suspect"};
inline constexpr ErrorCode damage{"journal.damage"};
inline constexpr ErrorCode fork{"journal.fork"};
inline constexpr ErrorCode io{"journal.io"};
inline constexpr ErrorCode disk_full{"journal.disk_full", ErrorKind::capacity};
inline constexpr ErrorCode poisoned{"journal.poisoned"};
inline constexpr ErrorCode closed{"journal.closed"};
inline constexpr ErrorCode file_name{"journal.file_name", ErrorKind::usage};
inline constexpr ErrorCode record_too_large{"journal.record_too_large", ErrorKind::capacity};
inline constexpr ErrorCode archive_invalid{"journal.archive_invalid", ErrorKind::authority};
inline constexpr ErrorCode foreign_archive{"journal.foreign_archive",
                                           ErrorKind::authority};  // another mesh's
inline constexpr ErrorCode base_invalid{"journal.base_invalid"};
inline constexpr ErrorCode foreign_base{"journal.foreign_base", ErrorKind::authority};  // another node's
inline constexpr ErrorCode gap_open{"journal.gap_open"};
inline constexpr ErrorCode nothing_to_repair{"journal.nothing_to_repair"};
inline constexpr ErrorCode nothing_to_settle{"journal.nothing_to_settle"};
inline constexpr ErrorCode wrong_loss{"journal.wrong_loss", ErrorKind::usage};
inline constexpr ErrorCode cursor_invalid{"journal.cursor_invalid", ErrorKind::usage};
inline constexpr ErrorCode event_invalid{"event.invalid", ErrorKind::authority};
inline constexpr ErrorCode event_signature{"event.signature", ErrorKind::authority};

}  // namespace postern::ledger::errc
