"""The commands that work on the board's files: `pi-taskbar board …`, `pi-taskbar team …`, `pi-taskbar completion …`.

Each is loaded when it is called. They say in words, in tables or in JSON what `flask_pi_taskbar.board` answers, and
decide nothing themselves; Flask is never imported.
"""
