// Answers questions about selectors, names and durations as Kubernetes does: JSON lines in, JSON lines out.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/validation"
)

type question struct {
	Op       string                `json:"op"`
	Text     string                `json:"text"`
	Sets     []map[string]string   `json:"sets"`
	Seconds  float64               `json:"seconds"`
	Selector *metav1.LabelSelector `json:"selector"`
}

var rules = map[string]func(string) []string{
	"label":       content.IsDNS1123Label,
	"subdomain":   content.IsDNS1123Subdomain,
	"rfc1035":     validation.IsDNS1035Label,
	"path":        content.IsPathSegmentName,
	"label key":   content.IsLabelKey,
	"label value": content.IsLabelValue,
}

// answer is null for what cannot be read.
func answer(asked question) interface{} {
	switch asked.Op {
	case "labels":
		selector, err := labels.Parse(asked.Text)
		if err != nil {
			return nil
		}
		matches := []bool{}
		for _, set := range asked.Sets {
			matches = append(matches, selector.Matches(labels.Set(set)))
		}
		return matches
	case "fields":
		selector, err := fields.ParseSelector(asked.Text)
		if err != nil {
			return nil
		}
		matches := []bool{}
		for _, set := range asked.Sets {
			matches = append(matches, selector.Matches(fields.Set(set)))
		}
		return matches
	case "duration":
		return duration.HumanDuration(time.Duration(asked.Seconds * float64(time.Second)))
	case "selector":
		return metav1.FormatLabelSelector(asked.Selector)
	}
	return len(rules[asked.Op](asked.Text)) == 0
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		out.Encode(answer(asked))
	}
}
