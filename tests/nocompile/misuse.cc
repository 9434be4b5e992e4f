// Misuse of the public API that the compiler refuses.
#include <string>
#include <vector>

#include "weft/weft.h"

void TakeIndex(weft::TeamIndex index);
void TakeRank(weft::Rank rank);

struct Owner {
  std::vector<int> values;
};
struct Plain {
  int value;
};

// MISUSE(rank_as_team_index): could not convert .* to .*TeamIndex
void Use(weft::Rank rank) { TakeIndex(rank); }
// CORRECTED
void Use(weft::Rank rank) { TakeIndex(weft::TeamIndex(rank)); }
// END

// MISUSE(team_index_as_rank): cannot convert .*TeamIndex.* to .*Rank
void Use(weft::TeamIndex index) { TakeRank(index); }
// CORRECTED
void Use(weft::TeamIndex index) { TakeRank(index.value()); }
// END

// MISUSE(rank_of_a_team_index): (could not|cannot) convert .* to .*TeamIndex
weft::Rank Use(const weft::Team& team, weft::Rank rank) { return team.rank(rank); }
// CORRECTED
weft::Rank Use(const weft::Team& team, weft::Rank rank) { return team.rank(weft::TeamIndex(rank)); }
// END

// MISUSE(pointer_to_a_type_with_a_destructor): only trivially copyable types
weft::RemotePtr<std::string> Use() { return weft::RemotePtr<std::string>(0, 0); }
// CORRECTED
weft::RemotePtr<Plain> Use() { return weft::RemotePtr<Plain>(0, 0); }
// END

// MISUSE(put_of_a_type_that_owns_memory): no matching function|constraints
absl::Status Use(weft::RemotePtr<Owner> to, const Owner& owner) { return weft::Put(to, owner); }
// CORRECTED
absl::Status Use(weft::RemotePtr<Plain> to, const Plain& plain) { return weft::Put(to, plain); }
// END

// MISUSE(symmetric_of_a_type_that_owns_memory): constraint
absl::Status Use(const weft::Team& team) {
  return weft::Symmetric<std::string>::Create(team, 1).status();
}
// CORRECTED
absl::Status Use(const weft::Team& team) {
  return weft::Symmetric<Plain>::Create(team, 1).status();
}
// END

// MISUSE(implicit_dereference): no match for .operator\*.
int Use(weft::RemotePtr<int> p) { return *p; }
// CORRECTED
absl::StatusOr<int> Use(weft::RemotePtr<int> p) { return weft::Get(p); }
// END

// MISUSE(member_access): base operand of .->.
int Use(weft::RemotePtr<Plain> p) { return p->value; }
// CORRECTED
absl::StatusOr<int> Use(weft::RemotePtr<Plain> p) {
  return weft::Get(p.As<int>(offsetof(Plain, value)));
}
// END

// MISUSE(subscript): no match for .operator\[\].
int Use(weft::RemotePtr<int> p) { return p[1]; }
// CORRECTED
absl::StatusOr<int> Use(weft::RemotePtr<int> p) { return weft::Get(p + 1); }
// END

// MISUSE(pointers_of_different_types): could not convert|cannot convert|conversion from
weft::RemotePtr<int> Use(weft::RemotePtr<long> p) { return p; }
// CORRECTED
weft::RemotePtr<int> Use(weft::RemotePtr<long> p) { return p.As<int>(); }
// END

// MISUSE(add_to_a_double): no matching function|constraints
void Use(weft::RemotePtr<double> p) { weft::PostAdd(p, 1.0); }
// CORRECTED
void Use(weft::RemotePtr<long> p) { weft::PostAdd(p, 1); }
// END

// MISUSE(atomic_of_a_byte): no matching function|constraints
void Use(weft::RemotePtr<char> p) { weft::PostAdd(p, 1); }
// CORRECTED
void Use(weft::RemotePtr<int> p) { weft::PostAdd(p, 1); }
// END

// MISUSE(discarded_status): ignoring return value|ignoring returned value
void Use(weft::RemotePtr<int> p) { weft::Put(p, 1); }
// CORRECTED
void Use(weft::RemotePtr<int> p) { weft::PostPut(p, 1); }
// END

// MISUSE(discarded_future): ignoring return value|ignoring returned value
void Use(weft::RemotePtr<int> p) { weft::AsyncPut(p, 1); }
// CORRECTED
absl::Status Use(weft::RemotePtr<int> p) { return weft::AsyncPut(p, 1).Wait(); }
// END

// MISUSE(copied_counter): use of deleted function
void Use(weft::NotificationCounter& counter) {
  weft::NotificationCounter copy = counter;
  (void)copy;
}
// CORRECTED
void Use(weft::NotificationCounter& counter) {
  weft::NotificationCounter moved = std::move(counter);
  (void)moved;
}
// END

// MISUSE(copied_world): use of deleted function
void Use(weft::World& world) {
  weft::World copy = world;
  (void)copy;
}
// CORRECTED
void Use(weft::World& world) {
  weft::World moved = std::move(world);
  (void)moved;
}
// END
