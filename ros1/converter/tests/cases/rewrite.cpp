// SPDX-License-Identifier: Apache-2.0
// Messages on the stack: `// rewritten` and `// stays` stand in the lines that publish. ../escapes.py has the ways to change one of them afterwards;
// the rest is below.
#include <array>

#include "tiny_ros.hpp"

ros::Publisher publisher;
unsigned look(const sensor_msgs::Image& img) { return img.height; }

void filled_and_published() {
  sensor_msgs::Image img;
  img.encoding = "plain";
  img.data.resize(3);
  std::memcpy(&img.data[0], "abc", 3);
  std::fill(img.data.begin(), img.data.end(), 7);
  publisher.publish(img);  // rewritten
}

void made_in_each_turn() {
  for (int i = 0; i < 3; ++i) {
    sensor_msgs::Image img;
    img.height = i;
    publisher.publish(img);  // rewritten
  }
}

void a_copy_of_another(const sensor_msgs::Image& other) {
  sensor_msgs::Image img = other;
  img.height = 4;
  auto second = img;
  second.height = 5;
  publisher.publish(img);     // rewritten
  publisher.publish(second);  // rewritten
}

void read_after_publish() {
  sensor_msgs::Image img;
  img.height = 6;
  publisher.publish(img);  // rewritten
  if (look(img) == 6) publisher.publish(img);
  std::string text = img.encoding + std::to_string(img.data.size());
  const auto& same = img;
  look(same);
}

void a_reference_is_the_message() {
  sensor_msgs::Image img;
  auto& header = img.header;
  header.frame_id = "reference";
  for (auto& byte : img.data) byte = 1;
  publisher.publish(img);  // rewritten
}

void published_by_another_name() {
  sensor_msgs::Image img;
  const auto& same = img;
  publisher.publish(same);  // stays
}

void changed_in_the_next_turn() {
  sensor_msgs::Image img;
  for (int i = 0; i < 3; ++i) {
    img.height = i;
    publisher.publish(img);  // stays
  }
}

void perhaps_published_then_changed(bool now) {
  sensor_msgs::Image img;
  if (now) publisher.publish(img);  // stays
  img.data.resize(2);
  publisher.publish(img);
}

sensor_msgs::Image returned() {
  sensor_msgs::Image img;
  publisher.publish(img);  // stays
  return img;
}

void behind_a_choice(bool first) {
  sensor_msgs::Image img, other;
  sensor_msgs::Image last;
  other.data.resize(1);
  last.data.resize(1);
  publisher.publish(last);  // stays
  for (auto& byte : first ? last.data : other.data) byte = 5;
}

void in_a_handler() {
  sensor_msgs::Image img;
  try {
    publisher.publish(img);  // stays
    throw 1;
  } catch (int) {
    img.height = 3;
  }
}

void behind_a_structured_binding() {
  sensor_msgs::Image img;
  auto& [header, height, width, encoding, data] = img;
  publisher.publish(img);  // stays
  height = 3;
  sensor_msgs::Image other;
  for (auto& [bytes, number] : std::vector<std::pair<std::vector<uint8_t>*, int>>{{&other.data, 1}}) {
    publisher.publish(other);  // stays
    bytes->push_back(static_cast<uint8_t>(number));
  }
}

void behind_a_pointer_to_a_member() {
  sensor_msgs::Image img;
  uint32_t sensor_msgs::Image::*member = &sensor_msgs::Image::height;
  publisher.publish(img);  // stays
  img.*member = 3;
  sensor_msgs::Image other;
  auto& height = other.*member;
  publisher.publish(other);  // stays
  height = 3;
}

void in_the_head_of_a_loop() {
  for (sensor_msgs::Image img; img.height < 1; img.height = 3) {
    publisher.publish(img);
  }
}

void of_another_form() {
  const sensor_msgs::Image constant;
  publisher.publish(constant);  // stays
  sensor_msgs::Image img;
  decltype(img) copy;
  publisher.publish(img);  // stays
  copy.height = 1;
}

#define MESSAGE(name) sensor_msgs::Image name;
void made_by_a_macro() {
  MESSAGE(img)
  publisher.publish(img);  // stays
}

template <class T>
void in_a_template_that_does_not_matter() {
  sensor_msgs::Image img;
  img.height = 1;
  publisher.publish(img);  // rewritten
}

template <class T>
void in_a_template_with_a_parameter_of_its_own(T value) {
  sensor_msgs::Image img;
  publisher.publish(img);  // stays
  img.height = value;
}

struct Changes {
  std::vector<uint8_t>* kept = nullptr;
};
void operator<<(Changes& changes, std::vector<uint8_t>& data) { changes.kept = &data; }
template <class T>
void in_a_template_with_an_operator(T& changes) {
  sensor_msgs::Image img;
  changes << img.data;
  publisher.publish(img);  // stays
  changes.kept->push_back(9);
}

template <class T>
struct TalksByTemplate {
  ros::Publisher publisher;
  std::vector<T> values;
  void with_known_types() {
    sensor_msgs::Image img;
    publisher.publish(img);  // rewritten
  }
  void with_values() {
    sensor_msgs::Image img;
    publisher.publish(img);  // stays
    img.data.assign(values.begin(), values.end());
  }
};

void one_declaration_of_several() {
  sensor_msgs::Image first, second, third;
  first.height = 1;
  third.height = 3;
  publisher.publish(first);   // rewritten
  publisher.publish(second);  // stays
  second.height = 2;
  publisher.publish(third);  // rewritten
}

void one_declaration_of_several_with_values(const sensor_msgs::Image& other) {
  sensor_msgs::Image first, copy(other), same = first;
  same.height = 7;
  publisher.publish(copy);  // rewritten
  publisher.publish(same);  // rewritten
}

void one_declaration_with_a_pointer() {
  sensor_msgs::Image img, *pointer = &img;
  publisher.publish(img);  // stays
  pointer->height = 3;
}

void held_by_a_pointer() {
  boost::shared_ptr<sensor_msgs::Image> held(new sensor_msgs::Image);
  sensor_msgs::Image& img = *held;
  img.height = 3;
  publisher.publish(img);  // rewritten
}

void held_by_a_pointer_of_the_standard_library() {
  std::shared_ptr<sensor_msgs::Image> held(new sensor_msgs::Image);
  sensor_msgs::Image& img = *held;
  img.height = 3;
  publisher.publish(img);  // rewritten
  auto made = std::make_shared<sensor_msgs::Image>();
  made->height = 4;
  publisher.publish(*made);  // rewritten
}

void held_and_changed() {
  sensor_msgs::ImagePtr held = boost::make_shared<sensor_msgs::Image>();
  for (int i = 0; i < 2; ++i) {
    held->height = i;
    publisher.publish(*held);  // stays
  }
}

void held_and_changed_by_another_name() {
  boost::shared_ptr<sensor_msgs::Image> held(new sensor_msgs::Image);
  sensor_msgs::Image& img = *held;
  publisher.publish(*held);  // stays
  img.height = 3;
}

void held_by_two_pointers() {
  boost::shared_ptr<sensor_msgs::Image> held(new sensor_msgs::Image);
  auto other = held;
  publisher.publish(*held);  // stays
  other->height = 3;
}

void held_and_then_another() {
  boost::shared_ptr<sensor_msgs::Image> held(new sensor_msgs::Image);
  sensor_msgs::Image& img = *held;
  img.height = 5;
  auto keeps = held;
  held.reset(new sensor_msgs::Image);
  publisher.publish(img);  // stays
}

void held_behind_another_of_the_same_name() {
  boost::shared_ptr<sensor_msgs::Image> held(new sensor_msgs::Image);
  sensor_msgs::Image& img = *held;
  {
    int held = 3;
    img.height = held;
    publisher.publish(img);  // stays
  }
}

void with_the_type_written_out() {
  sensor_msgs::Image img;
  publisher.publish<sensor_msgs::Image>(img);  // stays
}

namespace sensor_msgs {
void fillImage(Image& img, uint32_t height) { img.height = height; }
}  // namespace sensor_msgs
namespace other {
std::vector<sensor_msgs::Image*> filled;
void fillImage(sensor_msgs::Image& img, uint32_t height) {
  img.height = height;
  filled.push_back(&img);
}
}  // namespace other
void filled_by_a_function_of_ros() {
  sensor_msgs::Image img;
  sensor_msgs::fillImage(img, 3);
  publisher.publish(img);  // rewritten
}

void filled_by_a_function_of_the_same_name() {
  sensor_msgs::Image img;
  other::fillImage(img, 3);
  publisher.publish(img);  // stays
  other::filled[0]->height = 4;
}

void filled_again_by_a_function_of_ros() {
  sensor_msgs::Image img;
  publisher.publish(img);  // stays
  sensor_msgs::fillImage(img, 3);
}

#define ASSERT(condition) \
  if (!(condition)) __asm__("int $3")
void with_an_assertion_of_ros() {
  sensor_msgs::Image img;
  ASSERT(img.data.empty());
  publisher.publish(img);  // rewritten
}

#define CHANGE(number) __asm__("addl $3, %0" : "+m"(number))
void changed_by_assembler() {
  sensor_msgs::Image img;
  publisher.publish(img);  // stays
  CHANGE(img.height);
}

void elements_of_an_array() {
  sensor_msgs::Image images[2];
  images[0].height = 1;
  images[1].data.resize(3);
  std::fill(images[1].data.begin(), images[1].data.end(), 7);
  publisher.publish(images[0]);  // rewritten
  images[1].height = look(images[0]) + 1;
  publisher.publish(images[1]);
}

void elements_of_a_vector(std::size_t count) {
  std::vector<sensor_msgs::Image> images(count);
  for (std::size_t i = 0; i < images.size(); ++i) images[i].height = 10 + i;
  auto& last = images[images.size() - 1];
  last.encoding = "last";
  images[0] = images[1];
  for (std::size_t i = 0; i < images.size(); ++i) publisher.publish(images[i]);  // rewritten
}

void elements_of_an_array_of_the_standard_library() {
  std::array<sensor_msgs::Image, 2> images;
  images[0].height = 1;
  publisher.publish(images[0]);  // rewritten
}

void an_array_in_each_turn() {
  for (int turn = 0; turn < 2; ++turn) {
    sensor_msgs::Image images[2];
    images[1].height = 20 + turn;
    publisher.publish(images[1]);  // rewritten
  }
}

void an_element_is_changed_after_publish() {
  sensor_msgs::Image images[2];
  publisher.publish(images[1]);  // stays
  images[1].height = 3;
}

void an_element_is_changed_in_the_next_turn() {
  sensor_msgs::Image images[2];
  for (int i = 0; i < 4; ++i) {
    images[i % 2].height = i;
    publisher.publish(images[i % 2]);  // stays
  }
}

void an_element_is_changed_by_another_name() {
  sensor_msgs::Image images[2];
  auto& last = images[1];
  publisher.publish(images[1]);  // stays
  last.height = 3;
}

void an_element_is_changed_by_a_pointer() {
  sensor_msgs::Image images[2];
  auto* last = &images[1];
  publisher.publish(images[1]);  // stays
  last->height = 3;
}

void an_array_is_used_as_a_whole() {
  sensor_msgs::Image images[2];
  for (auto& img : images) img.height = 3;
  sensor_msgs::Image* first = images;
  publisher.publish(images[1]);  // stays
  first[1].height = 4;
}

void elements_by_the_names_of_a_loop() {
  std::vector<sensor_msgs::Image> images(2);
  for (auto& img : images) publisher.publish(img);  // stays
}

void an_array_that_grows() {
  std::vector<sensor_msgs::Image> images(1);
  images.resize(2);
  publisher.publish(images[1]);  // stays
}

void an_array_that_is_a_copy(const std::vector<sensor_msgs::Image>& other) {
  std::vector<sensor_msgs::Image> images(other);
  publisher.publish(images[0]);  // stays
}

void an_array_with_an_octal_index() {
  sensor_msgs::Image images[12];
  publisher.publish(images[010]);  // stays
  images[8].height = 3;
}

void an_array_of_copies(const sensor_msgs::Image& other) {
  std::vector<sensor_msgs::Image> images(2, other);
  publisher.publish(images[0]);  // stays
}

void two_arrays_in_one_declaration() {
  std::vector<sensor_msgs::Image> images(2), others(3);
  publisher.publish(images[0]);  // stays
  others[0].height = 3;
}

void an_array_behind_a_return(bool now) {
  sensor_msgs::Image images[1];
  publisher.publish(images[0]);  // stays
  return;
  images[0].height = 1;
}

void an_array_with_values(const sensor_msgs::Image& other) {
  sensor_msgs::Image images[2] = {other, other};
  publisher.publish(images[0]);  // stays
}

void an_array_in_a_lambda() {
  sensor_msgs::Image images[1];
  auto change = [&] { images[0].height = 3; };
  publisher.publish(images[0]);  // stays
  change();
}

#define FIRST(array) array[0]
void an_element_by_a_macro() {
  sensor_msgs::Image images[1];
  FIRST(images).height = 3;
  publisher.publish(images[0]);  // stays
}

int main() {
  filled_and_published();
  made_in_each_turn();
  a_copy_of_another(sensor_msgs::Image());
  read_after_publish();
  a_reference_is_the_message();
  published_by_another_name();
  changed_in_the_next_turn();
  perhaps_published_then_changed(true);
  returned();
  behind_a_choice(true);
  in_a_handler();
  behind_a_structured_binding();
  behind_a_pointer_to_a_member();
  in_the_head_of_a_loop();
  of_another_form();
  made_by_a_macro();
  in_a_template_that_does_not_matter<int>();
  in_a_template_with_a_parameter_of_its_own(3);
  Changes changes;
  in_a_template_with_an_operator(changes);
  TalksByTemplate<int> talks;
  talks.with_known_types();
  talks.values.resize(2);
  talks.with_values();
  one_declaration_of_several();
  one_declaration_of_several_with_values(sensor_msgs::Image());
  one_declaration_with_a_pointer();
  held_by_a_pointer();
  held_by_a_pointer_of_the_standard_library();
  held_and_changed();
  held_and_changed_by_another_name();
  held_by_two_pointers();
  held_and_then_another();
  held_behind_another_of_the_same_name();
  with_the_type_written_out();
  filled_by_a_function_of_ros();
  filled_by_a_function_of_the_same_name();
  filled_again_by_a_function_of_ros();
  with_an_assertion_of_ros();
  changed_by_assembler();
  elements_of_an_array();
  elements_of_a_vector(2);
  elements_of_an_array_of_the_standard_library();
  an_array_in_each_turn();
  an_element_is_changed_after_publish();
  an_element_is_changed_in_the_next_turn();
  an_element_is_changed_by_another_name();
  an_element_is_changed_by_a_pointer();
  an_array_is_used_as_a_whole();
  elements_by_the_names_of_a_loop();
  an_array_that_grows();
  an_array_that_is_a_copy(std::vector<sensor_msgs::Image>(1));
  an_array_behind_a_return(true);
  an_array_with_values(sensor_msgs::Image());
  an_array_in_a_lambda();
  an_element_by_a_macro();
  ros::print_published();
}
