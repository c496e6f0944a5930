"""Shared help for tests: the set-up command, a hermetic world, waiting, real browsers and the real Pi."""
