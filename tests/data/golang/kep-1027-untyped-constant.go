// KEP-1027, "Examples": Union2 as printed, with an untyped constant.
package example

// +enum
type Union2Type string

const (
	Alpha Union2Type = "ALPHA"
	Beta             = "BETA"
)

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
