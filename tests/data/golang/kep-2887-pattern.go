// KEP-2887, "Enum Pattern": the pattern alone makes no enum.
package internal

// FooType is a string.
type FooType string

const (
	BarConst FooType = "Bar"
	BazConst FooType = "Baz"
)

// ExampleResource refers to it.
type ExampleResource struct {
	FooField FooType
}
