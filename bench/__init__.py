"""Measurements of the real system: a control plane, install workers, Terraform.

`python -m bench` takes them all. Goals are ratios within one run, since only those mean the same on
another machine; seconds and milliseconds are only reported. docs/figures.md explains the numbers.
"""
