"""The version of what is installed."""

# Also the end of the library's SONAME: what the headers inline reaches into the runtime, so
# programs run with the version that they were built with.
VERSION = "0.1"
