"""The app config: models, loader, checks, dependency graph, templates, state, release manifest."""
