// A planted race: two threads add to one plain int.
#include <cstdio>
#include <thread>

int main() {
  int sum = 0;
  auto add = [&sum] {
    for (int i = 0; i < 1000; ++i) ++sum;
  };
  std::thread other(add);
  add();
  other.join();
  std::printf("%d\n", sum);
}
