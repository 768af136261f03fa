"""The one door to crafter, which carries no types; `native.pyi` says what is used of it."""

from crafter import Env, constants
from crafter.engine import ItemView, LocalView, Textures, World
from crafter.objects import Arrow, Cow, Object, Plant, Player, Skeleton, Zombie
from crafter.worldgen import generate_world

__all__ = [
    "Arrow",
    "Cow",
    "Env",
    "ItemView",
    "LocalView",
    "Object",
    "Plant",
    "Player",
    "Skeleton",
    "Textures",
    "World",
    "Zombie",
    "constants",
    "generate_world",
]
