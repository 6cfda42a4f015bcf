"""Which markers of unions a profile reads, and in which shape it publishes a union."""

from __future__ import annotations

from typing import Final, Literal

import msgspec


class MarkerProfile(msgspec.Struct, frozen=True):
    """Which markers a profile reads, and where it publishes a union.

    ``of_2019``: it reads ``+union``. ``member_names``: what the value of
    ``+unionMember`` names. ``on_property``: a union is published on the property of its
    discriminator, if that is an enum, not on the struct.
    """

    of_2019: bool
    member_names: Literal["nothing", "field", "value"]
    on_property: bool


PROFILES: Final[dict[str, MarkerProfile | None]] = {
    "kep2019": MarkerProfile(of_2019=True, member_names="nothing", on_property=False),
    "smd": MarkerProfile(of_2019=True, member_names="nothing", on_property=False),
    "kep1027-draft": MarkerProfile(
        of_2019=False, member_names="field", on_property=False
    ),
    "kep1027": MarkerProfile(of_2019=False, member_names="value", on_property=True),
    "validate-only": MarkerProfile(
        of_2019=True, member_names="value", on_property=True
    ),
    "off": None,
}
