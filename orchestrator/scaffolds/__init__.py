"""Scaffolds on the host: the git repository that keeps their revisions, and their static check.

`store` is the repository (lineages, candidates, verdicts, reverts), `trees` what a scaffold's
content hashes to, `export` the read-only copies a sandbox mounts, `check` what is refused before
anything is played. Nothing here imports a scaffold's code.
"""
