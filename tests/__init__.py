"""The tests, a package so that `tests.support` is ours whatever else is installed."""
