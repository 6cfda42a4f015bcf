// +groupName=shop.example.com
package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Shop is where things are sold.
type Shop struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ShopSpec `json:"spec"`
}

// ShopSpec is how things are sold.
type ShopSpec struct {
	// +optional
	Counters []Counter `json:"counters,omitempty" patchStrategy:"merge" patchMergeKey:"name"`
	Payment  Payment   `json:"payment"`
}

// Counter is where a customer pays.
type Counter struct {
	Name string `json:"name"`
	// +optional
	Clerk string `json:"clerk,omitempty"`
}

// PaymentType is a way to pay.
// +enum
type PaymentType string

const (
	Cash     PaymentType = "Cash"
	Card     PaymentType = "Card"
	Transfer PaymentType = "Transfer"
)

// Payment is one way to pay.
type Payment struct {
	// +unionDiscriminator
	// +required
	Type PaymentType `json:"type"`
	// +unionMember
	// +optional
	Card *CardPayment `json:"card,omitempty"`
	// +unionMember
	// +optional
	Transfer *TransferPayment `json:"transfer,omitempty"`
}

// CardPayment is by card.
type CardPayment struct {
	Brands []string `json:"brands"`
}

// TransferPayment is by bank transfer.
type TransferPayment struct {
	Account string `json:"account"`
}
