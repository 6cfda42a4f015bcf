// KEP-2887, "Enum Tag": the pattern, marked.
package internal

// FooType is a string.
// +enum
type FooType string

const (
	BarConst FooType = "Bar"
	BazConst FooType = "Baz"
)

// ExampleResource refers to it.
type ExampleResource struct {
	FooField FooType
}
