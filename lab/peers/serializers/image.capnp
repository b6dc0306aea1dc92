# SPDX-License-Identifier: Apache-2.0
@0xb1f2d6f0a7c34e15;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("baton::perf::capnproto");

struct Time {
  sec @0 :UInt32;
  nanosec @1 :UInt32;
}
struct Header {
  seq @0 :UInt32;
  stamp @1 :Time;
  frameId @2 :Text;
}
struct Image {
  header @0 :Header;
  height @1 :UInt32;
  width @2 :UInt32;
  encoding @3 :Text;
  isBigendian @4 :UInt8;
  step @5 :UInt32;
  data @6 :Data;
}
