"""Measurements of the real thing: a control plane, install workers, Terraform.

`python -m bench` takes them all. Goals are ratios within one run, since only those mean the same on
another machine; seconds and milliseconds are reported. docs/figures.md tells what the numbers mean.
"""
