"""One run of the program, below features and front ends: its options and its project."""
