// SPDX-License-Identifier: Apache-2.0
// A stock action server ("server") or client ("client GOAL"): the server sends the feedbacks 1 to GOAL, then the result 2 * GOAL.
#include <actionlib/TestAction.h>
#include <actionlib/client/simple_action_client.h>
#include <actionlib/server/simple_action_server.h>
#include <ros/ros.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  ros::init(argc, argv, "action", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc < 2) return 2;
  ros::NodeHandle node;
  if (std::string(argv[1]) == "server") {
    using Server = actionlib::SimpleActionServer<actionlib::TestAction>;
    Server* running = nullptr;
    Server server(
        node, "counting",
        [&running](const actionlib::TestGoalConstPtr& goal) {
          actionlib::TestFeedback feedback;
          for (feedback.feedback = 1; feedback.feedback <= goal->goal; ++feedback.feedback)
            running->publishFeedback(feedback);
          actionlib::TestResult result;
          result.result = 2 * goal->goal;
          running->setSucceeded(result, "counted");
        },
        false);
    running = &server;
    server.start();
    ros::AsyncSpinner spinner(1);
    spinner.start();
    for (std::string line; std::getline(std::cin, line);) {
    }
    return 0;
  }
  actionlib::SimpleActionClient<actionlib::TestAction> client("counting", true);
  client.waitForServer();
  actionlib::TestGoal goal;
  goal.goal = argc > 2 ? std::stoi(argv[2]) : 1;
  client.sendGoal(
      goal,
      [](const actionlib::SimpleClientGoalState& state, const actionlib::TestResultConstPtr& result) {
        std::cout << state.toString() << ' ' << state.getText() << ' ' << result->result << std::endl;
      },
      [] { std::cout << "active" << std::endl; },
      [](const actionlib::TestFeedbackConstPtr& feedback) {
        std::cout << "feedback " << feedback->feedback << std::endl;
      });
  // Feedback and result are two topics, so the last feedback may come after the result.
  for (std::string line; std::getline(std::cin, line);) {
  }
}
