// SPDX-License-Identifier: Apache-2.0
// Security where OpenSSL is not linked: in the library, and in builds without OpenSSL.
#include "security.hpp"

namespace baton::link::stream {

Result<std::unique_ptr<Security>> make_security(const std::string&, const std::function<void(std::string)>&) {
  return Error{
      Errc::unsupported,
      "this link has no security: run `baton link --security` of a build that found OpenSSL 3 (Debian 12: libssl-dev), "
      "or of the package baton-link"};
}

}  // namespace baton::link::stream
