// SPDX-License-Identifier: Apache-2.0
// postern monitor: packets as they are judged (SPEC 1.18), a line each.
#include <CLI/CLI.hpp>
#include <cstring>
#include <ctime>
#include <memory>

#include "cli/errors.h"
#include "cli/watch.h"

namespace postern::cli {
namespace {

constexpr std::uint64_t kNsInSecond = 1'000'000'000;

std::string clock_text(std::uint64_t time_ns) {
  const auto seconds = static_cast<std::time_t>(time_ns / kNsInSecond);
  std::tm day{};
  ::gmtime_r(&seconds, &day);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &day);
  const std::string thousandths = std::to_string(1000 + time_ns % kNsInSecond / 1'000'000);
  return std::string(text) + "." + thousandths.substr(1) + "Z";
}

std::string line_of(const wire::Json& json) {
  const Reply line(json);
  if (!is_sample(json)) return "(" + std::to_string(lost_of(json)) + " packets more were not shown)\n";
  std::string text =
      clock_text(line.count("time_ns")) + "  " + verdict_words(line) + "  " + line.text("interface");
  if (line.has("segment")) text += " " + line.text("segment");
  text += "  " + packet_words(line);
  if (line.has("sender")) text += ", from " + line.text("sender");
  if (line.has("receiver")) text += ", to " + line.text("receiver");
  if (line.has("tunnel")) text += ", tunnel of " + line.at("tunnel").text("source");
  return text + ", " + line.text("length") + " bytes\n";
}

Outcome monitor(const Globals& globals, const WatchOptions& options) {
  Result<LiveOutput> output = LiveOutput::open();
  if (!output) return refuse(output.error());
  const std::optional<Refusal> refusal =
      listen(globals, options, watch_arguments(options, {"drop", "refused"}), *output,
             [&](const wire::Json& line, std::string_view text) {
               return output->write(globals.json ? std::string(text) + "\n" : line_of(line));
             });
  if (refusal) return tl::unexpected<Refusal>(*refusal);
  if (output->problem() != 0)
    return refuse(errc::output,
                  std::string("cannot write to standard output: ") + std::strerror(output->problem()));
  return Answer{};
}

}  // namespace

void add_monitor(CLI::App& app, Command& chosen) {
  CLI::App* command =
      app.add_subcommand("monitor", "Dropped packets as they are dropped, or those of other verdicts");
  command->group(group::look);
  auto options = std::make_shared<WatchOptions>();
  add_watch_options(*command, *options);
  command->add_option("--count", options->count, "End after so many packets; default: never")
      ->type_name("NUMBER");
  command->add_option("--seconds", options->seconds, "End after so long; default: never")
      ->type_name("NUMBER");
  command->callback([&chosen, options] {
    chosen = [options](const Globals& globals) { return monitor(globals, *options); };
  });
}

}  // namespace postern::cli
