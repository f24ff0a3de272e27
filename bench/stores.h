// SPDX-License-Identifier: Apache-2.0
// What the journal is measured against: five ways of putting a record on the same disk for certain. A store
// that fails ends the measurement with a message.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace postern::bench {

class Store {
 public:
  virtual ~Store() = default;
  // Durable when it returns. By any number of threads at once.
  virtual void put(std::string_view record) = 0;
  // Many at once, by one thread.
  virtual void put_all(const std::vector<std::string>& records) = 0;
};

struct StoreKind {
  const char* name;
  const char* method;
  std::unique_ptr<Store> (*open)(const std::filesystem::path& directory);  // makes it when it is not there
  // Opens what is there and reads every record; how many there are. Null: not measured.
  std::size_t (*start)(const std::filesystem::path& directory);
};

// The floor first.
const std::vector<StoreKind>& store_kinds();

}  // namespace postern::bench
