"""The host side: everything that is trusted.

Open `night` first: it says what a night does, in prose. `episodes` plays and records one game,
`sandbox` holds the untrusted half, `models` is the one way to a language model, `scaffolds` keeps
revisions in git, `editors` propose them, `gate` judges them, `report` shows them and `cli` is how
people reach all of it.
"""
