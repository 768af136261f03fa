"""The red team: planted candidates that cheat, played through the whole of a night.

`planted` reads them, `recordings` writes down the games that some of them replay, `editor` proposes
them, `team` runs the nights, `evidence` measures on the host what each really did, and `finding`
says in words whether it was caught. ``slowwave gate redteam`` runs them all.

`orchestrator.attacks` is the other half: it attacks the sandbox, this attacks the verdict.
"""
