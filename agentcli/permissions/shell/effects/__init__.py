"""Effects of a command: reading, changing, destroying, using the network, starting another program; and the rules that
cover it.
"""
