// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/result.h"

namespace postern::cli::errc {

inline constexpr ErrorCode usage{"usage", ErrorKind::usage};
inline constexpr ErrorCode unreachable{"agent.unreachable", ErrorKind::unreachable};
inline constexpr ErrorCode silent{"agent.silent",
                                  ErrorKind::unreachable};                // connected, but no answer in time
inline constexpr ErrorCode ended{"agent.ended", ErrorKind::unreachable};  // while it was listened to
inline constexpr ErrorCode garbled{"agent.garbled"};                      // an answer that is none
inline constexpr ErrorCode key_lost{"init.key_lost"};                     // a journal whose node key is gone
inline constexpr ErrorCode tables_remain{"init.tables_remain"};  // the kernel serves a journal that is gone
inline constexpr ErrorCode unsafe_state{"init.unsafe_state"};

inline constexpr ErrorCode probe{"mtu.probe"};  // of a path
inline constexpr ErrorCode output{"output"};
inline constexpr ErrorCode packet_file{"packet_file", ErrorKind::usage};

inline constexpr ErrorCode changed_meanwhile{"journal.changed_meanwhile"};
inline constexpr ErrorCode nothing_to_adopt{"journal.nothing_to_adopt"};

}  // namespace postern::cli::errc
