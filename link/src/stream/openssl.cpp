// SPDX-License-Identifier: Apache-2.0
#include "openssl.hpp"

#include <dlfcn.h>

#include <string>

namespace baton::link::stream {
namespace {

Error absent(const std::string& why) {
  return {Errc::unsupported,
          "--security needs OpenSSL 3 on this machine (Debian and Ubuntu: sudo apt install libssl3): " + why};
}

Result<OpenSsl> load() {
  // Never unloaded: threads may be inside at any time. libcrypto.so.3 comes with it.
  void* const library = ::dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return absent(why != nullptr ? why : "libssl.so.3 cannot be loaded");
  }
  OpenSsl out;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    void* const found = ::dlsym(library, name);  // also in the libraries that libssl needs
    if (found == nullptr) missing = name;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
  };
#define BATON_OPENSSL_FIND(name) find(out.name, #name);
  BATON_OPENSSL_FUNCTIONS(BATON_OPENSSL_FIND)
#undef BATON_OPENSSL_FIND
  if (missing != nullptr) return absent(std::string("its libssl.so.3 has no ") + missing);
  return out;
}

}  // namespace

Result<const OpenSsl*> load_openssl() {
  static const auto* const loaded = new Result<OpenSsl>(load());  // kept for what ends after static objects
  if (!*loaded) return loaded->error();
  return &**loaded;
}

}  // namespace baton::link::stream
