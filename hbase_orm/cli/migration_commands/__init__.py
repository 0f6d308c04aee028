"""The commands of migrations, in Alembic's words."""
