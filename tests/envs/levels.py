"""Boxoban levels of our own making, in the form in which the published ones come."""

from pathlib import Path

# Each is solved by the moves beside it. Rows are 10 wide, as published levels are.
PUSH_EAST = ["##########", "#        #", "# @$.    #", "#        #", "##########"]
PUSH_SOUTH = ["##########", "#   @    #", "#   $    #", "#   .    #", "##########"]
TWO_BOXES = ["##########", "# @$.    #", "#        #", "# .$     #", "##########"]
FAR = ["##########", "#@       #", "#      $.#", "#        #", "##########"]

SOLUTIONS: dict[str, tuple[str, ...]] = {
    "\n".join(PUSH_EAST): ("east",),
    "\n".join(PUSH_SOUTH): ("south",),
    "\n".join(TWO_BOXES): ("east", "south", "east", "south", "west"),
    "\n".join(FAR): ("south", *["east"] * 6),
}


def written(*levels: list[str]) -> str:
    """A file of levels: each after its number, an empty line between them."""
    return "\n".join(f"; {number}\n" + "\n".join(rows) + "\n" for number, rows in enumerate(levels))


def published(folder: Path) -> Path:
    """A small copy of the published repository: two files for medium, one for hard."""
    medium, hard = folder / "medium" / "train", folder / "hard"
    medium.mkdir(parents=True)
    hard.mkdir()
    (medium / "000.txt").write_text(written(PUSH_EAST, PUSH_SOUTH))
    (medium / "001.txt").write_text(written(TWO_BOXES))
    (hard / "000.txt").write_text(written(FAR, PUSH_SOUTH))
    (folder / "README.md").write_text("Levels.\n")
    return folder
