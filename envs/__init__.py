"""Games as text environments with exact seeds and a progression score.

`base` says what an environment is, `registry` makes one by its id, `errors` names what can go
wrong, and each family has a folder of its own. `determinism` checks the promise that everything
else rests on: the same seed and the same actions give the same stream, byte for byte. Nothing here
imports another room.
"""
