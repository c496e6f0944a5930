"""The feature board of a repository: cards as plain JSON files, shared by agent sessions and the human lead."""
