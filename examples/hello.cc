// Each rank writes its number into the memory of its right neighbour.
//   weftrun -n 4 hello
#include <cstdio>

#include "weft/try.h"
#include "weft/weft.h"

absl::Status Hello(weft::World& world) {
  auto greeting = WEFT_TRY(weft::Symmetric<weft::Rank>::Create(world));
  weft::Rank right = (world.rank() + 1) % world.size();
  WEFT_TRY(weft::Put(greeting.at(right), world.rank()));
  WEFT_TRY(world.Barrier());
  std::printf("hello from rank %u of %u, greeted by rank %u\n", world.rank(), world.size(),
              greeting.mine()[0]);
  return absl::OkStatus();
}

int main() { return weft::Main(Hello); }
