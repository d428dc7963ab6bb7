"""Front ends: everything that a person, an editor, a browser or a program talks to."""
