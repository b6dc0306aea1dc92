// SPDX-License-Identifier: Apache-2.0
// Security in a build that did not find the headers of OpenSSL 3.
#include "security.hpp"

namespace baton::link::stream {

Result<std::unique_ptr<Security>> make_security(const std::string&, SaySecurity) {
  return Error{
      Errc::unsupported,
      "this build has no --security, because it did not find the headers of OpenSSL 3 (Debian 12: libssl-dev)"};
}

}  // namespace baton::link::stream
