"""Analysis of shell command lines: `command_line` gathers what `syntax`, `programs` and `effects` find."""
