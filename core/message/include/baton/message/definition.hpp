// SPDX-License-Identifier: Apache-2.0
// Makes a Type from its canonical definition (docs/format/type-hash.md) at run time: for programs that meet types they
// were not built with, such as `baton echo`, recorders and the codec tests. The text may come from a peer and is
// untrusted.
//
// Thread rules: immutable after parse(); a Definition must outlive every use of its type().
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "baton/message/type.hpp"
#include "baton/os/result.hpp"

namespace baton::message {

class Definition {
 public:
  /// Lays out the type as docs/format/sfm.md says. `hash` is copied into every Type of the definition, since one text
  /// has one hash.
  /// Errors: malformed_message, naming the line; limits: 1 MiB of text, nesting 64 deep, a skeleton of at most 256 MiB.
  static Result<Definition> parse(std::string_view text, const TypeHash& hash = {});

  const Type& type() const noexcept;

  Definition(Definition&&) noexcept;
  Definition& operator=(Definition&&) noexcept;
  ~Definition();

 private:
  struct Storage;
  explicit Definition(std::unique_ptr<Storage> storage) noexcept;
  std::unique_ptr<Storage> storage_;
};

}  // namespace baton::message
