"""The service: requests in, comments out. All that it knows of HBase is which errors there are."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import Depends, FastAPI, HTTPException, Request, status
from fastapi.responses import JSONResponse
from fastapi.routing import APIRouter
from pydantic import BaseModel, ConfigDict

from examples.access_layer.access import Comments
from hbase_orm.errors import GatewayError, PageTokenError, ValidationError


class CommentIn(BaseModel):
    """What a client sends."""

    author: str
    text: str


class Text(BaseModel):
    """A corrected text."""

    text: str


class CommentOut(BaseModel):
    """What a client gets; made of the model's object."""

    model_config = ConfigDict(from_attributes=True)

    at: datetime
    comment_id: UUID
    author: str
    text: str


class PageOut(BaseModel):
    """A page, and the token of the next one if there may be one."""

    comments: list[CommentOut]
    token: str | None


def _comments(request: Request) -> Comments:
    comments: Comments = request.app.state.comments
    return comments


Access = Annotated[Comments, Depends(_comments)]
router = APIRouter(prefix="/articles/{article}/comments")


@router.post("", status_code=status.HTTP_201_CREATED)
def add(article: str, comment: CommentIn, comments: Access) -> CommentOut:
    """Store a comment."""
    return CommentOut.model_validate(comments.add(article, comment.author, comment.text))


@router.get("")
def newest(article: str, comments: Access, token: str | None = None) -> PageOut:
    """Return a page of comments, newest first."""
    page = comments.newest(article, token)
    found = [CommentOut.model_validate(comment) for comment in page.items]
    return PageOut(comments=found, token=page.token)


@router.put("/{at}/{comment_id}")
def correct(
    article: str, at: datetime, comment_id: UUID, text: Text, comments: Access
) -> CommentOut:
    """Change a comment's text."""
    comment = comments.correct(article, at, comment_id, text.text)
    if comment is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND, "there is no such comment")
    return CommentOut.model_validate(comment)


@router.delete("/{at}/{comment_id}", status_code=status.HTTP_204_NO_CONTENT)
def remove(article: str, at: datetime, comment_id: UUID, comments: Access) -> None:
    """Delete a comment."""
    comments.remove(article, at, comment_id)


def _refused(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"detail": str(error)}, 422)


def _unavailable(_: Request, error: Exception) -> JSONResponse:
    # An unknown outcome is for the caller to look at: nothing is sent twice here.
    return JSONResponse({"detail": type(error).__name__}, status.HTTP_503_SERVICE_UNAVAILABLE)


def create_app(comments: Comments) -> FastAPI:
    """Return the service on a data-access layer."""
    app = FastAPI(title="comments")
    app.state.comments = comments
    app.include_router(router)
    app.add_exception_handler(ValidationError, _refused)
    app.add_exception_handler(PageTokenError, _refused)
    app.add_exception_handler(GatewayError, _unavailable)
    return app
