"""Logs as lines of JSON: one object a line, times in UTC (RFC 3339)."""

from __future__ import annotations

import logging
import logging.config
from datetime import UTC, datetime
from typing import Final

import msgspec

_LOGGER: Final = {"handlers": ["stderr"], "propagate": False}
# asyncio warns of every client that goes away
_LOGGERS: Final = {"smp": "", "uvicorn": "", "asyncio": "ERROR"}


class JSONLines(logging.Formatter):
    """Format a record as one JSON object; ``extra={"fields": {...}}`` of a call adds
    members to it.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def configure(level: str) -> None:
    """Send the logs of the server, and of uvicorn, to standard error."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": {"()": JSONLines}},
            "handlers": {
                "stderr": {"class": "logging.StreamHandler", "formatter": "json"}
            },
            "loggers": {
                name: {**_LOGGER, "level": least or level.upper()}
                for name, least in _LOGGERS.items()
            },
        }
    )
