#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types that the compiler must refuse in a shared heap, with the reason that it must give; and types that it must accept.

Usage: refused_types.py --compiler <c++> <include dir>...
"""

import re
import sys

import refusals

PROLOGUE = """
#include <boost/container/vector.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include "baton/objects/guarded.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/latest.hpp"
#include "baton/objects/shared_ptr.hpp"
namespace bs = baton::objects;
struct Plain { int x; double y[3]; };
struct Virtual { virtual void f(); int x; };
struct Owner { std::string text; };
struct Node { bs::stored<bs::shared_ptr<Node>> next; };
struct Held { int x; bs::shared_ptr<Node> next; };
template <> struct bs::declared_shareable<Node> : bs::recoverable {};
struct Busy { ~Busy(); int x; };
template <> struct bs::declared_shareable<Busy> : std::true_type {};
template <> struct bs::declared_shareable<Held> : bs::recoverable {};
struct Pointing { double y[3]; const char* name; };
struct Function { int x; void (*f)(); };
struct Inside { int x; Pointing* pointing[2]; };
struct Viewing { int x; std::string_view name; };
struct Locking { int x; std::mutex lock; };
struct Swapping { std::atomic<int> y; std::atomic<int*> x; };
struct Counting { std::atomic<int> x; std::atomic<bool> y; double z; };
template <class T> using Vector = boost::container::vector<T, bs::allocator<T>>;
struct Table { explicit Table(const bs::allocator<std::byte>&) {} };
"""

# a statement, words of the compiler's reason (empty: it must compile)
CASES = [
    ("(void)bs::make_shared<Plain>(heap);", ""),
    ("(void)bs::make_shared<Node>(heap);", ""),
    ("(void)bs::make_shared<Busy>(heap);", ""),
    ("(void)bs::make_shared<bs::queue<bs::unique_ptr<Node>, 4>>(heap);", ""),
    ("(void)bs::make_shared<bs::Latest<Plain>>(heap);", ""),
    ("(void)bs::make_shared<int*>(heap);", "a pointer is an address"),
    ("(void)bs::make_shared<Pointing>(heap);", "a member is a pointer"),
    ("(void)bs::make_shared<Function>(heap);", "a member is a pointer"),
    ("(void)heap.construct<Inside>();", "a member is a pointer"),
    ("(void)bs::make_shared<bs::queue<Pointing, 4>>(heap);", "a member is a pointer"),
    ("(void)bs::make_shared<Held>(heap);", "a member is a smart pointer of one process"),
    ("(void)bs::make_shared<bs::shared_ptr<int>>(heap);", "in shared memory it is stored<shared_ptr<T>>"),
    ("(void)bs::make_shared<bs::stored<bs::weak_ptr<int>>>(heap);", ""),
    ("(void)bs::make_shared<bs::guarded<Table>>(heap);", ""),
    ("(void)bs::make_shared<bs::guarded<Plain>>(heap);", "constructed from its allocator"),
    ("bs::stored<bs::unique_ptr<Node>> a; bs::stored<bs::unique_ptr<Node>> b = a;", "deleted"),
    ("(void)bs::make_unique<int Plain::*>(heap);", "a pointer is an address"),
    ("(void)heap.construct<Virtual>();", "virtual functions"),
    ("(void)bs::make_shared<Owner>(heap);", "a destructor says that the type owns something"),
    ("(void)bs::make_shared<std::shared_ptr<int>>(heap);", "a destructor says that the type owns something"),
    ("(void)bs::make_shared<bs::queue<int*, 4>>(heap);", "a pointer is an address"),
    ("(void)bs::make_shared<bs::queue<Busy, 4>>(heap);", "declared recoverable"),
    ("(void)bs::make_shared<bs::Latest<Node>>(heap);", "copied as bytes"),
    ("bs::unique_ptr<Node> a; bs::unique_ptr<Node> b = a;", "deleted"),
    ("(void)bs::make_shared<Counting>(heap);", ""),
    ("(void)bs::make_shared<std::string_view>(heap);", "this holds an address"),
    ("(void)bs::make_shared<Viewing>(heap);", "this holds an address"),
    ("(void)bs::make_shared<std::atomic<int*>>(heap);", "this holds an address"),
    ("(void)bs::make_shared<Swapping>(heap);", "this holds an address"),
    ("(void)bs::make_shared<std::mutex>(heap);", "use that of baton::objects"),
    ("(void)bs::make_shared<Locking>(heap);", "use that of baton::objects"),
    ("Vector<int> v(heap); v.push_back(1);", ""),
    ("Vector<bs::stored<bs::shared_ptr<int>>> v(heap); v.emplace_back();", ""),
    ("Vector<Vector<int>> v(heap); v.emplace_back(heap);", ""),
    ("Vector<int*> v(heap); v.push_back(nullptr);", "a pointer is an address"),
    ("Vector<bs::shared_ptr<int>> v(heap); v.emplace_back();", "in shared memory it is stored<shared_ptr<T>>"),
    ("Vector<std::string> v(heap); v.emplace_back();", "memory is private to one process"),
    ("bs::shared_ptr<void> p;", "knows its object's type"),
]


if __name__ == "__main__":
    uses = [
        (f"void use(bs::Heap& heap) {{ (void)heap;\n{statement}\n}}\n", re.escape(reason))
        for statement, reason in CASES
    ]
    sys.exit(refusals.check(PROLOGUE, uses))
