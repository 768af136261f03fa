"""Crafter as text: `crafter-v1`.

`environment` is the door; `game` plays crafter's rules without pictures on the exact `world` with
its `creatures`; `snapshot` and `cache` keep generated worlds; `text` and `instructions` put the
game into words. Crafter itself, which has no types, is reached through `native` alone.
"""

from envs.crafter.environment import CrafterEnvironment

__all__ = ["CrafterEnvironment"]
