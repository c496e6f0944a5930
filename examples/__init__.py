"""Example apps and what runs them. `python3 examples` starts the first one; nothing here is part of the package."""
