"""Test runners, one file each: how a project shows that it uses one, and how it runs a selection.

`runner.py` says what such a file holds; `choice.py` lists them and chooses one for a project.
"""
