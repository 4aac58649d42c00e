"""The Terraform engine: plan to a file, view, digest, apply that file, outputs, destroy."""
