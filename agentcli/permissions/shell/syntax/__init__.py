"""Text of a command line: which commands it runs, in which folders, with which words."""
