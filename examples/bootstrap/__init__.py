"""Prepares a private environment: a virtual environment, Node, the real Pi. For `python3 examples` and `python3 tests`.

Runs on a bare Python 3.11+, so it uses the standard library only and never imports the package it installs. Everything
it makes lies below one directory; a step that is done leaves a stamp, so that the next start skips it, and a step that
failed can simply be run again: pip and npm keep what they have downloaded.
"""
