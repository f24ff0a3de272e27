// SPDX-License-Identifier: Apache-2.0
// The times of the protocol of leases (SPEC 10.4), and why they fit together. All gateways of a mesh must go
// by the same ones; only the TTL is each claim's own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ledger/claim_events.h"

namespace postern::claims {

inline constexpr std::uint64_t kMillisecond_ns = 1'000'000;
inline constexpr std::uint64_t kSecond_ns = 1000 * kMillisecond_ns;

inline constexpr std::uint64_t kBeat_ns = kSecond_ns;          // h: between two beats
inline constexpr std::uint64_t kDelivery_ns = 2 * kSecond_ns;  // D: within which a beat arrives
inline constexpr std::uint64_t kApply_ns = kSecond_ns;  // P: within which what arrived is in the kernel
inline constexpr std::uint64_t kMargin_ns = 2 * kSecond_ns;
// rho: how fast or slow a clock may run, in thousandths. Chrony slews by up to 83, Linux by up to 100.
inline constexpr std::uint64_t kRho_permille = 110;

// How long a node must be silent for its claims to be dead to others: W = TTL (1 + rho) + margin.
constexpr std::uint64_t silence_ns(std::uint32_t ttl_ms) {
  return ttl_ms * (1000 + kRho_permille) * (kMillisecond_ns / 1000) + kMargin_ns;
}

// How long after the creation of a beat its sender may serve: TTL (1 - rho) - margin.
constexpr std::uint64_t tenure_ns(std::uint32_t ttl_ms) {
  return ttl_ms * (1000 - kRho_permille) * (kMillisecond_ns / 1000) - kMargin_ns;
}

// An agent that restarts has this long to renew what it held.
constexpr std::uint64_t restart_ns(std::uint32_t ttl_ms) {
  return tenure_ns(ttl_ms) - kBeat_ns - kDelivery_ns;
}

// A holder whose clock is slow by rho stops before another one whose clock is fast by rho takes over, though
// it heard its last beat at once: tenure / (1 - rho) <= silence / (1 + rho), cross-multiplied.
static_assert(tenure_ns(ledger::kMinClaimTtl_ms) * (1000 + kRho_permille) <=
              silence_ns(ledger::kMinClaimTtl_ms) * (1000 - kRho_permille));
static_assert(tenure_ns(ledger::kMaxClaimTtl_ms) * (1000 + kRho_permille) <=
              silence_ns(ledger::kMaxClaimTtl_ms) * (1000 - kRho_permille));
// margin >= (h + D) (1 - rho^2) / 2
static_assert(2'000'000 * kMargin_ns >=
              (kBeat_ns + kDelivery_ns) * (1'000'000 - kRho_permille * kRho_permille));
static_assert(restart_ns(ledger::kMinClaimTtl_ms) >= 2 * kSecond_ns, "an agent can restart");
static_assert(kMillisecond_ns % 1000 == 0, "products of thousandths stay whole");

// Whose own beat came over a link within this is heard by it, and needs no relay. Relays cost some bytes; one
// that is missing is a gap of its length and a beat.
inline constexpr std::uint64_t kHeardFor_ns = 2 * kBeat_ns;
static_assert(kHeardFor_ns + kBeat_ns + 2 * kDelivery_ns < silence_ns(ledger::kMinClaimTtl_ms),
              "a link that carries nothing any more is gone round before anybody is silent");

// A discontinuity: CLOCK_BOOTTIME ran away from CLOCK_MONOTONIC by so much, which is sleep; or the loop was
// late by more than a beat.
inline constexpr std::uint64_t kSleep_ns = 100 * kMillisecond_ns;
// Each candidate lets those before it go first for so long: until what they claimed would have been heard.
inline constexpr std::uint64_t kTurn_ns = kDelivery_ns;
// A holder that releases serves on for so long at most, by its kernel's deadline, until another claim counts:
// the candidate that stands second has its turn within that, too.
inline constexpr std::uint64_t kHandOver_ns = kTurn_ns + kApply_ns;
static_assert(kHandOver_ns > kTurn_ns);
static_assert(kHandOver_ns + kBeat_ns <= tenure_ns(ledger::kMinClaimTtl_ms),
              "a hand-over is no longer than what a beat grants");
// What changed is told at once, but over time not more often than this. A hand-over takes a few beats in a
// row.
inline constexpr std::uint64_t kHurry_ns = 50 * kMillisecond_ns;
inline constexpr std::uint64_t kHurriesInARow = 4;
// Events that share a flush, and for how long one tick goes on to write them.
inline constexpr std::size_t kMostWritten = 32;
inline constexpr std::uint64_t kLongestWriting_ns = 100 * kMillisecond_ns;
static_assert(kLongestWriting_ns < kBeat_ns / 2, "writing does not make the loop late");
// Who released a resource by hand leaves it to others for so long, if none of them claims it.
inline constexpr std::uint64_t kYield_ns = 60 * kSecond_ns;

}  // namespace postern::claims
