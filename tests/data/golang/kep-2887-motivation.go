// KEP-2887, "Motivation": an enum that nobody marked.
package core

// Protocol is the protocol of a port.
type Protocol string

const (
	// ProtocolTCP is the TCP protocol.
	ProtocolTCP Protocol = "TCP"
	// ProtocolUDP is the UDP protocol.
	ProtocolUDP Protocol = "UDP"
	// ProtocolSCTP is the SCTP protocol.
	ProtocolSCTP Protocol = "SCTP"
)

// ContainerPort is a port of a container.
type ContainerPort struct {
	// One of "TCP", "UDP" and "SCTP".
	// +optional
	Protocol Protocol
}
