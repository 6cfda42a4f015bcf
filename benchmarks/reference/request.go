package main

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

const reference = "#/components/schemas/"

type definitions = map[string]*spec.Schema

// defined holds the definition sets of earlier "define" requests.
var defined = map[string]definitions{}

// operation goes from bytes to bytes. The library changes its arguments, so
// each run decodes them again; its JSON package keeps integers as int64.
type operation func() ([]byte, error)

type request struct {
	Op              string
	Name            string
	Kind            string
	Lookup          string
	Schema          *spec.Schema
	Root            string
	Definitions     definitions
	DefinitionsName string `json:"definitions_name"`

	Original, Patch, Modified, Current document
	Left, Right                        document
	Patches                            []document
	Texts                              []string

	Overwrite     *bool
	Preconditions bool
	Manager       string
	Repeat        int
	Time          int
}

// document is JSON text, or nothing for null.
type document []byte

func (d *document) UnmarshalJSON(text []byte) error {
	*d = nil
	if !bytes.Equal(text, []byte("null")) {
		*d = bytes.Clone(text)
	}
	return nil
}

func (d document) decode() (map[string]any, error) {
	decoded := map[string]any{}
	if d == nil {
		return decoded, nil
	}
	if err := json.Unmarshal(d, &decoded); err != nil {
		return nil, mergepatch.ErrBadJSONDoc
	}
	return decoded, nil
}

// parse returns no operation for a request that only defines something.
func parse(line []byte) (operation, *request, error) {
	r := &request{}
	decoder := stdjson.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(r); err != nil {
		return nil, nil, err
	}
	if r.Op == "define" {
		defined[r.Name] = r.Definitions
		return nil, r, nil
	}
	switch r.Op {
	case "server_side_apply", "server_side_apply_parsed", "track", "track_parsed":
		run, err := r.fieldManagement()
		return run, r, err
	case "quantities", "quantity_pairs", "times", "durations":
		return r.scalars(), r, nil
	}
	lookup, err := r.lookup()
	if err != nil {
		return nil, nil, err
	}
	run, err := r.operation(lookup)
	return run, r, err
}

func (r *request) lookup() (strategicpatch.LookupPatchMeta, error) {
	switch r.Lookup {
	case "", "struct":
		return r.structLookup()
	case "openapi":
		return r.openAPILookup()
	}
	return nil, fmt.Errorf("unknown lookup %q", r.Lookup)
}

func (r *request) structLookup() (strategicpatch.LookupPatchMeta, error) {
	apiVersion, kind, ok := strings.Cut(r.Kind, " ")
	if !ok {
		return nil, fmt.Errorf("kind %q is not an apiVersion, a space and a kind", r.Kind)
	}
	value, err := kinds.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil, err
	}
	return strategicpatch.NewPatchMetaFromStruct(value)
}

func (r *request) openAPILookup() (strategicpatch.LookupPatchMeta, error) {
	known := r.Definitions
	if r.DefinitionsName != "" {
		var ok bool
		if known, ok = defined[r.DefinitionsName]; !ok {
			return nil, fmt.Errorf("no definitions named %q", r.DefinitionsName)
		}
	}
	root := r.Schema
	name := r.Root
	if root != nil {
		name = strings.TrimPrefix(root.Ref.String(), reference)
	}
	if name != "" {
		root = known[name]
	}
	if root == nil {
		return nil, fmt.Errorf("no schema, or no definition %q", name)
	}
	return strategicpatch.PatchMetaFromOpenAPIV3{SchemaList: known, Schema: root}, nil
}

func (r *request) operation(lookup strategicpatch.LookupPatchMeta) (operation, error) {
	switch r.Op {
	case "apply":
		return func() ([]byte, error) {
			return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(r.Original, r.Patch, lookup)
		}, nil
	case "two_way":
		return func() ([]byte, error) {
			return strategicpatch.CreateTwoWayMergePatchUsingLookupPatchMeta(r.Original, r.Modified, lookup, r.preconditions()...)
		}, nil
	case "three_way":
		return func() ([]byte, error) { return r.threeWay(lookup) }, nil
	case "three_way_apply":
		return func() ([]byte, error) { return r.threeWayApply(lookup) }, nil
	case "compose":
		return func() ([]byte, error) { return r.compose(lookup) }, nil
	case "conflicts":
		return func() ([]byte, error) { return r.conflicts(lookup) }, nil
	}
	return nil, errors.New("unknown op " + r.Op)
}

func (r *request) threeWay(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	overwrite := r.Overwrite == nil || *r.Overwrite
	return strategicpatch.CreateThreeWayMergePatch(r.Original, r.Modified, r.Current, lookup, overwrite, r.preconditions()...)
}

// threeWayApply does what kubectl and a server do together, both from bytes to bytes.
func (r *request) threeWayApply(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	patch, err := r.threeWay(lookup)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(r.Current, patch, lookup)
}

// preconditions are the three that kubectl apply passes.
func (r *request) preconditions() []mergepatch.PreconditionFunc {
	if !r.Preconditions {
		return nil
	}
	return []mergepatch.PreconditionFunc{
		mergepatch.RequireKeyUnchanged("apiVersion"),
		mergepatch.RequireKeyUnchanged("kind"),
		mergepatch.RequireMetadataKeyUnchanged("name"),
	}
}

func (r *request) compose(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	patches := make([]strategicpatch.JSONMap, len(r.Patches))
	for i, patch := range r.Patches {
		decoded, err := patch.decode()
		if err != nil {
			return nil, err
		}
		patches[i] = decoded
	}
	composed, err := strategicpatch.MergeStrategicMergeMapPatchUsingLookupPatchMeta(lookup, patches...)
	if err != nil {
		return nil, err
	}
	return json.Marshal(composed)
}

func (r *request) conflicts(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	left, err := r.Left.decode()
	if err != nil {
		return nil, err
	}
	right, err := r.Right.decode()
	if err != nil {
		return nil, err
	}
	found, err := strategicpatch.MergingMapsHaveConflicts(left, right, lookup)
	if err != nil {
		return nil, err
	}
	return json.Marshal(found)
}
