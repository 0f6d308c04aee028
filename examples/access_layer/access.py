"""The data-access layer: what the application does with comments, in its own words.

Statements and sessions stay in here. Objects that leave it are plain: their session is closed.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from examples.access_layer.models import Comment
from hbase_orm import Engine, Page, select

PAGE_SIZE = 30


class Comments:
    """Comments on articles."""

    def __init__(self, engine: Engine) -> None:
        """Keep the process's engine."""
        self._engine = engine

    def prepare(self) -> None:
        """Make the tables that are missing."""
        self._engine.create_tables(Comment)

    def add(self, article: str, author: str, text: str) -> Comment:
        """Store a new comment and return it.

        Raises:
            ValidationError: The author or the text does not fit.
        """
        with self._engine.session() as session:
            comment = Comment(article=article, author=author, text=text)
            session.add(comment)
        return comment

    def newest(self, article: str, token: str | None = None) -> Page[Comment]:
        """Return a page of an article's comments, newest first.

        Raises:
            PageTokenError: The token is no token of this article's pages.
        """
        statement = select(Comment).where(Comment.article == article)
        with self._engine.session() as session:
            return session.page(statement, size=PAGE_SIZE, token=token)

    def correct(self, article: str, at: datetime, comment_id: UUID, text: str) -> Comment | None:
        """Change a comment's text; return it, or None if there is none.

        Raises:
            ValidationError: The text does not fit.
        """
        with self._engine.session() as session:
            comment = session.get(Comment, article=article, at=at, comment_id=comment_id)
            if comment is not None:
                comment.text = text
        return comment

    def remove(self, article: str, at: datetime, comment_id: UUID) -> None:
        """Delete a comment; one that is not there stays so."""
        with self._engine.session() as session:
            session.delete_row(Comment, article=article, at=at, comment_id=comment_id)
