"""Analysis of shell command lines: `command_line` gathers the results of `syntax`, `programs` and `effects`."""
