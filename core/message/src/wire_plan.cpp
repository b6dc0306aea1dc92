// SPDX-License-Identifier: Apache-2.0
#include "wire_plan.hpp"

#include <cstring>
#include <map>

#include "baton/message/builder.hpp"

namespace baton::message::wire {

namespace {

bool is_header_seq(const Type& type, const Field& field) {
  return std::strcmp(type.name, "std_msgs/Header") == 0 && std::strcmp(field.name, "seq") == 0;
}

constexpr std::size_t kMaxSteps = 100'000;

class Compiler {
 public:
  explicit Compiler(Program& program) : program_(program) {}

  Result<void> run() {
    auto plan = plan_of(*program_.type, "");
    if (!plan) return plan.error();
    return {};
  }

 private:
  bool aligned() const { return program_.format == Format::kCdr; }

  /// Each field costs a name, so this limit stops a definition with absurd nesting.
  bool too_complex() const { return program_.names.size() > kMaxSteps; }

  std::uint32_t name(const std::string& path) {
    program_.names.push_back(path);
    return static_cast<std::uint32_t>(program_.names.size() - 1);
  }

  std::uint32_t new_plan() {
    program_.plans.emplace_back();
    return static_cast<std::uint32_t>(program_.plans.size() - 1);
  }

  /// `outer` is the path from the message to the element, for errors: "rows[].".
  Result<std::uint32_t> plan_of(const Type& type, const std::string& outer) {
    // Control programs number the data elements by their path, so there each path has a plan of its own.
    const bool shared = program_.format != Format::kControl;
    if (auto known = known_.find(&type); shared && known != known_.end()) return known->second;
    const std::uint32_t index = new_plan();
    if (shared) known_.emplace(&type, index);
    WirePlan plan;
    const std::string before = std::exchange(outer_, outer);
    auto done = add_fields(plan, type, 0, "");
    outer_ = before;
    if (!done) return done.error();
    program_.plans[index] = std::move(plan);
    return index;
  }

  Result<std::uint32_t> plan_of_element(const Field& field, const std::string& path) {
    if (field.kind == Kind::kMessage) return plan_of(*field.type, outer_ + path + "[].");
    Field element = field;
    element.shape = Shape::kSingle;
    element.count = 0;
    element.offset = 0;
    const std::uint32_t index = new_plan();
    WirePlan plan;
    if (auto done = add_single(plan, element, 0, path); !done) return done.error();
    // An element is called by its index alone: "names[3]".
    for (Op& op : plan.ops) op.name = name("");
    program_.plans[index] = std::move(plan);
    return index;
  }

  Result<void> add_fields(WirePlan& plan, const Type& type, std::uint32_t base, const std::string& prefix) {
    if (type.field_count == 0) {
      name("");
      // rosidl gives an empty message one dummy byte; ROS 1 sends nothing; the SFM skeleton has one reserved byte.
      if (program_.format == Format::kCdr) {
        Op op{Op::Code::kDummyByte};
        op.offset = base;
        op.name = name(prefix.empty() ? prefix : prefix.substr(0, prefix.size() - 1));
        plan.ops.push_back(op);
        plan.least_bytes += 1;
      }
      return {};
    }
    for (std::uint32_t i = 0; i < type.field_count; ++i) {
      const Field& field = type.fields[i];
      if (too_complex())
        return Error{Errc::limit_reached, std::string(program_.type->name) +
                                              ": the type has more than 100000 fields, counted through nesting"};
      if (aligned() && is_header_seq(type, field)) continue;
      const std::string path = prefix + field.name;
      Result<void> done;
      switch (field.shape) {
        case Shape::kSingle:
          done = add_single(plan, field, base, path);
          break;
        case Shape::kArray:
          done = add_array(plan, field, base, path);
          break;
        case Shape::kSequence:
          done = add_sequence(plan, field, base, path);
          break;
      }
      if (!done) return done;
    }
    return {};
  }

  Result<void> add_single(WirePlan& plan, const Field& field, std::uint32_t base, const std::string& path) {
    Op op{};
    op.offset = base + field.offset;
    switch (field.kind) {
      case Kind::kMessage:
        return add_fields(plan, *field.type, op.offset, path + ".");
      case Kind::kString:
        op.code = Op::Code::kString;
        op.count = field.string_bound;
        plan.least_bytes += aligned() ? 5 : 4;
        break;
      case Kind::kWString:
        if (program_.format == Format::kRos1)
          return Error{Errc::unsupported, std::string(program_.type->name) + ": field '" + outer_ + path +
                                              "' is a wstring, which ROS 1 does not have; use a string, or CDR"};
        op.code = Op::Code::kWString;
        op.count = field.string_bound;
        plan.least_bytes += 4;
        break;
      case Kind::kBool:
        add_bools(plan, op.offset, 1, path);
        return {};
      default:
        add_scalars(plan, op.offset, element_layout(field).size, element_layout(field).size, path);
        return {};
    }
    op.name = name(path);
    plan.ops.push_back(op);
    return {};
  }

  void add_bools(WirePlan& plan, std::uint32_t offset, std::uint32_t count, const std::string& path) {
    plan.least_bytes += count;
    Op op{Op::Code::kBools};
    op.offset = offset;
    op.count = count;
    op.name = name(path);
    plan.ops.push_back(op);
  }

  /// Adds `bytes` of scalars whose widest (and first) has size `width`, as a run of their own or joined to the previous
  /// run.
  void add_scalars(WirePlan& plan, std::uint32_t offset, std::uint32_t width, std::uint32_t bytes,
                   const std::string& path) {
    if (bytes == 0) return;
    plan.least_bytes += bytes;
    const std::uint32_t name_index = name(path);
    if (!plan.ops.empty() && plan.ops.back().code == Op::Code::kScalars) {
      Op& run = plan.ops.back();
      const bool contiguous = run.offset + run.count == offset;
      const bool swappable = !program_.swap || run.width == width;
      const bool stays_aligned = !aligned() || (width <= run.width && run.count % width == 0);
      if (contiguous && swappable && stays_aligned) {
        program_.runs[run.plan].emplace_back(run.count, name_index);
        run.count += bytes;
        return;
      }
    }
    Op op{Op::Code::kScalars};
    op.offset = offset;
    op.count = bytes;
    op.width = static_cast<std::uint8_t>(width);
    op.name = name_index;
    op.plan = static_cast<std::uint32_t>(program_.runs.size());  // a run uses `plan` as its index into Program::runs
    program_.runs.push_back({{0U, name_index}});
    plan.ops.push_back(op);
  }

  bool dense(const WirePlan& element, std::uint32_t stride) const {
    return element.ops.size() == 1 && element.ops[0].code == Op::Code::kScalars && element.ops[0].offset == 0 &&
           element.ops[0].count == stride;
  }

  static bool one_bool(const WirePlan& element, std::uint32_t stride) {
    return stride == 1 && element.ops.size() == 1 && element.ops[0].code == Op::Code::kBools;
  }

  Result<void> add_array(WirePlan& plan, const Field& field, std::uint32_t base, const std::string& path) {
    if (field.count == 0) return {};
    const std::uint32_t offset = base + field.offset;
    const ElementLayout layout = element_layout(field);
    // Everything in a fixed array is control (TZC Fig. 4, line 3).
    ++in_array_;
    auto element = plan_of_element(field, path);
    --in_array_;
    if (!element) return element.error();
    const WirePlan& inner = program_.plans[*element];
    if (dense(inner, layout.size)) {
      add_scalars(plan, offset, inner.ops[0].width, field.count * layout.size, path);
      return {};
    }
    if (one_bool(inner, layout.size)) {
      add_bools(plan, offset, field.count, path);
      return {};
    }
    plan.least_bytes += field.count * inner.least_bytes;
    Op op{Op::Code::kArray};
    op.offset = offset;
    op.count = field.count;
    op.stride = layout.size;
    op.plan = *element;
    op.name = name(path);
    plan.ops.push_back(op);
    return {};
  }

  Result<void> add_sequence(WirePlan& plan, const Field& field, std::uint32_t base, const std::string& path) {
    const bool data = !element_has_contents(field) && in_array_ == 0;
    const std::uint32_t data_element = data ? program_.data_elements++ : 0;
    auto element = plan_of_element(field, path);
    if (!element) return element.error();
    const WirePlan& inner = program_.plans[*element];
    const ElementLayout layout = element_layout(field);
    Op op{Op::Code::kSequence};
    op.offset = base + field.offset;
    op.count = field.count;
    op.stride = layout.size;
    op.alignment = layout.alignment;
    op.plan = *element;
    op.dense = dense(inner, layout.size);
    if (op.dense) op.width = inner.ops[0].width;
    op.bools = one_bool(inner, layout.size);
    op.name = name(path);
    op.data = data;
    op.element = data_element;
    plan.least_bytes += 4;
    plan.ops.push_back(op);
    return {};
  }

  Program& program_;
  std::string outer_;
  int in_array_ = 0;
  std::map<const Type*, std::uint32_t> known_;
};

}  // namespace

Result<Program> compile_program(const Type& type, Format format, bool swap) {
  Program program;
  program.type = &type;
  program.format = format;
  program.swap = swap;
  if (auto done = Compiler(program).run(); !done) return done.error();
  return program;
}

}  // namespace baton::message::wire
