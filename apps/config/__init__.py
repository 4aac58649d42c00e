"""The app config as models: what a vendor writes, once it was read and checked.

There is a module for each group of kinds.
"""
