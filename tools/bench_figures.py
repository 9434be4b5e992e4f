"""Figures of tools/bench: dicts of what their lines say, and whether they reach their bounds."""
import sys

NUMBERS = ("value", "ratio", "quartile", "value_quartile", "reference_value", "difference",
           "same", "more")
# Where a bound is held against the favourable quartile.
QUARTILES = {"value": "value_quartile", "ratio": "quartile"}


class BenchError(Exception):
    """A program failed, or said what was not expected."""


def say(text):
    print("tools/bench: " + text, file=sys.stderr, flush=True)


def pairs_of(line):
    """The key=value pairs of a line as a dict."""
    return dict(word.split("=", 1) for word in line.split() if "=" in word)


def rounded(figure):
    """The figure with its numbers as numbers, of four digits."""
    for key in figure.keys() & NUMBERS:
        figure[key] = float("%.4g" % float(figure[key]))
    return figure


def judged(figure, bounds):
    """The rounded figure with its bounds [(what, sign, number)], and whether they are met."""
    rounded(figure)
    met = True
    for what, sign, bound in bounds:
        held = figure.get(QUARTILES.get(what), figure[what])
        met &= held <= bound if sign == "<=" else held >= bound
    figure["bound"] = ",".join("%s%s%g" % bound for bound in bounds)
    figure["met"] = "yes" if met else "no"
    return figure


def line(figure):
    first = [key for key in ("figure", "value", "unit", "reference", "ratio") if key in figure]
    keys = [*first, *(key for key in figure if key not in first)]
    return " ".join("%s=%s" % (key, ("%.10g" % figure[key] if isinstance(figure[key], float)
                                     else figure[key])) for key in keys)
