// SPDX-License-Identifier: Apache-2.0
// A library that frees what it is given, to be loaded in one way or the other.
#include <cstdlib>

extern "C" void plug_in_free(void* buffer, void*) { std::free(buffer); }
