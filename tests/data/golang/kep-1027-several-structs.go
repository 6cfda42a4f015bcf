// KEP-1027, "Examples", the second one. The document leaves the constant Beta untyped, which makes it no value
// of the enum (KEP-2887): here it has its type; kep-1027-untyped-constant.go is as printed.
package example

// TopLevelUnion embeds one union.
type TopLevelUnion struct {
	Name string `json:"name"`

	Union `json:",inline"`
}

// +enum
type UnionType string

const (
	FieldA    UnionType = "FieldA"
	FieldB    UnionType = "FieldB"
	FieldC    UnionType = "FieldC"
	FieldD    UnionType = "FieldD"
	FieldNone UnionType = ""
)

// Union is one union: two fields and a discriminator.
type Union struct {
	// +unionDiscriminator
	// +required
	UnionType UnionType `json:"unionType"`

	// +unionMember
	// +optional
	FieldA int `json:"fieldA"`
	// +unionMember,optional
	// +optional
	FieldB int `json:"fieldB"`
}

// +enum
type Union2Type string

const (
	Alpha Union2Type = "ALPHA"
	Beta  Union2Type = "BETA"
)

// Union2 says by which values its members are selected.
type Union2 struct {
	// +unionDiscriminator
	// +required
	Type2 Union2Type `json:"type"`
	// +unionMember=ALPHA
	// +optional
	Alpha int `json:"alpha"`
	// +unionMember=BETA,optional
	// +optional
	Beta int `json:"beta"`
}
