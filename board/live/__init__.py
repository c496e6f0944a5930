"""The board as it moves: one hub a process, which follows the files and hands frames to whoever watches."""
