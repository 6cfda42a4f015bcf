// KEP-1027, draft of June 2022, "Go tags". Its example of a struct that cannot be inlined is not exported, so JSON
// does not have it; a comment sign that the document lost is back.
package example

// TopLevelUnion embeds one union.
type TopLevelUnion struct {
	Name string `json:"name"`

	Union `json:",inline"`
}

// Union marks one of its two fields.
type Union struct {
	// +unionDiscriminator
	// +optional
	UnionType string `json:"unionType"`

	// +optional
	// +unionMember
	FieldA int `json:"fieldA"`
	// +optional
	FieldB int `json:"fieldB"`
}

// Union2 names the discriminator of its members.
type Union2 struct {
	// +unionDiscriminator
	// +required
	Type string `json:"type"`
	// +unionMember=type
	// +optional
	Alpha int `json:"alpha"`
	// +unionMember=type
	// +optional
	Beta int `json:"beta"`
}

// InlinedUnion has a union of its own beside the one that it inlines.
type InlinedUnion struct {
	Name string `json:"name"`

	// +unionDiscriminator
	// +optional
	FieldType string `json:"fieldType"`
	// +unionMember=fieldType
	// +optional
	Field1 *int `json:"field1,omitempty"`
	// +unionMember=fieldType
	// +optional
	Field2 *int `json:"field2,omitempty"`

	// The members of Union name no discriminator, so it is not inlined.
	union  Union `json:"union"`
	Union2 `json:",inline"`
}
