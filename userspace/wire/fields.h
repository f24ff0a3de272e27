// SPDX-License-Identifier: Apache-2.0
// Strict reading of a JSON object's members: each is asked for once, by type; finish() refuses what nobody
// asked for. The first error sticks: read all fields, then look at finish(). Errors name the path
// ("peers[3].addresses"). Asking in the order of the keys is fastest, and paths are spelled only for errors:
// documents hold millions of objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "wire/json.h"

namespace postern::wire {

class Fields {
 public:
  // `object` must outlive this. A value that is no object is an error at `path`.
  Fields(const Json& object, std::string path);
  // The object at `parent`.`key`, or at `parent`.`key`[index]. `parent` and `key` must outlive this.
  Fields(const Json& object, const Fields& parent, std::string_view key,
         std::optional<std::size_t> index = std::nullopt);

  std::string text(std::string_view key);
  std::int64_t integer(std::string_view key, std::int64_t min, std::int64_t max);
  std::uint64_t decimal(std::string_view key);  // a 64-bit count as decimal string, without leading zeros
  bool boolean(std::string_view key);
  const Json::Array& array(std::string_view key);
  const Json& any(std::string_view key);
  // For optional members: nullptr when absent. Counts as asked for.
  const Json* optional(std::string_view key);

  // Records an error about `key` of this object, unless one is recorded already.
  void reject(std::string_view key, std::string_view why);
  void adopt(Error error);

  std::string path() const;
  std::string path_of(std::string_view key) const;
  bool ok() const { return !error_; }
  // Fails with the first error, or field_unknown for a member that nobody asked for.
  Result<> finish();

 private:
  const Json* take(std::string_view key);
  void mark_asked(std::size_t member);
  bool was_asked(std::size_t member) const;
  void expect_object();

  const Json* object_;
  std::string own_path_;  // of an object without parent
  const Fields* parent_ = nullptr;
  std::string_view key_;
  std::optional<std::size_t> index_;

  std::size_t next_ = 0;           // member after the one asked for last
  std::uint64_t asked_ = 0;        // one bit for each of the first 64 members
  std::vector<bool> asked_above_;  // and those after them, which no sane document has
  std::optional<Error> error_;
};

}  // namespace postern::wire
