// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "link.hpp"

namespace baton::demo {

std::unique_ptr<ImageSender> make_baton_sender(const std::string& directory, const std::string& channel);
std::unique_ptr<ImageReceiver> make_baton_receiver(const std::string& directory, const std::string& channel,
                                                   const std::string& role);

}  // namespace baton::demo
