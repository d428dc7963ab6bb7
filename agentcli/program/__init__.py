"""One run of the program, below features and front ends: options, project, `Program`, interfaces for features, slash
commands.
"""
