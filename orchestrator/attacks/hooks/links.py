"""Puts links to a file of the host where prompts and memory lie, and reads through them."""

import os

from lib import answer, attempt, places


def _through(link, target):
    os.symlink(target, link)
    try:
        with open(link, encoding="utf-8") as file:
            return file.read()
    finally:
        os.unlink(link)


def before_act(context, action):
    options = context.options
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [*places(), os.path.join(here, "prompts")]
    links = [os.path.join(folder, f"slowwave-attack-{os.getpid()}") for folder in folders]
    found = [attempt(link, _through, link, options["bait"]) for link in links]
    return answer([one for one in found if one and options["token"] in one])
