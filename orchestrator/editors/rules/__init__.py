"""The `rules` editor: a catalogue of known edits, chosen by diagnosed metrics.

`catalogue` reads the edits, which are folders of data beside the seed scaffolds; `editor` picks.
"""
