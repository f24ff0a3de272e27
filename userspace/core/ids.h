// SPDX-License-Identifier: Apache-2.0
// The numbers that Postern passes around, each a type of its own.
#pragma once

#include <cstdint>

#include "core/strong.h"

namespace postern {

using PeerId = Strong<struct PeerIdTag, std::uint32_t>;    // a peer's row in the kernel; stable across flips
using Vni = Strong<struct VniTag, std::uint32_t>;          // 1 .. 2^24-1
using IfIndex = Strong<struct IfIndexTag, std::uint32_t>;  // of this network namespace
using ResourceNumber = Strong<struct ResourceNumberTag, std::uint32_t>;  // never reused within a mesh
using Serial = Strong<struct SerialTag, std::uint64_t>;                  // of a snapshot; only rises
using Generation = Strong<struct GenerationTag, std::uint64_t>;  // of the kernel's tables; 0: nothing adopted
using Epoch = Strong<struct EpochTag, std::uint64_t>;            // fencing token of a resource; only rises
using Lamport = Strong<struct LamportTag, std::uint64_t>;
using Lseq = Strong<struct LseqTag, std::uint64_t>;             // local order in one journal, dense from 1
using Seq = Strong<struct SeqTag, std::uint64_t>;               // order in one stream, dense from 1
using UtcSeconds = Strong<struct UtcSecondsTag, std::int64_t>;  // since 1970, as signed in documents

}  // namespace postern
