"""Language servers: diagnostics after edits, and a tool for definitions, references, hover, symbols and rename."""
