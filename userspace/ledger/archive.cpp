// SPDX-License-Identifier: Apache-2.0
#include "ledger/archive.h"

#include <algorithm>
#include <optional>

#include "ledger/errors.h"
#include "ledger/format.h"
#include "wire/base64.h"
#include "wire/fields.h"
#include "wire/hash.h"
#include "wire/json.h"

namespace postern::ledger {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::string_view kKind = "postern-journal-archive";

Hash256 next_link(const Hash256& chain, std::string_view line) {
  return wire::blake2b({chain, as_bytes(line)});
}

template <std::size_t N>
std::array<std::uint8_t, N> read_hex(wire::Fields& fields, std::string_view key) {
  const auto bytes = array_from_hex<N>(fields.text(key));
  if (!bytes) fields.reject(key, "expected " + std::to_string(2 * N) + " lower-case hex digits");
  return bytes.value_or(std::array<std::uint8_t, N>{});
}

Bytes read_base64(wire::Fields& fields, std::string_view key, std::size_t most) {
  std::optional<Bytes> bytes = wire::base64_decode(fields.text(key));
  if (!bytes || bytes->size() > most) {
    fields.reject(key, "expected at most " + std::to_string(most) + " bytes in base64");
    return {};
  }
  return std::move(*bytes);
}

// One pass over the lines, in the one order that they have.
class Reading {
 public:
  Reading(const NextLine& next, const wire::PublicKey& key, ArchiveVisitor& visitor)
      : next_(next), key_(key), visitor_(visitor) {}

  Result<ArchiveTotals> run() {
    for (;;) {
      Result<std::string> line = next_();
      if (!line) return pass_on(std::move(line));
      ++number_;
      if (!line->ends_with('\n')) return cut_off(*line);
      Result<bool> more = take(*line);
      if (!more) return pass_on(std::move(more), "line " + std::to_string(number_) + " of the archive");
      if (!*more) return at_end();
      chain_ = next_link(chain_, *line);
      totals_.bytes += line->size();
    }
  }

 private:
  enum class Stage { header, files, events };

  tl::unexpected<Error> cut_off(const std::string& rest) const {
    return fail(errc::archive_invalid,
                "the archive is cut off in line " + std::to_string(number_) + ", after " +
                    std::to_string(totals_.bytes + rest.size()) +
                    " bytes: it has no trailer; nothing of it was taken; use another copy");
  }

  Result<ArchiveTotals> at_end() const {
    Result<std::string> rest = next_();
    if (!rest) return pass_on(std::move(rest));
    if (rest->empty()) return totals_;
    return fail(errc::archive_invalid, "bytes follow the archive's trailer; nothing of it was taken");
  }

  // False for the trailer.
  Result<bool> take(std::string_view line) {
    const Result<wire::Json> json = wire::parse_canonical(line.substr(0, line.size() - 1), kMaxArchiveLine);
    if (!json) return fail(errc::archive_invalid, json.error().context);
    wire::Fields fields(*json, "archive");
    if (stage_ == Stage::header) return take_header(fields);
    if (json->find("event") != nullptr) return take_event(fields);
    if (json->find("file") != nullptr) return take_file(fields);
    return take_trailer(fields);
  }

  static Result<> finish(wire::Fields& fields) {
    if (const Result<> done = fields.finish(); !done)
      return fail(errc::archive_invalid, done.error().context);
    return {};
  }

  Result<bool> take_header(wire::Fields& fields) {
    ArchiveHeader header;
    header.head = Lseq(fields.decimal("head"));
    header.head_hash = read_hex<32>(fields, "head_hash");
    header.journal = read_hex<16>(fields, "journal");
    if (fields.text("kind") != kKind) fields.reject("kind", "expected \"" + std::string(kKind) + "\"");
    header.made_ms = fields.integer("made_ms", 0, wire::kMaxInteger);
    header.mesh = fields.text("mesh");
    const std::int64_t version = fields.integer("v", 1, wire::kMaxInteger);
    if (fields.ok() && version > kVersion) {
      return fail(errc::newer_format, "an archive of version " + std::to_string(version) +
                                          ", this program reads " + std::to_string(kVersion) +
                                          "; use a newer one");
    }
    if (Result<> done = finish(fields); !done) return pass_on(std::move(done));
    stage_ = Stage::files;
    if (Result<> taken = visitor_.header(header); !taken) return pass_on(std::move(taken));
    return true;
  }

  Result<bool> take_file(wire::Fields& fields) {
    const Bytes part = read_base64(fields, "data", kArchivePartBytes);
    const std::string name = fields.text("file");
    const std::uint64_t offset = fields.decimal("offset");
    const bool goes_on = name == file_ && offset == file_bytes_ && offset != 0;
    if (stage_ != Stage::files) fields.reject("file", "a file after the events");
    if (!goes_on && offset != 0) fields.reject("offset", "a part that follows on none");
    if (!goes_on && !may_follow(name))
      fields.reject("file", "expected names in ascending order, the base first");
    if (Result<> done = finish(fields); !done) return pass_on(std::move(done));
    if (!goes_on) {
      file_ = name;
      file_bytes_ = 0;
      ++totals_.files;
    }
    file_bytes_ += part.size();
    if (Result<> taken = visitor_.file_part(name, offset, part); !taken) return pass_on(std::move(taken));
    return true;
  }

  bool may_follow(const std::string& name) const {
    if (name.empty()) return false;
    if (totals_.files == 0) return true;
    return name != kArchiveBase && (file_ == kArchiveBase || name > file_);
  }

  Result<bool> take_event(wire::Fields& fields) {
    const std::string sealed = fields.text("event");
    const Lseq lseq(fields.decimal("lseq"));
    if (sealed.size() > kMaxEventBytes) fields.reject("event", "longer than any event");
    if (lseq <= last_) fields.reject("lseq", "expected ascending numbers");
    if (Result<> done = finish(fields); !done) return pass_on(std::move(done));
    stage_ = Stage::events;
    last_ = lseq;
    ++totals_.events;
    if (Result<> taken = visitor_.event(lseq, sealed); !taken) return pass_on(std::move(taken));
    return true;
  }

  Result<bool> take_trailer(wire::Fields& fields) {
    const std::uint64_t events = fields.decimal("events");
    const std::uint64_t files = fields.decimal("files");
    const auto hash = read_hex<32>(fields, "hash");
    const std::string key = fields.text("key");
    const Bytes bytes = read_base64(fields, "sig", wire::Signature{}.size());
    if (Result<> done = finish(fields); !done) return pass_on(std::move(done));
    wire::Signature signature{};
    const bool whole = bytes.size() == signature.size() && hash == chain_ && events == totals_.events &&
                       files == totals_.files;
    if (!whole)
      return fail(errc::archive_invalid,
                  "what stands before the trailer is not what was written; use another copy");
    std::copy(bytes.begin(), bytes.end(), signature.begin());
    if (key != key_.text()) {
      return fail(errc::archive_invalid, "the archive is of the node with the key " + key +
                                             ", this one's is " + key_.text() +
                                             "; put back that node's node.key first");
    }
    if (!wire::verify(key_, kArchiveDomain, hash, signature))
      return fail(errc::archive_invalid, "the archive is not signed by the node's key");
    return false;
  }

  const NextLine& next_;
  const wire::PublicKey& key_;
  ArchiveVisitor& visitor_;
  Stage stage_ = Stage::header;
  std::uint64_t number_ = 0;
  std::string file_;
  std::uint64_t file_bytes_ = 0;
  Lseq last_;
  Hash256 chain_{};
  ArchiveTotals totals_;
};

}  // namespace

Result<> ArchiveWriter::line(const wire::Json& json) {
  const std::string text = wire::encode_canonical(json) + "\n";
  chain_ = next_link(chain_, text);
  totals_.bytes += text.size();
  return put_(text);
}

Result<> ArchiveWriter::header(const ArchiveHeader& header) {
  return line(wire::Json::object({{"head", wire::Json::decimal(header.head.value)},
                                  {"head_hash", to_hex(header.head_hash)},
                                  {"journal", to_hex(header.journal)},
                                  {"kind", kKind},
                                  {"made_ms", header.made_ms},
                                  {"mesh", header.mesh},
                                  {"v", kVersion}}));
}

Result<> ArchiveWriter::file_part(std::string_view name, std::uint64_t offset, ByteView part) {
  if (offset == 0) ++totals_.files;
  return line(wire::Json::object(
      {{"data", wire::base64_encode(part)}, {"file", name}, {"offset", wire::Json::decimal(offset)}}));
}

Result<> ArchiveWriter::event(Lseq lseq, std::string_view sealed) {
  ++totals_.events;
  return line(wire::Json::object({{"event", sealed}, {"lseq", wire::Json::decimal(lseq.value)}}));
}

Result<ArchiveTotals> ArchiveWriter::finish(const wire::SecretKey& key) {
  const ArchiveTotals totals = totals_;
  const wire::Signature signature = key.sign(kArchiveDomain, chain_);
  Result<> written = line(wire::Json::object({{"events", wire::Json::decimal(totals.events)},
                                              {"files", wire::Json::decimal(totals.files)},
                                              {"hash", to_hex(chain_)},
                                              {"key", key.public_key().text()},
                                              {"sig", wire::base64_encode(signature)}}));
  if (!written) return pass_on(std::move(written));
  return totals;
}

Result<ArchiveTotals> read_archive(const NextLine& next, const wire::PublicKey& key,
                                   ArchiveVisitor& visitor) {
  return Reading(next, key, visitor).run();
}

}  // namespace postern::ledger
