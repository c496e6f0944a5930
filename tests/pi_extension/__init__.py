"""The extension inside the real Pi of both lines, with a scripted model; what it looks like on its own in Node."""
