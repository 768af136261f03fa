"""The gate: whether a revision is better, decided so that a night rarely keeps one that is not.

`rules` holds the acceptance rules as pure state machines, `signflip` their test, `evidence` and
`verdict` what goes in and comes out, `trial` the one driver that production and `simulate` share,
`banks` the seeds, `budget` the error budget; `simulate`, `power` and `calibrate` say what a
configured rule does before anything is spent on it.
"""
