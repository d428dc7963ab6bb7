"""A server on this machine that speaks both vendors' wire formats, streams for real, and refuses what the real ones refuse."""

from tests.loopback.plan import Asked, Bytes, Cut, Dribble, Fail, Gone, Idle, Plan, Raw, Refuse
from tests.loopback.server import Loopback

__all__ = ["Asked", "Bytes", "Cut", "Dribble", "Fail", "Gone", "Idle", "Loopback", "Plan", "Raw", "Refuse"]
