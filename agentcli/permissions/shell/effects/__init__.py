"""What a command would do: read, change, destroy, ask the network, start another program; and the rules that cover it."""
