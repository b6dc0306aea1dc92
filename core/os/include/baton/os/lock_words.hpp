// SPDX-License-Identifier: Apache-2.0
// Words that say which lock guards a field and which lock a function needs. clang compares them with every access (scripts/check_locks.py); no
// other compiler reads them, and they make no code. docs/concepts/locks.md says how to use them.
#pragma once

#if defined(__clang__)
#define BATON_LOCK_WORD(word) __attribute__((word))
#else
#define BATON_LOCK_WORD(word)
#endif

/// Before a class's name: its objects are locks.
#define BATON_LOCK_CLASS BATON_LOCK_WORD(capability("mutex"))
/// Before a class's name: its objects hold a lock from their constructor to their destructor.
#define BATON_LOCK_SCOPE BATON_LOCK_WORD(scoped_lockable)
/// After a field's or a variable's name: it is read and written with this lock only.
#define BATON_GUARDED_BY(lock) BATON_LOCK_WORD(guarded_by(lock))
/// After a function's parameters: the caller holds these locks.
#define BATON_REQUIRES(...) BATON_LOCK_WORD(requires_capability(__VA_ARGS__))
/// After a function's parameters: it returns with these locks held.
#define BATON_ACQUIRES(...) BATON_LOCK_WORD(acquire_capability(__VA_ARGS__))
/// After a function's parameters: it gives these locks back.
#define BATON_RELEASES(...) BATON_LOCK_WORD(release_capability(__VA_ARGS__))
/// After a function's parameters: it returns with the lock held if its result is the first of these.
#define BATON_TRY_ACQUIRES(...) BATON_LOCK_WORD(try_acquire_capability(__VA_ARGS__))
/// After a function's parameters: the caller does not hold these locks, since the function takes them.
#define BATON_EXCLUDES(...) BATON_LOCK_WORD(locks_excluded(__VA_ARGS__))
/// After a function's parameters: it returns a reference to this lock.
#define BATON_RETURNS_LOCK(lock) BATON_LOCK_WORD(lock_returned(lock))
/// After a function's parameters: the checker does not read its body. Say why.
#define BATON_UNCHECKED_LOCKS BATON_LOCK_WORD(no_thread_safety_analysis)
