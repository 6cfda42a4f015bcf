// Package runner runs the spec cases on Go's strategicpatch, to show how an engine
// adopts them: replace the calls of strategicpatch by your own. It runs the operations
// that every engine of strategic merge patches has (two_way, two_way_result, three_way
// and result); what else a case expects is counted, and named with -v.
package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"
)

type expectations = map[string]json.RawMessage

// testCase has the members that these operations read, for a file its defaults.
type testCase struct {
	Description string
	Kind        string
	Kubernetes  string
	CRD         json.RawMessage
	Schema      *spec.Schema
	Original    json.RawMessage
	Modified    json.RawMessage
	LastApplied json.RawMessage `json:"last_applied"`
	Live        json.RawMessage
	Patch       json.RawMessage
	Patches     []json.RawMessage
	Options     struct {
		Overwrite     *bool
		Preconditions bool
		UnknownFields string `json:"unknown_fields"`
	}
	Error map[string]string
	// Where smp differs from Go on purpose, what Go does.
	Reference map[string]struct {
		Value json.RawMessage
		Error string
		Panic string
		AnyOf []json.RawMessage `json:"any_of"`
	}
	Cases []json.RawMessage
}

func TestSpecCases(t *testing.T) {
	tally := map[string]int{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !isCases(path) {
			return err
		}
		text, err := os.ReadFile(path)
		// A number keeps its form in JSON only: 1.0 is not 1.
		if err == nil && strings.HasSuffix(path, ".yaml") {
			text, err = yaml.YAMLToJSON(text)
		}
		if err != nil {
			return err
		}
		t.Run(strings.TrimPrefix(path, "../"), func(t *testing.T) { runFile(t, text, tally) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%d x %s", tally[name], name)
	}
}

func isCases(path string) bool {
	isData := strings.HasSuffix(path, ".yaml") || strings.HasSuffix(path, ".json")
	return isData && filepath.Base(path) != "case.schema.json"
}

func runFile(t *testing.T, text []byte, tally map[string]int) {
	file := testCase{}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, raw := range file.Cases {
		// A case that names no kind, schema or crd has that of the file.
		one, expected := testCase{}, expectations{}
		if json.Unmarshal(raw, &one) != nil || json.Unmarshal(raw, &expected) != nil {
			t.Fatalf("not a case: %s", raw)
		}
		if one.Kind == "" && one.Schema == nil && one.CRD == nil {
			one.Kind, one.Schema, one.CRD = file.Kind, file.Schema, file.CRD
		}
		if one.Kubernetes == "" {
			one.Kubernetes = file.Kubernetes
		}
		t.Run(one.Description, func(t *testing.T) { runCase(t, &one, expected, tally) })
	}
}

// operations are those that this runner has; each returns the bytes that it computes.
var operations = map[string]func(*testCase, strategicpatch.LookupPatchMeta) ([]byte, error){
	"two_way":        (*testCase).twoWay,
	"two_way_result": (*testCase).twoWayResult,
	"three_way":      (*testCase).threeWay,
	"result":         (*testCase).result,
}

func runCase(t *testing.T, c *testCase, expected expectations, tally map[string]int) {
	// The default of the three that these operations have.
	if _, ok := expected["two_way"]; ok && expected["two_way_result"] == nil && c.Error["two_way_result"] == "" {
		expected["two_way_result"] = c.Modified
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(expected)), slices.Sorted(maps.Keys(c.Error))) {
		run := operations[name]
		if run == nil {
			continue
		}
		lookup, reason := c.lookup()
		if lookup == nil {
			tally["not run: "+reason]++
			continue
		}
		tally["run: "+name]++
		got, err := attempt(func() ([]byte, error) { return run(c, lookup) })
		want, isError := expected[name], c.Error[name] != ""
		if deviation, ok := c.Reference[name]; ok {
			if deviation.AnyOf != nil {
				tally["not run: one of several results, at random"]++
				continue
			}
			want, isError = deviation.Value, deviation.Error+deviation.Panic != ""
		}
		switch {
		case isError && err == nil:
			t.Errorf("%s: an error is expected, got %s", name, got)
		case !isError && err != nil:
			t.Errorf("%s: %v", name, err)
		case !isError && !isSame(got, want):
			t.Errorf("%s:\n  got  %s\n  want %s", name, got, want)
		}
	}
}

// lookup returns where the patch metadata is read, or why there is none.
func (c *testCase) lookup() (strategicpatch.LookupPatchMeta, string) {
	switch {
	case c.Options.UnknownFields == "merge":
		return nil, "unknown_fields: merge, which the reference does not have"
	case c.Schema != nil:
		return strategicpatch.PatchMetaFromOpenAPIV3{Schema: c.Schema}, ""
	case c.CRD != nil:
		return nil, "a definition of custom resources"
	case c.Kubernetes != "":
		return nil, "the types of Kubernetes " + c.Kubernetes
	}
	apiVersion, kind, _ := strings.Cut(c.Kind, " ")
	object, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil, "no Go type of " + c.Kind
	}
	lookup, err := strategicpatch.NewPatchMetaFromStruct(object)
	if err != nil {
		return nil, err.Error()
	}
	return lookup, ""
}

func (c *testCase) twoWay(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	return strategicpatch.CreateTwoWayMergePatchUsingLookupPatchMeta(c.Original, c.Modified, lookup)
}

func (c *testCase) twoWayResult(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	patch, err := c.twoWay(lookup)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(c.Original, patch, lookup)
}

func (c *testCase) threeWay(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	base := c.LastApplied
	if base == nil {
		base = c.Original
	}
	// Null, and nothing at all, is that nothing was applied before.
	if string(base) == "null" {
		base = nil
	}
	var preconditions []mergepatch.PreconditionFunc
	if c.Options.Preconditions {
		preconditions = []mergepatch.PreconditionFunc{
			mergepatch.RequireKeyUnchanged("apiVersion"),
			mergepatch.RequireKeyUnchanged("kind"),
			mergepatch.RequireMetadataKeyUnchanged("name"),
		}
	}
	overwrite := c.Options.Overwrite == nil || *c.Options.Overwrite
	return strategicpatch.CreateThreeWayMergePatch(base, c.Modified, c.Live, lookup, overwrite, preconditions...)
}

func (c *testCase) result(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	patches := c.Patches
	switch {
	case c.Patch != nil:
		patches = []json.RawMessage{c.Patch}
	case patches == nil:
		patch, err := c.threeWay(lookup)
		if err != nil {
			return nil, err
		}
		patches = []json.RawMessage{patch}
	}
	live, err := []byte(c.Live), error(nil)
	for _, patch := range patches {
		if live, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(live, patch, lookup); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// attempt takes a panic for an error: the reference has both.
func attempt(run func() ([]byte, error)) (got []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return run()
}

// isSame compares values and their types, but that Go prints 1.0 as 1.
func isSame(got, want []byte) bool {
	return bytes.Equal(writeAsGo(got), writeAsGo(want))
}

// writeAsGo writes JSON as Go does: members sorted by name.
func writeAsGo(text []byte) []byte {
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return []byte(err.Error())
	}
	printed, err := json.Marshal(value)
	if err != nil {
		return []byte(err.Error())
	}
	return printed
}
