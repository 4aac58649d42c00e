"""The worker's activities for runs that change an install, apart from engines: begin, view, end."""
