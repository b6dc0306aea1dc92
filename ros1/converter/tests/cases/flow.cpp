// SPDX-License-Identifier: Apache-2.0
// Which statements ROS-SF's assumptions do not hold for. `// string`, `// resize` and `// other` stand in the lines of the findings.
#include "tiny_ros.hpp"

bool choose();
void fill(sensor_msgs::Image& image);
void look(const sensor_msgs::Image& image);
sensor_msgs::ImagePtr make();

void one_assignment_is_fine() {
  sensor_msgs::Image img;
  img.encoding = "a";
  img.data.resize(3);
  img.height = 1;
  img.height = 2;
}

void a_second_assignment_is_found() {
  sensor_msgs::Image img;
  img.encoding = "a";
  img.encoding = "b";  // string
  img.data.resize(3);
  img.data.resize(4);  // resize
}

void branches_that_exclude_each_other_assign_once() {
  sensor_msgs::Image img;
  if (choose()) {
    img.encoding = "a";
  } else {
    img.encoding = "b";
  }
}

void a_branch_and_what_follows_assign_twice() {
  sensor_msgs::Image img;
  if (choose()) img.encoding = "a";
  img.encoding = "b";  // string
}

void a_branch_that_returns_does_not_reach_what_follows() {
  sensor_msgs::Image img;
  if (choose()) {
    img.encoding = "a";
    return;
  }
  img.encoding = "b";
}

void a_loop_assigns_again() {
  sensor_msgs::Image img;
  for (int i = 0; i < 3; ++i) {
    img.encoding = "a";  // string
  }
}

void a_message_of_each_turn_is_new() {
  for (int i = 0; i < 3; ++i) {
    sensor_msgs::Image img;
    img.encoding = "a";
  }
}

void a_turn_that_breaks_is_the_last() {
  sensor_msgs::Image img;
  while (choose()) {
    img.encoding = "a";
    break;
  }
}

void a_turn_that_continues_comes_again() {
  sensor_msgs::Image img;
  while (choose()) {
    if (choose()) {
      img.encoding = "a";  // string
      continue;
    }
    break;
  }
}

void do_loops_are_loops() {
  sensor_msgs::Image img;
  do {
    img.data.resize(3);  // resize
  } while (choose());
}

void cases_of_a_switch_exclude_each_other(int kind) {
  sensor_msgs::Image img;
  switch (kind) {
    case 1:
      img.encoding = "a";
      break;
    case 2: {
      img.encoding = "b";
      break;
    }
    default:
      img.encoding = "c";
  }
}

void a_case_falls_through(int kind) {
  sensor_msgs::Image img;
  switch (kind) {
    case 1:
      img.encoding = "a";
    case 2:
      img.encoding = "b";  // string
  }
}

void a_conditional_expression_is_a_branch() {
  sensor_msgs::Image img;
  choose() ? img.encoding = "a" : img.encoding = "b";
  choose() && (img.encoding = "c").empty();  // string
}

void a_handler_sees_what_was_done_before_the_throw() {
  sensor_msgs::Image img;
  try {
    img.encoding = "a";
    choose();
  } catch (int) {
    img.encoding = "b";  // string
  }
}

void an_empty_text_and_size_zero_fill_nothing() {
  sensor_msgs::Image img;
  img.encoding = "";
  img.encoding = "a";
  img.data.resize(0);
  img.data.resize(3);
}

void parts_of_a_message_count_with_the_part() {
  std_msgs::Header header;
  header.frame_id = "a";
  sensor_msgs::Image img;
  img.header = header;
  img.header.frame_id = "b";  // string
}

void a_part_that_was_set_is_assigned_with_the_whole() {
  std_msgs::Header header;
  header.frame_id = "a";
  sensor_msgs::Image img;
  img.header.frame_id = "b";
  img.header = header;  // string
}

void a_whole_message_is_replaced() {
  sensor_msgs::Image img;
  img.encoding = "a";
  img = sensor_msgs::Image();
  img.encoding = "b";
}

void a_copy_has_contents(const sensor_msgs::Image& other) {
  sensor_msgs::Image img = other;
  img.encoding = "a";  // string
}

void the_caller_may_have_filled_a_parameter(sensor_msgs::Image& out, sensor_msgs::Image* other) {
  out.encoding = "a";     // string
  other->data.resize(3);  // resize
}

void a_function_may_fill_what_it_gets() {
  sensor_msgs::Image img;
  look(img);
  img.encoding = "a";
  sensor_msgs::Image other;
  fill(other);
  other.encoding = "a";  // string
}

void what_a_function_returns_may_have_contents() {
  sensor_msgs::ImagePtr img = make();
  img->encoding = "a";  // string
  auto made = boost::make_shared<sensor_msgs::Image>();
  made->encoding = "a";
  made = boost::make_shared<sensor_msgs::Image>();
  made->encoding = "a";
  made.reset(new sensor_msgs::Image);
  made->encoding = "a";
  made = make();
  made->encoding = "a";  // string
}

void references_and_pointers_name_the_same_message() {
  sensor_msgs::Image img;
  auto& same = img;
  std_msgs::Header* header = &img.header;
  same.encoding = "a";
  img.encoding = "b";  // string
  header->frame_id = "a";
  same.header.frame_id = "b";  // string
}

void elements_differ_by_their_index() {
  sensor_msgs::Cloud cloud;
  cloud.channels.resize(2);
  cloud.channels[0].name = "a";
  cloud.channels[1].name = "b";
  cloud.channels[0].name = "c";  // string
}

void elements_of_an_array_are_messages() {
  sensor_msgs::Image images[2];
  images[0].encoding = "a";
  images[1].encoding = "b";
  images[0].encoding = "c";  // string
}

void each_turn_has_another_element() {
  sensor_msgs::Cloud cloud;
  cloud.channels.resize(2);
  for (std::size_t i = 0; i < cloud.channels.size(); ++i) {
    cloud.channels[i].name = "a";
  }
}

void each_turn_has_another_element_of_a_range() {
  sensor_msgs::Cloud cloud;
  cloud.channels.resize(2);
  for (auto& channel : cloud.channels) {
    channel.name = "a";
    channel.name = "b";  // string
  }
}

void other_methods_are_found() {
  sensor_msgs::Image img;
  img.data.push_back(1);  // other
  img.data.clear();       // other
  img.encoding += "a";    // other
  std::vector<int> none;
  none.push_back(1);
}

void a_lambda_may_run_again() {
  sensor_msgs::Image img;
  auto name = [&] {
    img.encoding = "a";  // string
  };
  name();
}

#define NAME(message) (message).encoding = "a"
using Renamed = sensor_msgs::Image;

void macros_and_typedefs_hide_nothing() {
  Renamed img;
  NAME(img);
  NAME(img);  // string
}

namespace other {
struct Image {
  std::string encoding;
};
void a_class_of_the_same_name_is_no_message() {
  Image img;
  img.encoding = "a";
  img.encoding = "b";
}
}  // namespace other

class Node {
 public:
  Node() {
    message_.encoding = "a";
    message_.encoding = "b";  // string
  }
  void a_member_keeps_what_an_earlier_call_left() {
    message_.data.resize(3);  // resize
  }
  void a_static_variable_too() {
    static sensor_msgs::Image img;
    img.encoding = "a";  // string
  }

 private:
  sensor_msgs::Image message_;
};

struct Service {
  sensor_msgs::Image request;
  std_msgs::Header response;
};
bool call(Service& service);
void print(const Service& service);

void messages_of_a_local_service_are_new() {
  Service service;
  service.request.encoding = "a";
  service.request.header.frame_id = "b";
  service.request.data.resize(3);
  service.request.encoding = "c";  // string
}

void a_service_of_each_turn_is_new() {
  while (choose()) {
    Service service;
    service.request.encoding = "a";
    Service second{};
    second.request.encoding = "a";
  }
}

void a_call_may_fill_a_local_service() {
  Service service;
  print(service);
  service.request.encoding = "a";
  call(service);
  service.response.frame_id = "b";  // string
}

void a_copied_service_has_contents(const Service& other, Service& caller) {
  Service service = other;
  service.request.encoding = "a";  // string
  Service copy = Service();
  copy.request.encoding = "b";
  caller.request.encoding = "c";  // string
}

void a_part_of_a_local_service_is_filled_by_itself() {
  Service service;
  fill(service.request);
  service.response.frame_id = "a";
  service.request.encoding = "b";  // string
}

void an_assigned_service_has_contents(const Service& other) {
  Service service;
  service = other;
  service.request.encoding = "a";  // string
}

void a_service_outside_of_the_function() {
  static Service service;
  service.request.encoding = "a";  // string
}

void a_message_of_std_make_shared_is_new() {
  auto img = std::make_shared<sensor_msgs::Image>();
  img->encoding = "a";
  (*img).data.resize(3);
  img->encoding = "b";  // string
}
