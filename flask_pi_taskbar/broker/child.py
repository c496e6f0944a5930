"""What the session knows about one Pi child. The process itself belongs to the shell."""

from __future__ import annotations

from enum import Enum, auto

from flask_pi_taskbar.broker.replies import Commands, PiState


class Life(Enum):
    """How far an incarnation has come. It can be lost from each of the first two; only `stopped` ends the last."""

    SPAWNING = auto()
    TALKING = auto()  # the first get_state has been sent; from here on it is listened to
    STOPPING = auto()


class Child:
    """One incarnation."""

    def __init__(self, incarnation: int) -> None:
        self.incarnation = incarnation
        self.life = Life.SPAWNING
        self.commands = Commands()
        self.state: PiState | None = None
        self.outdated = False  # the next one would be started in another environment
        # Learnt from what it says, whatever its version:
        self.compacting = False
        self.announces_end = False

    @property
    def is_listening(self) -> bool:
        return self.life is Life.TALKING

    @property
    def lacks_model(self) -> bool:
        """It has told a state, and there is no model in it."""
        return self.state is not None and self.state.model is None

    def notice(self, kind: str) -> None:
        """An event, whether or not one of our runs is under way."""
        if kind == "compaction_start":
            self.compacting = True
        elif kind == "compaction_end":
            self.compacting = False
        elif kind == "agent_settled":
            self.announces_end = True
            self.compacting = False
