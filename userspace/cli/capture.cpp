// SPDX-License-Identifier: Apache-2.0
// postern capture: frames as they arrived, with their verdicts, into a file for Wireshark (SPEC 1.18).
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

#include "cli/errors.h"
#include "cli/pcapng.h"
#include "cli/watch.h"
#include "core/file.h"
#include "core/unique_fd.h"
#include "wire/base64.h"

namespace postern::cli {
namespace {

using wire::Json;

struct CaptureOptions : WatchOptions {
  std::string file;
  std::uint32_t snap_bytes = 2048;
  std::uint32_t rate_per_s = 20'000;
};

// Where the file's bytes go.
class Sink {
 public:
  Sink(LiveOutput& output, UniqueFd file) : output_(&output), file_(std::move(file)) {}

  bool write(std::string_view bytes) {
    if (!file_) {
      const bool written = output_->write(bytes);
      problem_ = output_->problem();
      return written;
    }
    if (write_all(file_.get(), bytes)) return true;
    problem_ = errno;
    return false;
  }
  int problem() const { return problem_; }  // 0: none, or a reader that is gone

 private:
  LiveOutput* output_;
  UniqueFd file_;
  int problem_ = 0;
};

std::string comment_of(const Reply& sample) {
  std::string text = verdict_words(sample);
  for (const auto& [name, words] : {std::pair("segment", ", segment "), std::pair("sender", ", from peer "),
                                    std::pair("receiver", ", to peer "), std::pair("egress", ", leaves by ")})
    if (sample.has(name)) text += words + sample.text(name);
  return text;
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

Outcome summary(const CaptureOptions& options, std::uint64_t frames, std::uint64_t lost) {
  if (options.file == "-") return Answer{};
  Json json = Json::object(
      {{"file", json_text(options.file)}, {"frames", Json::decimal(frames)}, {"lost", Json::decimal(lost)}});
  return Answer{
      with_schema(std::move(json), "capture"),
      std::to_string(frames) + " frames in " + options.file + ", " + std::to_string(lost) + " lost\n"};
}

Outcome capture(const Globals& globals, const CaptureOptions& options) {
  if (options.file == "-" && globals.json)
    return refuse(errc::usage, "--json and -w - both want standard output; name a file");
  if (options.file == "-" && ::isatty(STDOUT_FILENO) != 0)
    return refuse(errc::usage,
                  "a capture is no text for a terminal; name a file, or pipe it to `wireshark -k -i -`");
  Result<LiveOutput> output = LiveOutput::open();
  if (!output) return refuse(output.error());
  UniqueFd file;
  if (options.file != "-") {
    file = UniqueFd(::open(options.file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file) return refuse(errc::output, "cannot write " + options.file + ": " + std::strerror(errno));
  }
  Sink sink(*output, std::move(file));
  Pcapng pcapng(options.snap_bytes);
  std::uint64_t frames = 0;
  std::uint64_t lost = 0;
  Json arguments = watch_arguments(options, {});
  arguments.set("snap_bytes", Json(options.snap_bytes));
  arguments.set("rate_per_s", Json(options.rate_per_s));
  if (!sink.write(pcapng.begin()) && sink.problem() == 0) return Answer{};
  std::optional<Refusal> refusal =
      listen(globals, options, std::move(arguments), *output, [&](const Json& line, std::string_view) {
        const Reply sample(line);
        if (!is_sample(line)) {
          lost += lost_of(line);
          return true;
        }
        const std::optional<Bytes> bytes = wire::base64_decode(sample.text("frame"));
        if (!bytes) return true;
        ++frames;
        const std::string interface = sample.text("interface");
        const std::string comment = comment_of(sample);
        return sink.write(pcapng.add({interface, sample.count("time_ns"),
                                      static_cast<std::uint32_t>(sample.count("length")), *bytes, comment}));
      });
  sink.write(pcapng.end(now_ns(), lost));
  if (sink.problem() != 0)
    return refuse(errc::output, "cannot write " + options.file + ": " + std::strerror(sink.problem()));
  if (refusal) return tl::unexpected<Refusal>(std::move(*refusal));
  return summary(options, frames, lost);
}

}  // namespace

void add_capture(CLI::App& app, Command& chosen) {
  CLI::App* command = app.add_subcommand(
      "capture", "Packets with their verdicts as a pcapng file, those too that no other capture sees");
  command->group(group::look);
  auto options = std::make_shared<CaptureOptions>();
  options->all = true;
  options->count = 10'000;
  options->seconds = 60;
  add_watch_options(*command, *options);
  command->add_option("-w,--write", options->file, "File to write, - for standard output")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("--snap", options->snap_bytes,
                   "Bytes of each frame, 64 to 4096; default: 2048. Of longer ones the rest is cut off")
      ->type_name("BYTES")
      ->check(CLI::Range(64U, 4096U).description(""));
  command->add_option("--count", options->count, "End after so many frames, 1 to 1000000; default: 10000")
      ->type_name("NUMBER")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}).description(""));
  command->add_option("--seconds", options->seconds, "End after so long, 1 to 86400; default: 60")
      ->type_name("NUMBER")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{86'400}).description(""));
  command->callback([&chosen, options] {
    chosen = [options](const Globals& globals) { return capture(globals, *options); };
  });
}

}  // namespace postern::cli
