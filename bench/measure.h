// What all benchmarks share: the clock, order statistics, flags, and the line of
// key=value pairs in which a program tells tools/bench a figure.
#ifndef WEFT_BENCH_MEASURE_H_
#define WEFT_BENCH_MEASURE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::bench {

// Nanoseconds of the monotonic clock.
double Now();

// How often another process took this one's cpu from it.
uint64_t Preemptions();

// The value below which the fraction `q` of them lies; they are not empty.
double Quantile(std::vector<double> values, double q);
inline double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

// The compiler knows nothing of the value any more, nor that it is unused.
template <typename T>
inline T Opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}

// The value of --name=VALUE, if the flag was given.
std::optional<std::string> TextFlag(int argc, char** argv, std::string_view name);
// Ends the process with status 2 when the value is not a number above 0.
uint64_t NumberFlag(int argc, char** argv, std::string_view name, uint64_t otherwise);

struct Figure {
  std::string name;
  std::string unit;
  double value;
  double value_quartile;  // The favourable quartile of the values.
  std::string reference;
  double reference_value;
  double ratio;     // Ours to the reference: the median of the pairs, or as the README says.
  double quartile;  // The favourable quartile of the pairs' ratios, which bounds are held against.
};

// Prints it on standard output, in one line.
void Print(const Figure& figure);

// Times of blocks of work, ours and the reference's in pairs that ran one after the other.
struct Pairs {
  std::vector<double> ours;  // ns per operation
  std::vector<double> reference;
};

// The figure of the pairs as a time: lower is better.
Figure TimeFigure(std::string name, std::string reference, const Pairs& pairs);

// As a rate of `per_operation` units an operation and second: higher is better.
Figure RateFigure(std::string name, std::string unit, double per_operation, std::string reference,
                  const Pairs& pairs);

// Turns a time in ns into such a rate.
void ToRate(std::string unit, double per_operation, Figure& figure);

}  // namespace weft::bench
#endif  // WEFT_BENCH_MEASURE_H_
