"""A server on this machine that speaks both vendors' wire formats, streams for real, and refuses what the real ones refuse."""

from tests.loopback.plan import Asked, Cut, Dribble, Fail, Idle, Plan, Raw, Refuse
from tests.loopback.server import Loopback

__all__ = ["Asked", "Cut", "Dribble", "Fail", "Idle", "Loopback", "Plan", "Raw", "Refuse"]
