// SPDX-License-Identifier: Apache-2.0
// Gateways that write, crash, come back from old disks and lose their links at random end with the same
// events once they are linked for long enough.
#include <random>

#include "unit/sync/sync_network.h"

using namespace postern;
using namespace postern::sync;
using namespace postern::testing;

namespace {

class RandomLife {
 public:
  explicit RandomLife(std::uint64_t seed) : random_(seed) {
    for (const char* name : {"a", "b", "c", "d"}) {
      names_.emplace_back(name);
      nodes_.push_back(&network.add(name));
    }
  }
  void step() {
    const std::size_t one = below(nodes_.size());
    const std::size_t other = (one + 1 + below(nodes_.size() - 1)) % nodes_.size();
    switch (below(9)) {
      case 0:
      case 1:
        nodes_[one]->write(1 + below(40), "w" + std::to_string(++written_), below(2'000));
        break;
      case 2:
        network.cut(names_[one], names_[other]);
        break;
      case 3:
      case 4:
      case 5:
        join(names_[one], names_[other]);
        break;
      case 6:
        network.stop(names_[one]);
        if (restores_ < 2 && backups_.count(one) != 0 && below(3) == 0) {
          nodes_[one]->lay_back(backups_.at(one));
          backups_.erase(one);
          ++restores_;
        } else if (backups_.count(one) == 0) {
          backups_[one] = nodes_[one]->back_up();
        }
        nodes_[one]->start();
        break;
      default:
        network.run_for(100 * (1 + below(8)));
    }
  }
  void come_together() {
    for (std::size_t i = 0; i + 1 < nodes_.size(); ++i)
      join(names_[i], names_[i + 1]);
    for (int i = 0; i < 60 && !(network.level() && i > 2); ++i)
      network.run_for(2'000);
  }
  ~RandomLife() {
    for (const auto& [node, copy] : backups_)
      std::filesystem::remove_all(copy);
  }
  SyncNetwork network;

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  void join(const std::string& one, const std::string& other) {
    if (!network.linked(one, other)) network.link(one, other);
  }
  std::mt19937_64 random_;
  std::vector<std::string> names_;
  std::vector<SyncNode*> nodes_;
  std::map<std::size_t, std::filesystem::path> backups_;
  int restores_ = 0;
  int written_ = 0;
};

}  // namespace

TEST_CASE("whatever becomes of links and disks, gateways that are linked again end with the same events") {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    CAPTURE(seed);
    RandomLife life(seed);
    for (int i = 0; i < 60; ++i)
      life.step();
    life.come_together();
    CHECK(life.network.level());
  }
}
