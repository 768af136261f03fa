"""Figures that anyone can measure again: ``python -m benchmarks`` runs all of them.

Each prints machine, versions and ratios against a named baseline of the same run.
"""
