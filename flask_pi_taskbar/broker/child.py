"""What the session knows about one Pi child. The process itself belongs to the shell."""

from __future__ import annotations

from enum import Enum, auto

from flask_pi_taskbar.broker.replies import Commands, PiState


class Life(Enum):
    """How far an incarnation has come. It can be lost from each of the first three; only `stopped` ends the last."""

    SPAWNING = auto()
    GREETED = auto()  # the first get_state is on its way
    LIVE = auto()
    STOPPING = auto()


class Child:
    """One incarnation."""

    def __init__(self, incarnation: int) -> None:
        self.incarnation = incarnation
        self.life = Life.SPAWNING
        self.commands = Commands()
        self.state: PiState | None = None
        # Learnt from what it says, whatever its version:
        self.compacting = False
        self.announces_end = False

    @property
    def is_listening(self) -> bool:
        return self.life in (Life.GREETED, Life.LIVE)

    def notice(self, kind: str) -> None:
        """An event, whether or not one of our runs is under way."""
        if kind == "compaction_start":
            self.compacting = True
        elif kind == "compaction_end":
            self.compacting = False
        elif kind == "agent_settled":
            self.announces_end = True
            self.compacting = False
