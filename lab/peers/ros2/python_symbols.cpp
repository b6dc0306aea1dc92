// SPDX-License-Identifier: Apache-2.0
// The wheels' librcl needs the Python half of its messages. Its functions are never called, but these two variables
// must exist for the program to start without Python.
extern "C" {
__attribute__((visibility("default"))) void* PyExc_RuntimeError = nullptr;
__attribute__((visibility("default"))) long _Py_TrueStruct[8] = {};
}
