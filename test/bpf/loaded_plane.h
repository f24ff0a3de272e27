// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "dataplane/plane.h"

namespace postern::testing {

// A plane as it is when it was just loaded: nothing adopted, all tables empty. Loaded for this test alone;
// or, with POSTERN_TEST_PLANES=kept in the environment, the one of an earlier test with its tables put back,
// where the verifier is so slow that loading takes most of the time (a VM without KVM). Fails the test when
// it does not load.
std::shared_ptr<dataplane::Plane> loaded_plane();

}  // namespace postern::testing
