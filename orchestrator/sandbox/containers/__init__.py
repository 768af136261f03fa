"""The ``docker`` sandbox: a container per episode, on the official SDK.

`daemon` finds the engine, `image` makes what containers start from, `wheels` brings the little that
it needs from outside, `container` is one episode's room with its wire, `reaper` takes away what
killed hosts left behind; `sandbox` puts them together.
"""
