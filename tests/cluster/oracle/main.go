// Asks kstatus (sigs.k8s.io/cli-utils/pkg/kstatus/status) for the state of objects.
//
// It reads one object a line, and writes one answer a line:
//
//	{"status": "Current", "message": TEXT} | {"error": TEXT}
package main

import (
	"bufio"
	"encoding/json"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		object := &unstructured.Unstructured{}
		answer := map[string]string{}
		if err := object.UnmarshalJSON(lines.Bytes()); err != nil {
			answer["error"] = err.Error()
		} else if result, err := status.Compute(object); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["status"] = string(result.Status)
			answer["message"] = result.Message
		}
		if err := out.Encode(answer); err != nil {
			panic(err)
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}
