"""The OpenAPI description: what FastAPI cannot know of the routes."""
