// SPDX-License-Identifier: Apache-2.0
#include "cli/event_lines.h"

#include <array>
#include <string_view>

#include "cli/answer.h"
#include "cli/reply.h"
#include "cli/wording.h"
#include "core/utc.h"

namespace postern::cli {
namespace {

// All streams of a node begin alike (SPEC 5.1): the other half tells them apart.
constexpr std::size_t kStreamTail = 16;
constexpr std::size_t kShortStream = 8;
constexpr std::size_t kShortKey = 12;
constexpr std::size_t kColumns = 6;

std::string row(const std::array<std::string, kColumns>& cells, std::string_view last) {
  constexpr std::array<std::size_t, kColumns> kWidths = {7, 20, 12, 20, 14, 7};
  std::string line;
  for (std::size_t i = 0; i < kColumns; ++i) {
    const std::size_t blanks = cells[i].size() < kWidths[i] ? kWidths[i] - cells[i].size() : 0;
    line += cells[i] + std::string(blanks + 2, ' ');
  }
  return line.append(last) + "\n";
}

std::string author_words(const Reply& event) {
  return event.has("author") ? event.text("author") : event.text("key").substr(0, kShortKey);
}

std::string stream_words(const Reply& event) {
  const std::string stream = event.text("stream");
  const std::string tail = stream.size() > kStreamTail ? stream.substr(kStreamTail, kShortStream) : stream;
  return tail + "/" + event.text("seq");
}

}  // namespace

std::string event_heading(Reader reader) {
  if (reader == Reader::programs) return "";
  return row({"RECORD", "AT", "AUTHOR", "KIND", "STREAM/SEQ", "LAMPORT"}, "BODY");
}

std::string event_line(const wire::Json& event, Reader reader) {
  if (reader == Reader::programs) return wire::encode_canonical(event) + "\n";
  const Reply told(event);
  const wire::Json* const body = event.find("body");
  std::string last = body != nullptr ? body_words(*body) : "";
  if (!told.flag("counts")) last = "(does not count: " + told.text("standing") + ") " + last;
  const auto at_ms = static_cast<std::int64_t>(told.count("at_ms"));
  return row({told.text("lseq"), utc_text(UtcSeconds(at_ms / 1000)), author_words(told), told.text("kind"),
              stream_words(told), told.text("lamport")},
             last);
}

std::string missing_line(const wire::Json& missing, Reader reader) {
  if (reader == Reader::programs) return with_schema(missing, "events-missing") + "\n";
  const Reply told(missing);
  return "(records " + told.text("first") + ".." + told.text("last") +
         " were compacted away or lost; those that are kept of them follow)\n";
}

std::string end_line(const std::string& cursor, std::uint64_t shown, bool at_end, Reader reader) {
  if (reader == Reader::programs) {
    wire::Json end = wire::Json::object({{"at_end", at_end},
                                         {"cursor", cursor.empty() ? wire::Json(nullptr) : json_text(cursor)},
                                         {"shown", wire::Json::decimal(shown)}});
    return with_schema(std::move(end), "events-end") + "\n";
  }
  std::string text = shown == 0 ? "no such events\n" : "";
  if (!cursor.empty()) text += (at_end ? "later ones: --cursor " : "more: --cursor ") + cursor + "\n";
  return text;
}

}  // namespace postern::cli
