// KEP-2887, "Notes/Constraints/Caveats": constants of an open set, so not an enum. A struct is added to show a field.
package core

// StorageMedium says where a volume is.
type StorageMedium string

const (
	StorageMediumDefault         StorageMedium = ""           // the default of the node
	StorageMediumMemory          StorageMedium = "Memory"     // memory
	StorageMediumHugePages       StorageMedium = "HugePages"  // huge pages
	StorageMediumHugePagesPrefix StorageMedium = "HugePages-" // huge pages of a size
)

type EmptyDir struct {
	// +optional
	Medium StorageMedium `json:"medium,omitempty"`
}
