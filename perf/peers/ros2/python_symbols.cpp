// SPDX-License-Identifier: Apache-2.0
// The wheels' librcl names the Python half of its messages as needed; their functions are never called, but these two variables
// have to exist for the program to start without a Python.
extern "C" {
__attribute__((visibility("default"))) void* PyExc_RuntimeError = nullptr;
__attribute__((visibility("default"))) long _Py_TrueStruct[8] = {};
}
