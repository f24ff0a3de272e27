// SPDX-License-Identifier: Apache-2.0
#include "mesh/guarded.h"

#include <sodium.h>

#include <cstdlib>

#include "wire/sodium_ready.h"

namespace postern::mesh {

void* guarded_allocate(std::size_t size) {
  wire::sodium_ready();
  // sodium_malloc aligns the end of what it gives; a multiple of 16 is aligned at its beginning too.
  void* const memory = ::sodium_malloc((size + 15) / 16 * 16);
  if (memory == nullptr) std::abort();  // as operator new would have it
  return memory;
}

void guarded_free(void* memory) {
  ::sodium_free(memory);
}

void wipe(void* memory, std::size_t size) {
  ::sodium_memzero(memory, size);
}

}  // namespace postern::mesh
