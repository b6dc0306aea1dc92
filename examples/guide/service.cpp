// SPDX-License-Identifier: Apache-2.0
#include <baton/node/node.hpp>
#include <baton/srv/std_srvs/set_bool.hpp>
#include <iostream>
#include <thread>

using baton::srv::std_srvs::SetBool;

int main() {
  baton::Node server("lamp");
  bool on = false;
  auto service = server.serve<SetBool>("switch", [&](const SetBool::Request& request, SetBool::Response& response) {
    response.success = on != request.data;
    response.message = response.success ? "switched" : "was so already";
    on = request.data;
  });
  baton::Executor executor;
  executor.add(server);
  std::thread spin([&] { executor.spin(); });

  baton::Node caller("caller");
  auto client = caller.client<SetBool>("switch");
  if (!client.wait_for_service(std::chrono::seconds(30))) return 1;
  SetBool::Request request;
  request.data = true;
  for (int i = 0; i < 2; ++i)
    if (auto response = client.call(request, std::chrono::seconds(30))) std::cout << response->message << std::endl;
  executor.cancel();
  spin.join();
}
