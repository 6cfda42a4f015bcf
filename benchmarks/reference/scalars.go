package main

import (
	stdjson "encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scalars answers for each text what Kubernetes reads from it.
func (r *request) scalars() operation {
	return func() ([]byte, error) {
		if r.Op == "quantity_pairs" {
			return stdjson.Marshal(pairs(r.Texts))
		}
		read := map[string]func(string) any{
			"quantities": readQuantity, "times": readTime, "durations": readDuration,
		}[r.Op]
		answers := make([]any, len(r.Texts))
		for i, text := range r.Texts {
			answers[i] = read(text)
		}
		return stdjson.Marshal(answers)
	}
}

// parseQuantity reads a quantity as from JSON, in which it is not escaped.
func parseQuantity(text string) (resource.Quantity, error) {
	var found resource.Quantity
	err := found.UnmarshalJSON([]byte(`"` + text + `"`))
	return found, err
}

// readQuantity answers with the canonical text, the sign, and the text rounded up to
// thousandths, or with an error.
func readQuantity(text string) any {
	found, err := parseQuantity(text)
	if err != nil {
		return err.Error()
	}
	canonical, sign := found.String(), found.Sign()
	found.RoundUp(resource.Milli)
	return []any{canonical, sign, found.String()}
}

// pairs answers for each two quantities how they compare, and their sum.
func pairs(texts []string) []any {
	answers := []any{}
	for i := 0; i+1 < len(texts); i += 2 {
		left, problem := parseQuantity(texts[i])
		right, other := parseQuantity(texts[i+1])
		if problem != nil || other != nil {
			answers = append(answers, nil)
			continue
		}
		compared := left.Cmp(right)
		left.Add(right)
		answers = append(answers, []any{compared, left.String()})
	}
	return answers
}

// readTime answers with a Time and a MicroTime as they are printed, or the error of each,
// and with the instant of the first.
func readTime(text string) any {
	quoted, _ := stdjson.Marshal(text)
	answer := object{}
	var seconds metav1.Time
	if err := seconds.UnmarshalJSON(quoted); err != nil {
		answer["time_error"] = err.Error()
	} else {
		exact, _ := time.Parse(time.RFC3339, text)
		answer["time"], answer["at"] = seconds, []int64{exact.Unix(), int64(exact.Nanosecond())}
	}
	var micros metav1.MicroTime
	if err := micros.UnmarshalJSON(quoted); err != nil {
		answer["micro_error"] = err.Error()
	} else {
		answer["micro"] = micros
	}
	return answer
}

// readDuration answers with nanoseconds, or null.
func readDuration(text string) any {
	found, err := time.ParseDuration(text)
	if err != nil {
		return nil
	}
	return int64(found)
}
