"""Replaces the runner's own functions, so that code plays and the model is never asked."""

from agents import loop, runner
from agents.messages import TurnReply


def _turn(self, phase, messages):
    return TurnReply("<|ACTION|>wait<|END|>", [["<|WRITE|>x|y<|END|>", "saved"]], "ACTION", "wait")


runner.Channel.turn = _turn
loop.Agent._phase = lambda self, phase, template, observe: "wait"
