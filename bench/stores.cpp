// SPDX-License-Identifier: Apache-2.0
#include "stores.h"

#include <fcntl.h>
#include <lmdb.h>
#include <rocksdb/db.h>
#include <sqlite3.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "core/unique_fd.h"
#include "group_commit.h"
#include "ledger/journal.h"

namespace postern::bench {
namespace {

void require(bool good, const char* what, const std::string& why) {
  if (good) return;
  std::fprintf(stderr, "bench-journal: %s: %s\n", what, why.c_str());
  std::exit(1);
}

// What O_DIRECT writes from must be aligned.
struct alignas(4096) Block {
  char bytes[1 << 20];
};
Block block_of_zeros{};

// One sector a record, past the page cache, durable by itself: what no store can beat with one writer.
class Floor final : public Store {
 public:
  explicit Floor(const std::filesystem::path& directory)
      : fd_(::open((directory / "floor").c_str(), O_RDWR | O_CREAT | O_DIRECT | O_DSYNC | O_CLOEXEC, 0600)) {
    require(bool(fd_), "floor", "open fails");
    for (std::size_t at = 0; at < kBytes; at += sizeof block_of_zeros.bytes)
      require(
          ::pwrite(fd_.get(), block_of_zeros.bytes, sizeof block_of_zeros.bytes, static_cast<off_t>(at)) > 0,
          "floor", "write");
  }
  void put(std::string_view) override {
    const std::size_t at = next_.fetch_add(512) % kBytes;
    require(::pwrite(fd_.get(), block_of_zeros.bytes, 512, static_cast<off_t>(at)) == 512, "floor", "write");
  }
  void put_all(const std::vector<std::string>& records) override {
    for (const std::string& record : records)
      put(record);
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 20;
  UniqueFd fd_;
  std::atomic<std::size_t> next_{0};
};

ledger::JournalOptions journal_options(const std::filesystem::path& directory) {
  ledger::JournalOptions options;
  options.directory = directory / "journal";
  return options;
}

class Ours final : public Store {
 public:
  explicit Ours(const std::filesystem::path& directory) {
    const ledger::JournalOptions options = journal_options(directory);
    if (!std::filesystem::exists(options.directory)) {
      const Result<> made = ledger::Journal::create(options);
      require(made.has_value(), "journal", made ? "" : made.error().message());
    }
    Result<std::unique_ptr<ledger::Journal>> opened = ledger::Journal::open(options, {});
    require(opened.has_value(), "journal", opened ? "" : opened.error().message());
    journal_ = std::move(*opened);
  }
  void put(std::string_view record) override {
    const std::string payload(record);
    check(journal_->append({&payload, 1}));
  }
  void put_all(const std::vector<std::string>& records) override { check(journal_->append(records)); }

 private:
  static void check(const Result<Lseq>& head) {
    require(head.has_value(), "journal", head ? "" : head.error().message());
  }
  std::unique_ptr<ledger::Journal> journal_;
};

std::size_t start_ours(const std::filesystem::path& directory) {
  std::size_t records = 0;
  const auto opened =
      ledger::Journal::open(journal_options(directory), [&records](const ledger::Record&) -> Result<> {
        ++records;
        return {};
      });
  require(opened.has_value(), "journal", opened ? "" : opened.error().message());
  return records;
}

class Sqlite final : public Store {
 public:
  explicit Sqlite(const std::filesystem::path& directory)
      : commits_([this](const std::vector<std::string_view>& batch) { commit(batch); }) {
    require(sqlite3_open((directory / "sqlite.db").c_str(), &db_) == SQLITE_OK, "sqlite", "open");
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    run("CREATE TABLE IF NOT EXISTS log(id INTEGER PRIMARY KEY, record BLOB)");
    require(sqlite3_prepare_v2(db_, "INSERT INTO log(record) VALUES(?)", -1, &insert_, nullptr) == SQLITE_OK,
            "sqlite", "prepare");
  }
  ~Sqlite() override {
    sqlite3_finalize(insert_);
    sqlite3_close(db_);
  }
  void put(std::string_view record) override { commits_.put(record); }
  void put_all(const std::vector<std::string>& records) override { commit({records.begin(), records.end()}); }

  std::size_t scan() {
    sqlite3_stmt* select = nullptr;
    require(sqlite3_prepare_v2(db_, "SELECT record FROM log ORDER BY id", -1, &select, nullptr) == SQLITE_OK,
            "sqlite", "prepare");
    std::size_t records = 0;
    while (sqlite3_step(select) == SQLITE_ROW)
      records += sqlite3_column_bytes(select, 0) > 0 ? 1 : 0;
    sqlite3_finalize(select);
    return records;
  }

 private:
  void run(const char* statement) {
    char* error = nullptr;
    sqlite3_exec(db_, statement, nullptr, nullptr, &error);
    require(error == nullptr, "sqlite", error ? error : "");
  }
  void commit(const std::vector<std::string_view>& batch) {
    run("BEGIN IMMEDIATE");
    for (const std::string_view record : batch) {
      sqlite3_bind_blob(insert_, 1, record.data(), static_cast<int>(record.size()), SQLITE_STATIC);
      require(sqlite3_step(insert_) == SQLITE_DONE, "sqlite", sqlite3_errmsg(db_));
      sqlite3_reset(insert_);
    }
    run("COMMIT");
  }
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  GroupCommit commits_;
};

class Rocks final : public Store {
 public:
  explicit Rocks(const std::filesystem::path& directory) {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status opened = rocksdb::DB::Open(options, (directory / "rocks").string(), &db);
    require(opened.ok(), "rocksdb", opened.ToString());
    db_.reset(db);
    durable_.sync = true;
  }
  void put(std::string_view record) override {
    const std::string key = std::to_string(next_++);
    const rocksdb::Status done = db_->Put(durable_, key, rocksdb::Slice(record.data(), record.size()));
    require(done.ok(), "rocksdb", done.ToString());
  }
  void put_all(const std::vector<std::string>& records) override {
    for (const std::string& record : records)
      put(record);
  }

 private:
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::WriteOptions durable_;
  std::atomic<std::uint64_t> next_{1'000'000'000};
};

class Lmdb final : public Store {
 public:
  explicit Lmdb(const std::filesystem::path& directory)
      : commits_([this](const std::vector<std::string_view>& batch) { commit(batch); }) {
    const std::filesystem::path path = directory / "lmdb";
    std::filesystem::create_directories(path);
    mdb_env_create(&env_);
    mdb_env_set_mapsize(env_, std::size_t{2} << 30);
    check(mdb_env_open(env_, path.c_str(), 0, 0600));
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &transaction));
    check(mdb_dbi_open(transaction, nullptr, MDB_CREATE | MDB_INTEGERKEY, &table_));
    check(mdb_txn_commit(transaction));
  }
  ~Lmdb() override { mdb_env_close(env_); }
  void put(std::string_view record) override { commits_.put(record); }
  void put_all(const std::vector<std::string>& records) override { commit({records.begin(), records.end()}); }

 private:
  static void check(int error) { require(error == 0, "lmdb", mdb_strerror(error)); }
  void commit(const std::vector<std::string_view>& batch) {
    MDB_txn* transaction = nullptr;
    check(mdb_txn_begin(env_, nullptr, 0, &transaction));
    for (const std::string_view record : batch) {
      std::size_t id = next_++;
      MDB_val key{sizeof id, &id};
      MDB_val value{record.size(), const_cast<char*>(record.data())};
      check(mdb_put(transaction, table_, &key, &value, MDB_APPEND));
    }
    check(mdb_txn_commit(transaction));
  }
  MDB_env* env_ = nullptr;
  MDB_dbi table_ = 0;
  std::size_t next_ = 1;
  GroupCommit commits_;
};

template <class T>
std::unique_ptr<Store> open_store(const std::filesystem::path& directory) {
  return std::make_unique<T>(directory);
}

std::size_t start_sqlite(const std::filesystem::path& directory) {
  return Sqlite(directory).scan();
}

}  // namespace

const std::vector<StoreKind>& store_kinds() {
  static const std::vector<StoreKind> kinds = {
      {"floor", "O_DIRECT|O_DSYNC, 512 B, written file", open_store<Floor>, nullptr},
      {"postern journal", "append()", open_store<Ours>, start_ours},
      {"SQLite", "WAL, synchronous=FULL, writers share a transaction", open_store<Sqlite>, start_sqlite},
      {"RocksDB", "sync=true, its own group commit", open_store<Rocks>, nullptr},
      {"LMDB", "default (sync), writers share a transaction", open_store<Lmdb>, nullptr},
  };
  return kinds;
}

}  // namespace postern::bench
