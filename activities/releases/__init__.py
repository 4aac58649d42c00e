"""Reading releases: their graph for the control plane, their content for install workers."""
