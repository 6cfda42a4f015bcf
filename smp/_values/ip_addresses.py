"""What Go says of IP addresses, where Python's ipaddress says something else."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address
from typing import Final

_LOCAL: Final = IPv4Network("224.0.0.0/24")
# RFC 4291, section 2.7: ff, four flags, and the scope, of which 2 is the link.
_OF_MULTICAST: Final = 0xFF0F
_OF_LINKS: Final = 0xFF02


def is_link_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address is one of many on a link (Go: IsLinkLocalMulticast)."""
    if isinstance(address, IPv4Address):
        return address in _LOCAL
    return (int(address) >> 112) & _OF_MULTICAST == _OF_LINKS
