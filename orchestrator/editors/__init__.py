"""Who proposes revisions.

`base` says what an editor gets and returns; `rules` is the deterministic editor that picks one of
the known edits by what the behaviour metrics show.
"""
