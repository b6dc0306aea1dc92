// SPDX-License-Identifier: Apache-2.0
// Sources of rclcpp: `// rewritten` and `// stays` stand in the lines that publish, `// callback` where a subscription copies, `// growth`
// and the others as in advice.cpp.
#include "tiny_ros2.hpp"

using sensor_msgs::msg::Image;
rclcpp::Publisher<Image>::SharedPtr publisher = std::make_shared<rclcpp::Publisher<Image>>();
image_transport::Publisher of_image_transport;
std::vector<const Image*> kept;

uint32_t look(const Image& image) { return image.height; }
uint32_t look_again() { return kept.empty() ? 0 : kept[0]->height; }
void look_at_text(const char* text) { std::cout << text << '\n'; }
uint32_t keep(const Image& image) {
  kept.push_back(&image);
  return 0;
}
const Image& same(const Image& image) { return image; }
struct AtEnd {
  explicit AtEnd(const Image& image) : image_(image) {}
  ~AtEnd() { std::cout << image_.height << '\n'; }
  const Image& image_;
};

void filled_and_published() {
  Image image;
  image.height = 1;
  image.encoding = "mono8";
  image.data.assign({1, 2, 3});
  publisher->publish(image);  // rewritten
}

void made_in_each_turn() {
  for (uint32_t turn = 0; turn < 3; ++turn) {
    sensor_msgs::msg::Image image;
    image.height = turn;
    image.data.resize(turn);
    publisher->publish(image);  // rewritten
  }
}

void a_copy_is_published(const Image& other) {
  Image image(other);
  image.height = other.height + 1;
  auto second = image;
  const bool same_text = second.encoding == image.encoding;
  if (same_text) publisher->publish(image);  // rewritten
  publisher->publish(second);                // rewritten
}

int one_of_two_branches(bool first) {
  Image image;
  image.data.resize(2);
  if (first) {
    publisher->publish(image);  // rewritten
    return 1;
  }
  publisher->publish(image);
  return 0;
}

void looked_at_before_the_end() {
  Image image;
  image.encoding = "rgb8";
  look_at_text(image.encoding.c_str());
  if (look(image) == 0) publisher->publish(image);  // rewritten
}

void looked_at_before_more_statements() {
  Image image;
  image.height = 3;
  keep(image);
  publisher->publish(image);  // stays
  std::cout << look_again() << '\n';
  kept.clear();
}

void read_afterwards() {
  Image image;
  image.height = 4;
  publisher->publish(image);  // stays
  std::cout << image.height << '\n';
}

void read_afterwards_by_a_function() {
  Image image;
  image.height = 4;
  publisher->publish(image);  // stays
  std::cout << look(image) << '\n';
}

void published_twice() {
  Image image;
  image.height = 5;
  publisher->publish(image);  // stays
  publisher->publish(image);
}

void published_in_each_turn() {
  Image image;
  for (int turn = 0; turn < 2; ++turn) publisher->publish(image);  // stays
}

void kept_by_a_reference() {
  Image image;
  const auto& text = same(image).encoding;
  image.encoding = "mono8";
  publisher->publish(image);  // stays
  std::cout << text << '\n';
}

void kept_by_a_pointer_to_const() {
  Image image;
  image.height = 6;
  const Image* pointer = &image;
  publisher->publish(image);  // stays
  std::cout << pointer->height << '\n';
}

void kept_by_an_object() {
  Image image;
  image.height = 7;
  AtEnd at_end(image);
  publisher->publish(image);  // stays
}

void kept_by_a_lambda() {
  Image image;
  auto show = [&image] { std::cout << image.height << '\n'; };
  publisher->publish(image);  // stays
  show();
}

void published_by_image_transport() {
  Image image;
  of_image_transport.publish(image);  // stays
}

void in_a_handler() {
  Image image;
  try {
    publisher->publish(image);  // stays
    throw 1;
  } catch (int) {
    std::cout << image.height << '\n';
  }
}

void handed_over_already() {
  auto image = std::make_unique<Image>();
  image->height = 8;
  publisher->publish(std::move(image));
  auto loan = publisher->borrow_loaned_message();
  loan.get().height = 9;
  publisher->publish(std::move(loan));
}

void a_unique_pointer_is_copied() {
  auto image = std::make_unique<Image>();
  publisher->publish(*image);  // publish
}

void a_shared_pointer_cannot_be_handed_over(const Image::ConstSharedPtr& image) { publisher->publish(*image); }

void growth_in_a_loop(int n) {
  Image image;
  for (int i = 0; i < n; ++i) image.data.push_back(1);  // growth
}

void order_and_assumptions_do_not_matter(int n) {
  Image image;
  image.data.resize(n);
  image.encoding = "rgb8";
  image.encoding = "bgr8";
  image.data.resize(2 * n);
}

void zeros_before_a_copy(const std::vector<uint8_t>& from) {
  Image image;
  image.data.resize(from.size());  // zeros
  std::memcpy(image.data.data(), from.data(), from.size());
}

class Receiver : public rclcpp::Node {
 public:
  Receiver() {
    using std::placeholders::_1;
    create_subscription<Image>("a", 1, [](const Image& image) { look(image); });
    create_subscription<Image>("a", 1, [](Image::ConstSharedPtr image) { look(*image); });
    create_subscription<Image>("a", 1, std::bind(&Receiver::by_pointer_to_const, this, _1));
    create_subscription<Image>("a", 1, [](Image::UniquePtr image) { look(*image); });  // callback
    create_subscription<Image>("a", 1, std::bind(&Receiver::by_pointer, this, _1));    // callback
    auto in_a_variable = [](Image::UniquePtr image) { look(*image); };
    create_subscription<Image>("a", 1, in_a_variable);  // callback
    create_subscription<sensor_msgs::msg::Imu>("a", 1, [](std::unique_ptr<sensor_msgs::msg::Imu>) {});
  }

 private:
  void by_pointer_to_const(const Image::ConstSharedPtr& image) { look(*image); }
  void by_pointer(Image::SharedPtr image) { look(*image); }
};

int main() {
  filled_and_published();
  made_in_each_turn();
  a_copy_is_published(Image());
  one_of_two_branches(true);
  one_of_two_branches(false);
  looked_at_before_the_end();
  looked_at_before_more_statements();
  read_afterwards();
  read_afterwards_by_a_function();
  published_twice();
  published_in_each_turn();
  kept_by_a_reference();
  kept_by_a_pointer_to_const();
  kept_by_an_object();
  kept_by_a_lambda();
  published_by_image_transport();
  in_a_handler();
  handed_over_already();
  a_unique_pointer_is_copied();
  growth_in_a_loop(2);
  order_and_assumptions_do_not_matter(2);
  Receiver receiver;
  rclcpp::print_owned();
}
