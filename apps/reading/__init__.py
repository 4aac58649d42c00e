"""Reads the files of an app config into models, and collects what is wrong with them."""
