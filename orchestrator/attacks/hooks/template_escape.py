"""Nothing in code; the prompt reaches for Python's insides. See the catalog for its text."""
