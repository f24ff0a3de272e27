// SPDX-License-Identifier: Apache-2.0
#include "dataplane/backstop.h"

#include <nftables/libnftables.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "abi.h"

namespace postern::dataplane {
namespace {

using Names = std::vector<std::string>;

struct ContextDeleter {
  void operator()(nft_ctx* context) const { ::nft_ctx_free(context); }
};
using Context = std::unique_ptr<nft_ctx, ContextDeleter>;

Result<Context> open_context() {
  Context context(::nft_ctx_new(NFT_CTX_DEFAULT));
  if (!context || ::nft_ctx_buffer_output(context.get()) != 0 || ::nft_ctx_buffer_error(context.get()) != 0) {
    return fail(errc::backstop, "cannot start libnftables: out of memory");
  }
  // Without counters: two listings of one table are then equal.
  ::nft_ctx_output_set_flags(context.get(), NFT_CTX_OUTPUT_STATELESS);
  return context;
}

// Names stand in quotes in nftables' language, where a star at the end would match more than the interface.
Result<> check_name(std::string_view name) {
  if (!name.empty() && name.find_first_of("\"\\*\n{};") == std::string_view::npos) return {};
  return fail(errc::backstop,
              "the name \"" + std::string(name) + "\" cannot stand in a firewall rule; rename it");
}

Result<> check_names(const BackstopRules& rules) {
  if (Result<> checked = check_name(rules.table); !checked) return checked;
  for (const Names* names : {&rules.underlay, &rules.local, &rules.host}) {
    if (names->empty() && names != &rules.host)
      return fail(errc::backstop, "the backstop needs an interface of each role");
    for (const std::string& name : *names) {
      if (Result<> checked = check_name(name); !checked) return checked;
    }
  }
  return {};
}

std::string set_of(const Names& names) {
  std::string out;
  for (const std::string& name : names)
    out += (out.empty() ? "{ \"" : ", \"") + name + "\"";
  return out + " }";
}

// As nftables lists them.
std::string tunnel_ports(const BackstopRules& rules) {
  const std::uint16_t low = std::min<std::uint16_t>(rules.tunnel_port, PT_GENEVE_PORT);
  const std::uint16_t high = std::max<std::uint16_t>(rules.tunnel_port, PT_GENEVE_PORT);
  return low == high ? std::to_string(low) : "{ " + std::to_string(low) + ", " + std::to_string(high) + " }";
}

std::string script_for(const BackstopRules& rules) {
  const std::string table = "table inet " + rules.table;
  const auto drop = [](const Names& from, const Names& to) {
    return "    iifname " + set_of(from) + " oifname " + set_of(to) + " counter drop\n";
  };
  // From a host port come packets that the packet path has judged: into the site, and tunnel packets of ours.
  const auto drop_but = [&rules](const std::string& match) {
    return "    iifname " + set_of(rules.host) + " oifname " + set_of(rules.underlay) + " " + match +
           " counter drop\n";
  };
  std::string host;
  if (!rules.host.empty()) {
    host = drop(rules.underlay, rules.host) + drop(rules.local, rules.host) +
           drop_but("udp dport != " + tunnel_ports(rules)) + drop_but("meta l4proto != udp");
  }
  // Made, deleted and made again in one transaction: a table that is not there cannot be deleted.
  return table + "\ndelete " + table + "\n" + table +
         " {\n  chain forward {\n    type filter hook forward priority filter; policy accept;\n" +
         drop(rules.underlay, rules.local) + drop(rules.local, rules.underlay) +
         drop(rules.underlay, rules.underlay) + host + "  }\n}\n";
}

Names sorted(Names names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Names quoted_in(std::string_view text) {
  Names out;
  for (std::size_t open = text.find('"'); open != std::string_view::npos; open = text.find('"', open)) {
    const std::size_t close = text.find('"', open + 1);
    if (close == std::string_view::npos) break;
    out.emplace_back(text.substr(open + 1, close - open - 1));
    open = close + 1;
  }
  return sorted(std::move(out));
}

// A rule as nftables lists it, whether it spells a set of one as a set or as a value.
bool is_drop(std::string_view line, const Names& from, const Names& to) {
  constexpr std::string_view kOutput = " oifname ";
  const std::size_t middle = line.find(kOutput);
  if (!line.starts_with("iifname ") || !line.ends_with(" counter drop") || middle == std::string_view::npos)
    return false;
  return line.find("!=") == std::string_view::npos && quoted_in(line.substr(0, middle)) == sorted(from) &&
         quoted_in(line.substr(middle)) == sorted(to);
}

// The same with one more condition between the sets and the end.
bool is_drop_but(std::string_view line, const Names& from, const Names& to, const std::string& match) {
  const std::string end = " " + match + " counter drop";
  if (!line.ends_with(end)) return false;
  return is_drop(std::string(line.substr(0, line.size() - end.size())) + " counter drop", from, to);
}

bool host_rules_intact(const std::vector<std::string>& lines, const BackstopRules& rules) {
  if (rules.host.empty()) return lines.size() == 8;
  return lines.size() == 12 && is_drop(lines[6], rules.underlay, rules.host) &&
         is_drop(lines[7], rules.local, rules.host) &&
         is_drop_but(lines[8], rules.host, rules.underlay, "udp dport != " + tunnel_ports(rules)) &&
         is_drop_but(lines[9], rules.host, rules.underlay, "meta l4proto != udp");
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string_view::npos) out.emplace_back(line.substr(first));
  }
  return out;
}

}  // namespace

Result<> install_backstop(const BackstopRules& rules) {
  if (Result<> checked = check_names(rules); !checked) return checked;
  const Result<Context> context = open_context();
  if (!context) return fail(context.error().code, context.error().context);
  if (::nft_run_cmd_from_buffer(context->get(), script_for(rules).c_str()) == 0) return {};
  return fail(errc::backstop, "the kernel did not take the table inet " + rules.table + ": " +
                                  ::nft_ctx_get_error_buffer(context->get()));
}

Result<bool> backstop_intact(const BackstopRules& rules) {
  if (Result<> checked = check_names(rules); !checked) return pass_on(std::move(checked));
  const Result<Context> context = open_context();
  if (!context) return fail(context.error().code, context.error().context);
  if (::nft_run_cmd_from_buffer(context->get(), "list tables inet") != 0) {
    return fail(errc::backstop, std::string("cannot list the firewall's tables: ") +
                                    ::nft_ctx_get_error_buffer(context->get()));
  }
  const std::vector<std::string> tables = lines_of(::nft_ctx_get_output_buffer(context->get()));
  if (std::find(tables.begin(), tables.end(), "table inet " + rules.table) == tables.end()) return false;
  if (::nft_run_cmd_from_buffer(context->get(), ("list table inet " + rules.table).c_str()) != 0)
    return false;
  const std::vector<std::string> lines = lines_of(::nft_ctx_get_output_buffer(context->get()));
  return lines.size() >= 8 && lines[0] == "table inet " + rules.table + " {" &&
         lines[1] == "chain forward {" &&
         lines[2] == "type filter hook forward priority filter; policy accept;" &&
         is_drop(lines[3], rules.underlay, rules.local) && is_drop(lines[4], rules.local, rules.underlay) &&
         is_drop(lines[5], rules.underlay, rules.underlay) && host_rules_intact(lines, rules);
}

}  // namespace postern::dataplane
