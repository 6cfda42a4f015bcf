// Divides values into classes of those that Kubernetes takes for equal: JSON lines in, JSON lines out.
//
// The answer has a number for each value: that of its class, or -1 where it cannot be read.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

type question struct {
	Op     string            `json:"op"`
	Values []json.RawMessage `json:"values"`
}

const setSchema = `
types:
- name: object
  map:
    fields:
    - name: set
      type:
        list:
          elementType: {scalar: untyped}
          elementRelationship: associative
`

// A reader returns a value, and whether it can be read.
type reader func([]byte) (interface{}, bool)

var equal = map[string]func(a, b interface{}) bool{
	"quantity": func(a, b interface{}) bool {
		left, right := a.(resource.Quantity), b.(resource.Quantity)
		return left.Cmp(right) == 0
	},
	"duration": func(a, b interface{}) bool { return a.(metav1.Duration) == b.(metav1.Duration) },
	"time":     func(a, b interface{}) bool { return a.(time.Time).Equal(b.(time.Time)) },
	"set": func(a, b interface{}) bool {
		compared, err := a.(*typed.TypedValue).Compare(b.(*typed.TypedValue))
		return err == nil && compared.IsSame()
	},
}

func read(op string, text []byte, parser *typed.Parser) (interface{}, bool) {
	switch op {
	case "quantity":
		var found resource.Quantity
		err := json.Unmarshal(text, &found)
		return found, err == nil && string(text) != "null"
	case "duration":
		var found metav1.Duration
		err := json.Unmarshal(text, &found)
		return found, err == nil && string(text) != "null"
	case "time":
		var written string
		if err := json.Unmarshal(text, &written); err != nil {
			return nil, false
		}
		found, err := time.Parse(time.RFC3339, written)
		return found, err == nil
	case "int-or-string":
		var found intstr.IntOrString
		err := json.Unmarshal(text, &found)
		return intstr.Parse(found.String()), err == nil && string(text) != "null"
	case "base64":
		var found []byte
		err := json.Unmarshal(text, &found)
		return string(found), err == nil && string(text) != "null"
	case "label-selector":
		var found metav1.LabelSelector
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, false
		}
		selector, err := metav1.LabelSelectorAsSelector(&found)
		if err != nil {
			return nil, false
		}
		return matched(selector), true
	case "set":
		var values []interface{}
		if err := json.Unmarshal(text, &values); err != nil {
			return nil, false
		}
		found, err := parser.Type("object").FromUnstructured(map[string]interface{}{"set": values})
		return found, err == nil
	}
	panic(op)
}

// matched has a letter for each set of labels: whether the selector matches it.
func matched(selector labels.Selector) string {
	answer := ""
	for _, a := range []string{"", "b", "x", "y", "z"} {
		for _, b := range []string{"", "x", "y", "z"} {
			for _, c := range []string{"", "d"} {
				set := labels.Set{}
				for name, value := range map[string]string{"a": a, "b": b, "c": c} {
					if value != "" {
						set[name] = value
					}
				}
				if selector.Matches(set) {
					answer += "y"
				} else {
					answer += "n"
				}
			}
		}
	}
	return answer
}

func classes(asked question, parser *typed.Parser) []int {
	answer := []int{}
	representatives := []interface{}{}
	for _, text := range asked.Values {
		value, ok := read(asked.Op, text, parser)
		class := -1
		if ok {
			same := equal[asked.Op]
			if same == nil {
				same = func(a, b interface{}) bool { return a == b }
			}
			for at, other := range representatives {
				if same(other, value) {
					class = at
					break
				}
			}
			if class == -1 {
				class = len(representatives)
				representatives = append(representatives, value)
			}
		}
		answer = append(answer, class)
	}
	return answer
}

func main() {
	parser, err := typed.NewParser(setSchema)
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		out.Encode(classes(asked, parser))
	}
}
