// KEP-1027, "OpenAPI": the Go types of the extension itself.
package example

// XKubernetesUnions is the extension.
type XKubernetesUnions struct {
	// FieldMembers maps every value of the discriminator to the field that it selects, if it selects one.
	FieldMembers map[DiscriminatorValue]*MemberField `json:"fieldMembers"`
}

// DiscriminatorValue is a value of the discriminator.
type DiscriminatorValue string

// MemberField is a field of a union.
type MemberField struct {
	// Name is the name in JSON.
	Name string `json:"name"`
	// Optional tells whether the field may be selected while it is empty.
	Optional bool `json:"optional"`
}
