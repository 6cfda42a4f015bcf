// KEP-1027, "Examples", the first one: no JSON tags, four values, two of them without a member, and none.
package example

// +enum
type UnionType string

const (
	FieldA    UnionType = "FieldA"
	FieldB    UnionType = "FieldB"
	FieldC    UnionType = "FieldC"
	FieldD    UnionType = "FieldD"
	FieldNone UnionType = ""
)

type Union struct {
	// +unionDiscriminator
	// +required
	UnionType UnionType

	// +unionMember
	// +optional
	FieldA int
	// +unionMember
	// +optional
	FieldB int
}
