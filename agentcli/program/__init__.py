"""One run of the program, below features and front ends: options, project, `Program`, what features may bring, slash commands."""
