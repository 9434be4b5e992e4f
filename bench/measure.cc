#include "bench/measure.h"

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace weft::bench {

double Now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

uint64_t Preemptions() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

std::optional<std::string> TextFlag(int argc, char** argv, std::string_view name) {
  const std::string prefix = "--" + std::string(name) + "=";
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with(prefix)) return argv[i] + prefix.size();
  }
  return std::nullopt;
}

uint64_t NumberFlag(int argc, char** argv, std::string_view name, uint64_t otherwise) {
  const std::optional<std::string> text = TextFlag(argc, argv, name);
  if (!text.has_value()) return otherwise;
  uint64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end || value == 0) {
    std::fprintf(stderr, "%s: --%s takes a whole number above 0, not '%s'\n", argv[0],
                 std::string(name).c_str(), text->c_str());
    std::exit(2);
  }
  return value;
}

void Print(const Figure& figure) {
  std::printf(
      "figure=%s value=%.10g unit=%s reference=%s ratio=%.10g quartile=%.10g "
      "value_quartile=%.10g reference_value=%.10g\n",
      figure.name.c_str(), figure.value, figure.unit.c_str(), figure.reference.c_str(),
      figure.ratio, figure.quartile, figure.value_quartile, figure.reference_value);
  std::fflush(stdout);
}

Figure TimeFigure(std::string name, std::string reference, const Pairs& pairs) {
  std::vector<double> ratios;
  for (size_t i = 0; i < pairs.ours.size(); ++i) {
    ratios.push_back(pairs.ours[i] / pairs.reference[i]);
  }
  return {.name = std::move(name),
          .unit = "ns",
          .value = Median(pairs.ours),
          .value_quartile = Quantile(pairs.ours, 0.25),
          .reference = std::move(reference),
          .reference_value = Median(pairs.reference),
          .ratio = Median(ratios),
          .quartile = Quantile(ratios, 0.25)};
}

Figure RateFigure(std::string name, std::string unit, double per_operation, std::string reference,
                  const Pairs& pairs) {
  Figure figure = TimeFigure(std::move(name), std::move(reference), pairs);
  ToRate(std::move(unit), per_operation, figure);
  return figure;
}

void ToRate(std::string unit, double per_operation, Figure& figure) {
  figure.unit = std::move(unit);
  for (double* const time : {&figure.value, &figure.value_quartile, &figure.reference_value}) {
    *time = per_operation * 1e9 / *time;
  }
  figure.ratio = 1 / figure.ratio;
  figure.quartile = 1 / figure.quartile;
}

}  // namespace weft::bench
