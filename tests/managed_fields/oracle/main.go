// Answers questions about field sets with structured-merge-diff.
//
// It reads one JSON request a line, and writes one answer a line:
//
//	{"op": "define", "name", "definitions", "structural", "reset"}: OpenAPI v3 schemas by
//	    name. For sequences also, if there are any, the structural schema that has the
//	    defaults, and the sets that are reset by subresource. {}
//	{"op": "round", "set"}: {"set": text}, fieldsV1 as it is printed
//	{"op": "union" | "intersection" | "difference" | "recursiveDifference", "set", "other"}: {"set"}
//	{"op": "leaves", "set"}: {"set"}
//	{"op": "has", "set", "other"}: {"has": [bool]}, for each path of the other set
//	{"op": "fields", "schema", "type", "object"}: {"set"}
//	{"op": "remove" | "extract", "schema", "type", "object", "set"}: {"object"}
//	{"op": "decode", "schema", "object"}: {"object"} as a server decodes it
//	{"op": "sequence", "schema", "kind", "object", "steps"}: {"answers"}, one for each
//	    step (chain.go): {"object", "changed"}, {"error"}, or all of them for an update
//	    whose managed fields could not be kept
//
// Sets are texts. An error is {"error": text}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

type request struct {
	Op          string                  `json:"op"`
	Name        string                  `json:"name"`
	Definitions map[string]*spec.Schema `json:"definitions"`
	Set         string                  `json:"set"`
	Other       string                  `json:"other"`
	Schema      string                  `json:"schema"`
	Type        string                  `json:"type"`
	Object      json.RawMessage         `json:"object"`
	// For "define".
	Structural *apiextensionsv1.JSONSchemaProps `json:"structural"`
	Reset      map[string]string                `json:"reset"`
	Versions   []string                         `json:"versions"`
	// For "sequence".
	Kind  string `json:"kind"`
	Steps []step `json:"steps"`
}

var parsers = map[string]*typed.Parser{}

func read(text string) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	return set, set.FromJSON(strings.NewReader(text))
}

func printed(set *fieldpath.Set) (any, error) {
	text, err := set.ToJSON()
	return map[string]any{"set": string(text)}, err
}

func define(r request) (any, error) {
	converted, err := schemaconv.ToSchemaFromOpenAPI(r.Definitions, false)
	if err != nil {
		return nil, err
	}
	parser := &typed.Parser{}
	converted.CopyInto(&parser.Schema)
	parser.Schema.Types = converted.Types
	parsers[r.Name] = parser
	return map[string]any{}, defineResource(r)
}

func object(r request) (*typed.TypedValue, error) {
	var content any
	if err := utiljson.Unmarshal(r.Object, &content); err != nil {
		return nil, err
	}
	kind := typed.DeducedParseableType
	if r.Schema != "" {
		kind = parsers[r.Schema].Type(r.Type)
	}
	return kind.FromUnstructured(content, typed.AllowDuplicates)
}

func answer(r request) (any, error) {
	if r.Op == "define" {
		return define(r)
	}
	if r.Op == "sequence" {
		return sequence(r)
	}
	if r.Op == "decode" {
		return decode(r)
	}
	if r.Op == "fields" {
		value, err := object(r)
		if err != nil {
			return nil, err
		}
		set, err := value.ToFieldSet()
		if err != nil {
			return nil, err
		}
		return printed(set)
	}
	set, err := read(r.Set)
	if err != nil {
		return nil, err
	}
	other, err := read(r.Other)
	if err != nil && r.Other != "" {
		return nil, err
	}
	switch r.Op {
	case "round":
		return printed(set)
	case "union":
		return printed(set.Union(other))
	case "intersection":
		return printed(set.Intersection(other))
	case "difference":
		return printed(set.Difference(other))
	case "recursiveDifference":
		return printed(set.RecursiveDifference(other))
	case "leaves":
		return printed(set.Leaves())
	case "has":
		has := []bool{}
		for path := range other.All() {
			has = append(has, set.Has(path))
		}
		return map[string]any{"has": has}, nil
	case "remove", "extract":
		content, err := object(r)
		if err != nil {
			return nil, err
		}
		if r.Op == "remove" {
			content = content.RemoveItems(set)
		} else {
			content = content.ExtractItems(set)
		}
		text, err := value.ToJSON(content.AsValue())
		return map[string]any{"object": json.RawMessage(text)}, err
	}
	return nil, fmt.Errorf("unknown op %q", r.Op)
}

func main() {
	// What the field manager does not return, it logs.
	klog.SetLogger(logr.Discard())
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
