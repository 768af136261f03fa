"""NetHack as text: `nethack-v1`, and what `envs.minihack` shares with it.

`environment` is the door. `game` presses keys and reads the terminal until NetHack waits for a new
one; `screen` is what it then shows; `text`, `kinds` and `instructions` put that into words; `keys`
is the vocabulary; `progression` is the score. NLE, which has no types, is reached through `native`
alone.
"""

from envs.nethack.environment import NetHackEnvironment

__all__ = ["NetHackEnvironment"]
