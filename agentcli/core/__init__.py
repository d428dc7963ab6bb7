"""Vocabulary of the whole program: immutable values, standard library only."""
