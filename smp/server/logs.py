"""Logs as lines of JSON: one object a line, times in UTC (RFC 3339)."""

from __future__ import annotations

import logging
import logging.config
from datetime import UTC, datetime
from typing import Final

import msgspec

# The loggers to configure; "" is the level that the operator asked for.
_LEVELS: Final = {
    "smp": "",
    "uvicorn": "",
    "asyncio": "ERROR",  # it warns of every client that disconnects
}


class JSONLines(logging.Formatter):
    """Format a record as one JSON object.

    ``extra={"fields": {...}}`` of a logging call adds members to the object.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        time = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            # logging sets the members of ``extra`` as attributes of the record.
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def configure(level: str) -> None:
    """Send the logs of the server, and of uvicorn, to standard error."""
    loggers = {
        name: {
            "handlers": ["stderr"],
            "propagate": False,
            "level": fixed_level or level.upper(),
        }
        for name, fixed_level in _LEVELS.items()
    }
    logging.config.dictConfig(
        {
            "version": 1,
            # The loggers of the modules exist already.
            "disable_existing_loggers": False,
            "formatters": {"json": {"()": JSONLines}},
            "handlers": {
                "stderr": {"class": "logging.StreamHandler", "formatter": "json"}
            },
            "loggers": loggers,
        }
    )
