"""Tests of the front end for editors."""
