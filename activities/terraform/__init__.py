"""The Terraform engine: plans to a file, applies that file, reads outputs, destroys."""
