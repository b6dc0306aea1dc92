// SPDX-License-Identifier: Apache-2.0
// A server or a client of actionlib/TestAction that does what the lines of its input say, and prints what happens:
//   serve         a SimpleActionServer: goal N > 0 has the feedbacks 1 to N and the result 2 * N; 0 is aborted; N < 0 runs until
//                 it is preempted
//   serve plain   an ActionServer, whose goals wait for: accept | reject | succeed RESULT | cancelled
//   client        a SimpleActionClient: prints whether a server is there
//   call N MS     sends a goal and waits for its result
//   send N        sends a goal and prints what becomes of it
//   cancel        cancels the goal
//   plain N       sends a goal by an ActionClient and prints its states; "cancel plain" cancels it
//   results N     calls N goals, one after another, and counts the right results
#include <actionlib/TestAction.h>
#include <actionlib/client/action_client.h>
#include <actionlib/client/simple_action_client.h>
#include <actionlib/server/action_server.h>
#include <actionlib/server/simple_action_server.h>
#include <ros/ros.h>

#include <iostream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>

namespace {

using SimpleServer = actionlib::SimpleActionServer<actionlib::TestAction>;
using Server = actionlib::ActionServer<actionlib::TestAction>;
using SimpleClient = actionlib::SimpleActionClient<actionlib::TestAction>;
using Client = actionlib::ActionClient<actionlib::TestAction>;

std::mutex print_mutex;
void print(const std::string& line) {
  const std::lock_guard<std::mutex> lock(print_mutex);
  std::cout << line << std::endl;
}

actionlib::TestGoal goal_of(int number) {
  actionlib::TestGoal goal;
  goal.goal = number;
  return goal;
}
actionlib::TestResult result_of(int number) {
  actionlib::TestResult result;
  result.result = number;
  return result;
}

class ActionNode {
 public:
  void obey(const std::string& line) {
    std::istringstream words(line);
    std::string verb, second;
    words >> verb >> second;
    if (verb == "serve" && second == "plain") {
      server_ = std::make_unique<Server>(
          node_, "counting", [this](Server::GoalHandle goal) { take(goal); },
          [](Server::GoalHandle goal) { print("asked to cancel " + std::to_string(goal.getGoal()->goal)); }, false);
      server_->start();
      print("serving");
    } else if (verb == "serve") {
      simple_server_ = std::make_unique<SimpleServer>(
          node_, "counting", [this](const actionlib::TestGoalConstPtr& goal) { execute(goal->goal); }, false);
      simple_server_->start();
      print("serving");
    } else if (verb == "accept") {
      goal_.setAccepted("accepted");
      print("done");
    } else if (verb == "reject") {
      goal_.setRejected(result_of(-7), "rejected");
      print("done");
    } else if (verb == "succeed") {
      goal_.publishFeedback([] {
        actionlib::TestFeedback feedback;
        feedback.feedback = 3;
        return feedback;
      }());
      goal_.setSucceeded(result_of(std::stoi(second)), "succeeded");
      print("done");
    } else if (verb == "cancelled") {
      goal_.setCanceled(result_of(-8), "cancelled");
      print("done");
    } else if (verb == "client") {
      simple_client_ = std::make_unique<SimpleClient>(node_, "counting", false);
      print(simple_client_->waitForServer(ros::Duration(second.empty() ? 60 : std::stod(second))) ? "there"
                                                                                                  : "not there");
    } else if (verb == "call") {
      int wait_ms = 60'000;
      words >> wait_ms;
      simple_client_->sendGoalAndWait(goal_of(std::stoi(second)), ros::Duration(wait_ms / 1000.0), ros::Duration(30));
      print(outcome());
    } else if (verb == "send") {
      simple_client_->sendGoal(
          goal_of(std::stoi(second)),
          [](const actionlib::SimpleClientGoalState& state, const actionlib::TestResultConstPtr& result) {
            print("done " + state.toString() + " '" + state.getText() + "' " + std::to_string(result->result));
          },
          [] { print("active"); },
          [](const actionlib::TestFeedbackConstPtr& feedback) {
            print("feedback " + std::to_string(feedback->feedback));
          });
    } else if (verb == "cancel" && second == "plain") {
      handle_.cancel();
    } else if (verb == "cancel") {
      simple_client_->cancelGoal();
    } else if (verb == "plain") {
      if (!client_) client_ = std::make_unique<Client>(node_, "counting");
      client_->waitForActionServerToStart();
      handle_ = client_->sendGoal(
          goal_of(std::stoi(second)),
          [](Client::GoalHandle handle) {
            std::string text = handle.getCommState().toString();
            if (handle.getCommState() == actionlib::CommState::DONE) {
              text += " " + handle.getTerminalState().toString() + " " + std::to_string(handle.getResult()->result);
            }
            print(text);
          },
          [](Client::GoalHandle, const actionlib::TestFeedbackConstPtr& feedback) {
            print("feedback " + std::to_string(feedback->feedback));
          });
    } else if (verb == "results") {
      int good = 0;
      const int count = std::stoi(second);
      for (int i = 1; i <= count; ++i) {
        simple_client_->sendGoalAndWait(goal_of(i % 9 + 1));
        good += simple_client_->getState() == actionlib::SimpleClientGoalState::SUCCEEDED &&
                simple_client_->getResult()->result == 2 * (i % 9 + 1);
      }
      print(std::to_string(good) + " good");
    } else {
      print("unknown: " + line);
    }
  }

 private:
  void execute(int goal) {
    // actionlib's client takes a goal whose result comes before sendGoal() returns for a lost one.
    ros::WallDuration(0.02).sleep();
    actionlib::TestFeedback feedback;
    for (feedback.feedback = 1; feedback.feedback <= goal; ++feedback.feedback) {
      simple_server_->publishFeedback(feedback);
    }
    if (goal == 0) {
      simple_server_->setAborted(result_of(-1), "aborted");
    } else if (goal > 0) {
      simple_server_->setSucceeded(result_of(2 * goal), "counted");
    } else {
      while (!simple_server_->isPreemptRequested() && ros::ok()) ros::WallDuration(0.005).sleep();
      simple_server_->setPreempted(result_of(goal), "preempted");
    }
  }

  void take(Server::GoalHandle goal) {
    goal_ = goal;
    print("goal " + std::to_string(goal.getGoal()->goal) + " " + std::string(goal.getGoalID().id));
  }

  std::string outcome() {
    const actionlib::SimpleClientGoalState state = simple_client_->getState();
    const actionlib::TestResultConstPtr result = simple_client_->getResult();
    return state.toString() + " '" + state.getText() + "' " + (result ? std::to_string(result->result) : "none");
  }

  ros::NodeHandle node_;
  std::unique_ptr<SimpleServer> simple_server_;
  std::unique_ptr<Server> server_;
  Server::GoalHandle goal_;
  std::unique_ptr<SimpleClient> simple_client_;
  std::unique_ptr<Client> client_;
  Client::GoalHandle handle_;
};

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "action", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  ActionNode node;
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::string line;
  while (std::getline(std::cin, line)) node.obey(line);
  spinner.stop();
}
