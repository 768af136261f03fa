"""The agent: what runs in the sandbox, and what both sides share.

`runner` and `loop` run in the sandbox and read a scaffold through `scaffold`; `messages` and
`grammar` are shared by both sides; `manifest` and `memory` run on the host. Nothing here imports
another room, so that the sandbox carries little: the standard library and Jinja2.
"""
