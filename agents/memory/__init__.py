"""Memory backends, which live on the host: how a scaffold remembers.

`base` says what a backend is; `files` keeps memory as named text files, reset every episode.
"""
