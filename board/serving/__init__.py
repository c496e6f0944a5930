"""Who serves the page of a board: the lock, the note, the keys, the port."""
