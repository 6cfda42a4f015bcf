// KEP-1027 of 2019, "Go tags": what it allows, two unions in one struct included.
package example

// TopLevelUnion embeds one union.
type TopLevelUnion struct {
	Name string `json:"name"`

	Union `json:",inline"`
}

// Union is one union: two fields and a discriminator.
// +union
type Union struct {
	// +unionDiscriminator
	// +optional
	UnionType string `json:"unionType"`

	// +optional
	FieldA int `json:"fieldA"`
	// +optional
	FieldB int `json:"fieldB"`
}

// Union2 is one union, too, by the markers of its fields.
type Union2 struct {
	// +unionDiscriminator
	Type string `json:"type"`
	// +unionDeprecated
	// +optional
	Alpha int `json:"alpha"`
	// +unionDeprecated
	// +optional
	Beta int `json:"beta"`
}

// InlinedUnion has three: one of its own fields, without discriminator, and the two that it inlines.
type InlinedUnion struct {
	Name string `json:"name"`

	// +unionDeprecated
	// +optional
	Field1 *int `json:"field1,omitempty"`
	// +unionDeprecated
	// +optional
	Field2 *int `json:"field2,omitempty"`

	Union  `json:",inline"`
	Union2 `json:",inline"`
}
