// KEP-2887, "Risks and Mitigations": the values in the marker, as kubebuilder has it. A struct is added to show a field.
package example

// Alias is one of three.
// +kubebuilder:validation:Enum=Lion;Wolf;Dragon
type Alias string

type Animal struct {
	Alias Alias `json:"alias"`
}
