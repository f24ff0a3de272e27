// SPDX-License-Identifier: Apache-2.0
#include "agent/event_followers.h"

#include <string>

#include "agent/errors.h"

namespace postern::agent {
namespace {

constexpr std::size_t kMostFollowers = 64;

}  // namespace

Result<wire::Json> EventFollowers::add(const std::weak_ptr<Outlet>& outlet) {
  std::erase_if(followers_, [](const Follower& follower) { return follower.outlet.expired(); });
  if (followers_.size() == kMostFollowers) {
    return fail(errc::too_many_followers, std::to_string(kMostFollowers) +
                                              " follow events already, which is the limit; end one of them");
  }
  followers_.push_back({outlet, std::nullopt});
  tell();
  return wire::Json::object({{"schema", "postern/events-follow/v1"}});
}

void EventFollowers::tell() {
  if (followers_.empty()) return;
  std::erase_if(followers_, [](const Follower& follower) { return follower.outlet.expired(); });
  const Lseq durable = journal_->status().head;
  std::string line;
  for (Follower& follower : followers_) {
    if (follower.told == durable) continue;
    if (line.empty()) {
      line = wire::encode_canonical(wire::Json::object({{"durable", wire::Json::decimal(durable.value)},
                                                        {"schema", "postern/events-durable/v1"}})) +
             "\n";
    }
    const std::shared_ptr<Outlet> outlet = follower.outlet.lock();
    if (outlet != nullptr && outlet->offer(line)) follower.told = durable;
  }
}

}  // namespace postern::agent
