// SPDX-License-Identifier: Apache-2.0
// libxdp's dispatcher: one XDP program that calls several in the order of their priorities (SPEC 1.1). It
// loads its parts itself, each as an extension of it, so a part is made from an object that is not loaded
// yet. Kernels that do not take extensions of programs have no dispatcher.
#pragma once

#include <memory>
#include <string>

#include "core/ids.h"
#include "core/result.h"
#include "dataplane/errors.h"

struct bpf_object;

namespace postern::dataplane {

// What libxdp runs first has the lowest priority; its own filter has 10, and 50 is what it gives by default.
// What runs before us sees every packet; what runs after us those that we pass to the host.
inline constexpr unsigned kRunPriority = 60;

// A program of this build that is not loaded yet. Its object has the plane's tables and loads it alone.
struct UnloadedProgram {
  std::unique_ptr<bpf_object, void (*)(bpf_object*)> object;
  std::string name;
};

// Does this kernel take extensions of XDP programs? Tried out with two programs that come with libxdp.
bool has_dispatcher();

// Adds the program to the interface's dispatcher, which is made if there is none. Other programs run on
// without a gap. A driver that has no XDP in this mode is -EOPNOTSUPP, as is all that libxdp cannot do.
// 0, or a negative errno.
int join_dispatcher(UnloadedProgram program, IfIndex ifindex, bool generic);

// Takes the program out; the dispatcher goes with its last one. 0, or a negative errno.
int leave_dispatcher(unsigned program_id, IfIndex ifindex, bool generic);

}  // namespace postern::dataplane
