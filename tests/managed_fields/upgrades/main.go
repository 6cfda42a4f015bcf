// Answers questions about the migration to server-side apply with client-go.
//
// It reads one JSON request a line, and writes one answer a line:
//
//	{"op": "upgrade", "object", "from": [names], "to", "subresource"}:
//	  {"managedFields", "patch"}: the managers are taken in their order; the patch is
//	  that of one manager, null where nothing changes, and absent for several
//	{"op": "owners", "object", "operation", "set"}: {"managers": [names]}
//
// Sets are texts. An error is {"error": text}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type request struct {
	Op          string          `json:"op"`
	Object      json.RawMessage `json:"object"`
	From        []string        `json:"from"`
	To          string          `json:"to"`
	Subresource string          `json:"subresource"`
	Operation   string          `json:"operation"`
	Set         string          `json:"set"`
}

func read(r request) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	return object, json.Unmarshal(r.Object, object)
}

func upgrade(r request) (any, error) {
	subresource := csaupgrade.Subresource(r.Subresource)
	object, err := read(r)
	if err != nil {
		return nil, err
	}
	reply := map[string]any{}
	if len(r.From) == 1 {
		names := sets.New(r.From...)
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(object, names, r.To, subresource)
		if err != nil {
			return nil, err
		}
		reply["patch"] = json.RawMessage(patch)
		if patch == nil {
			reply["patch"] = nil
		}
	}
	// Go takes the names of a set in a random order.
	for _, name := range r.From {
		err := csaupgrade.UpgradeManagedFields(object, sets.New(name), r.To, subresource)
		if err != nil {
			return nil, err
		}
	}
	reply["managedFields"] = object.ManagedFields
	return reply, nil
}

func owners(r request) (any, error) {
	object, err := read(r)
	if err != nil {
		return nil, err
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(strings.NewReader(r.Set)); err != nil {
		return nil, err
	}
	names := []string{}
	operation := metav1.ManagedFieldsOperationType(r.Operation)
	for _, entry := range csaupgrade.FindFieldsOwners(object.ManagedFields, operation, set) {
		names = append(names, entry.Manager)
	}
	return map[string]any{"managers": names}, nil
}

func answer(r request) (any, error) {
	switch r.Op {
	case "upgrade":
		return upgrade(r)
	case "owners":
		return owners(r)
	}
	return nil, fmt.Errorf("unknown op %q", r.Op)
}

func main() {
	reader := bufio.NewReaderSize(os.Stdin, 1<<20)
	writer := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		var reply any
		if err := json.Unmarshal(line, &r); err != nil {
			reply = map[string]any{"bad_request": err.Error()}
		} else if reply, err = answer(r); err != nil {
			reply = map[string]any{"error": err.Error()}
		}
		if err := encoder.Encode(reply); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if reader.Buffered() == 0 {
			writer.Flush()
		}
	}
}
