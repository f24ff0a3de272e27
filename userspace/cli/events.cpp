// SPDX-License-Identifier: Apache-2.0
// postern events: the mesh's events in the order of this gateway's journal, each once (SPEC 5.6). The agent
// is asked for page after page; with --follow it also tells when there is more, and how far a reader is
// remains the reader's own affair: after a restart of the agent the next page goes on behind the last line
// that was written.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "cli/connection.h"
#include "cli/errors.h"
#include "cli/event_lines.h"
#include "cli/live_output.h"
#include "cli/reply.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

using wire::Json;

constexpr std::uint64_t kMostAPage = 1000;
constexpr std::uint64_t kUsual = 1000;
constexpr std::uint64_t kMost = 1'000'000'000;
constexpr std::chrono::milliseconds kFirstPause{100};
constexpr std::chrono::milliseconds kLongestPause{2000};
constexpr std::chrono::seconds kPatience{30};
constexpr std::int64_t kMsInSecond = 1000;

struct EventsOptions {
  std::string cursor;
  std::uint64_t limit = 0;  // 0: kUsual, and no end when following
  std::vector<std::string> kinds;
  std::vector<std::string> authors;
  std::string stream;
  std::string since;
  std::string until;
  bool follow = false;
};

Json text_list(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts)
    list.push(json_text(text));
  return list;
}

// A whole number is a lamport, an instant goes by the authors' clocks; `within_ms` of its second counts.
Result<> add_bound(Json& arguments, const std::string& name, const std::string& text,
                   std::int64_t within_ms) {
  if (text.empty()) return {};
  std::int64_t lamport = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lamport);
  if (error == std::errc{} && end == text.data() + text.size() && lamport >= 0 &&
      lamport <= wire::kMaxInteger) {
    arguments.set(name, lamport);
    return {};
  }
  const std::optional<UtcSeconds> instant = parse_utc(text);
  if (!instant) {
    return fail(errc::usage, "--" + name + ": expected a lamport, a whole number, or an instant like " +
                                 "2026-11-29T13:50:48Z, and not \"" + text + "\"");
  }
  arguments.set(name + "_ms", instant->value * kMsInSecond + within_ms);
  return {};
}

Result<Json> filters_of(const EventsOptions& options) {
  Json arguments = Json::object();
  if (!options.kinds.empty()) arguments.set("kinds", text_list(options.kinds));
  if (!options.authors.empty()) arguments.set("authors", text_list(options.authors));
  if (!options.stream.empty()) arguments.set("stream", json_text(options.stream));
  if (Result<> added = add_bound(arguments, "since", options.since, 0); !added)
    return pass_on(std::move(added));
  Result<> added = add_bound(arguments, "until", options.until, kMsInSecond - 1);
  if (!added) return pass_on(std::move(added));
  return arguments;
}

// One reader: where it is, and what it still wants.
class EventReader {
 public:
  EventReader(const Globals& globals, const EventsOptions& options, Json filters, LiveOutput& output)
      : globals_(globals),
        reader_(globals.json ? Reader::programs : Reader::people),
        output_(output),
        filters_(std::move(filters)),
        cursor_(options.cursor),
        left_(options.limit != 0 ? options.limit
              : options.follow   ? kMost
                                 : kUsual) {}

  // Writes what there is by now. A refusal is the agent's, or that it is gone.
  std::optional<Refusal> read_on() {
    at_end_ = false;
    while (!at_end_ && !done()) {
      Json arguments = filters_;
      if (!cursor_.empty()) arguments.set("cursor", json_text(cursor_));
      arguments.set("limit", static_cast<std::int64_t>(std::min(left_, kMostAPage)));
      const tl::expected<Json, Refusal> page = ask_agent(globals_, "events", std::move(arguments));
      if (!page) return page.error();
      if (!write_page(*page)) return std::nullopt;
    }
    return std::nullopt;
  }

  bool done() const { return left_ == 0 || output_gone_ || output_.stop_asked(); }
  bool output_gone() const { return output_gone_; }

  void end() {
    if (!output_gone_) write(end_line(cursor_, shown_, at_end_, reader_));
  }

 private:
  bool write(const std::string& text) {
    if (!output_gone_ && !text.empty()) output_gone_ = !output_.write(text);
    return !output_gone_;
  }

  bool write_page(const Json& page) {
    const Reply reply(page);
    const Json* const missing = page.find("missing");
    const Json* const events = page.find("events");
    if (missing != nullptr && missing->as_array() != nullptr)
      for (const Json& gap : *missing->as_array())
        if (!write(missing_line(gap, reader_))) return false;
    if (events != nullptr && events->as_array() != nullptr) {
      for (const Json& event : *events->as_array()) {
        if (shown_ == 0 && !write(event_heading(reader_))) return false;
        if (!write(event_line(event, reader_))) return false;
        ++shown_;
        --left_;
      }
    }
    cursor_ = reply.text("cursor");
    at_end_ = reply.flag("at_end");
    return true;
  }

  const Globals& globals_;
  const Reader reader_;
  LiveOutput& output_;
  const Json filters_;
  std::string cursor_;
  std::uint64_t left_;
  std::uint64_t shown_ = 0;
  bool at_end_ = false;
  bool output_gone_ = false;
};

bool is_unreachable(const Refusal& refusal) {
  return refusal.exit == exit_code(ErrorKind::unreachable);
}

// Listens to one agent until it ends, or there is nothing more to do. `heard` is set once it has answered.
std::optional<Refusal> follow_one(const Globals& globals, const LiveOutput& output, EventReader& reader,
                                  bool& heard) {
  const Result<std::filesystem::path> socket = agent_socket(globals);
  if (!socket) return refuse(socket.error()).value();
  Result<Connection> connection =
      Connection::open(*socket, globals.timeout_s != 0 ? std::chrono::seconds(globals.timeout_s) : kPatience);
  if (!connection) return refuse(connection.error()).value();
  std::optional<Refusal> refusal;
  Connection::Following following;
  following.wake_fd = output.stop_fd();
  following.output_fd = LiveOutput::fd();
  following.take = [&](std::string_view) {
    heard = true;
    refusal = reader.read_on();
    return !refusal && !reader.done();
  };
  const Result<wire::ControlAnswer> answer =
      std::move(*connection).follow({"events-follow", Json::object(), 0}, following);
  if (!answer) return refuse(answer.error()).value();
  if (answer->error) return *answer->error;
  return refusal;
}

// An agent that was there once is waited for: what it writes then goes on where this reader is.
std::optional<Refusal> follow(const Globals& globals, const LiveOutput& output, EventReader& reader) {
  bool heard_ever = false;
  std::chrono::milliseconds pause = kFirstPause;
  for (;;) {
    bool heard = false;
    std::optional<Refusal> refusal = follow_one(globals, output, reader, heard);
    heard_ever = heard_ever || heard;
    if (!refusal || !is_unreachable(*refusal) || !heard_ever) return refusal;
    if (heard) pause = kFirstPause;
    if (!output.pause(pause)) return std::nullopt;
    pause = std::min(2 * pause, kLongestPause);
  }
}

Outcome events(const Globals& globals, const EventsOptions& options) {
  Result<Json> filters = filters_of(options);
  if (!filters) return refuse(filters.error());
  Result<LiveOutput> output = LiveOutput::open();
  if (!output) return refuse(output.error());
  EventReader reader(globals, options, std::move(*filters), *output);
  std::optional<Refusal> refusal = options.follow ? follow(globals, *output, reader) : reader.read_on();
  if (refusal) {
    if (is_unreachable(*refusal))
      refusal->message += "; without an agent `postern journal show` reads the files";
    return tl::unexpected<Refusal>(*refusal);
  }
  reader.end();
  if (output->problem() != 0)
    return refuse(errc::output,
                  std::string("cannot write to standard output: ") + std::strerror(output->problem()));
  return Answer{};
}

void add_options(CLI::App& command, EventsOptions& options) {
  command
      .add_option(
          "--cursor", options.cursor,
          "Go on behind what was read before: the `cursor` of an event, or of the last line. Exit code 9 "
          "when it leads nowhere and what was read counts for nothing")
      ->type_name("CURSOR");
  command
      .add_option("--limit", options.limit, "How many events at most; default: 1000, with --follow no limit")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, kMost).description(""));
  command.add_option("--kind", options.kinds, "Only events of this kind; may be given again")
      ->type_name("KIND")
      ->expected(1)
      ->take_all();
  command
      .add_option("--author", options.authors,
                  "Only events of this gateway, by its id or its node key; may be given again")
      ->type_name("NODE")
      ->expected(1)
      ->take_all();
  command.add_option("--stream", options.stream, "Only events of this stream, 32 hex digits")
      ->type_name("ID");
  command
      .add_option("--since", options.since,
                  "Only events from this lamport on, or from this instant on by their authors' clocks")
      ->type_name("LAMPORT|INSTANT");
  command.add_option("--until", options.until, "Only events up to this lamport or instant, itself too")
      ->type_name("LAMPORT|INSTANT");
  command.add_flag("--follow,-f", options.follow,
                   "Wait for further events, over restarts of the agent too, until interrupted");
}

}  // namespace

void add_events(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "events", "What happened in the mesh, event by event; with --json a line each, and where to go on");
  command->group(group::look);
  auto options = std::make_shared<EventsOptions>();
  add_options(*command, *options);
  command->callback([&chosen, options] {
    chosen = [options](const Globals& globals) { return events(globals, *options); };
  });
}

}  // namespace postern::cli
