// SPDX-License-Identifier: Apache-2.0
// The form of names: what documents, configs and directories may call things.
#pragma once

#include <string>
#include <string_view>

namespace postern {

// Of gateways, peers, segments, resources, classes.
inline constexpr std::string_view kIdForm = "[a-z0-9][a-z0-9._-]{0,62}";
bool is_id(std::string_view text);

// Of a mesh: part of paths and of sockets' names.
inline constexpr std::string_view kMeshNameForm = "[a-z0-9][a-z0-9-]{0,62}";
bool is_mesh_name(std::string_view text);

// A name in an error text: quoted, cut where no sane name goes on, control characters as '?'.
std::string in_quotes(std::string_view name);

}  // namespace postern
