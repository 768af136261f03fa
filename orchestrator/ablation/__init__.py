"""Hunk credit: what each part of an accepted revision contributes."""
