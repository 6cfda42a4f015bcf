// Package runner runs the spec cases on Go's strategicpatch, to show how an engine
// adopts them: replace the calls of strategicpatch by your own. It runs the operations
// that every engine of strategic merge patches has, and skips what the reference lacks.
package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

type raw = json.RawMessage

// testCase has the members that these operations read, for a file its defaults.
type testCase struct {
	Description, Kind                       string
	Schema, Original, Modified, Live, Patch raw
	LastApplied                             raw `json:"last_applied"`
	Patches                                 []raw
	Options                                 struct {
		Overwrite     bool
		Preconditions bool
		UnknownFields string `json:"unknown_fields"`
	}
	Error map[string]string
	// Where smp differs from Go on purpose, what Go does.
	Reference map[string]struct {
		Value        raw
		Error, Panic string
		AnyOf        []raw `json:"any_of"`
	}
	Cases []raw
}

func TestSpecCases(t *testing.T) {
	for _, pattern := range []string{"../*.json", "../*.yaml", "../*/*.yaml", "../*/*/*.yaml"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			t.Run(path, func(t *testing.T) { runFile(t, path) })
		}
	}
}

func runFile(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	// A number keeps its form in JSON only: 1.0 is not 1.
	if strings.HasSuffix(path, ".yaml") {
		text, err = yaml.YAMLToJSON(text)
	}
	file := testCase{}
	err = errors.Join(err, json.Unmarshal(text, &file))
	for _, own := range file.Cases {
		// What a case leaves out is as in its file.
		c, expected := testCase{}, map[string]raw{}
		c.Options.Overwrite = true
		err = errors.Join(err, json.Unmarshal(text, &c), json.Unmarshal(own, &c), json.Unmarshal(own, &expected))
		// The default of the three that these operations have.
		if expected["two_way"] != nil && expected["two_way_result"] == nil {
			expected["two_way_result"] = c.Modified
		}
		for _, operation := range []string{"two_way", "two_way_result", "three_way", "result"} {
			if expected[operation] != nil || c.Error[operation] != "" {
				t.Run(c.Description+"/"+operation, func(t *testing.T) { runCase(t, operation, &c, expected[operation]) })
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runCase(t *testing.T, operation string, c *testCase, want raw) {
	isError := c.Error[operation] != ""
	deviation, differs := c.Reference[operation]
	if differs {
		want, isError = deviation.Value, deviation.Error+deviation.Panic != ""
	}
	if deviation.AnyOf != nil || c.Options.UnknownFields == "merge" {
		t.Skip("the reference has random results, or does not merge fields without a schema")
	}
	lookup, err := c.lookup()
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.run(operation, lookup)
	if isError != (err != nil) || (!isError && values(got) != values(want)) {
		t.Errorf("got  %s, %v\nwant %s, an error: %v", got, err, want, isError)
	}
}

// lookup returns where the patch metadata is read: a schema, or the Go type of the kind.
func (c *testCase) lookup() (strategicpatch.LookupPatchMeta, error) {
	if c.Schema != nil {
		read := &spec.Schema{}
		err := json.Unmarshal(c.Schema, read)
		return strategicpatch.PatchMetaFromOpenAPIV3{Schema: read}, err
	}
	apiVersion, kind, _ := strings.Cut(c.Kind, " ")
	object, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil, err
	}
	return strategicpatch.NewPatchMetaFromStruct(object)
}

// run returns the patch of an operation, or what its patches make of an object.
func (c *testCase) run(operation string, lookup strategicpatch.LookupPatchMeta) (got raw, err error) {
	// The reference panics on some inputs: that is an error, too.
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	live, patches, patch := c.Live, c.Patches, c.Patch
	switch {
	case strings.HasPrefix(operation, "two_way"):
		live, patches = c.Original, nil
		patch, err = strategicpatch.CreateTwoWayMergePatchUsingLookupPatchMeta(c.Original, c.Modified, lookup)
	case operation == "three_way" || (patch == nil && patches == nil):
		patch, err = c.threeWay(lookup)
	}
	if strings.HasSuffix(operation, "_way") {
		return patch, err
	}
	for _, patch := range append(patches, patch) {
		if err == nil && patch != nil {
			live, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(live, patch, lookup)
		}
	}
	return live, err
}

func (c *testCase) threeWay(lookup strategicpatch.LookupPatchMeta) ([]byte, error) {
	base := c.LastApplied
	if base == nil {
		base = c.Original
	}
	if string(base) == "null" { // nothing was applied before
		base = nil
	}
	var kept []mergepatch.PreconditionFunc
	if c.Options.Preconditions {
		kept = append(kept, mergepatch.RequireKeyUnchanged("apiVersion"),
			mergepatch.RequireKeyUnchanged("kind"), mergepatch.RequireMetadataKeyUnchanged("name"))
	}
	return strategicpatch.CreateThreeWayMergePatch(base, c.Modified, c.Live, lookup, c.Options.Overwrite, kept...)
}

// values reads JSON and writes it as Go does, which prints 1.0 as 1.
func values(text []byte) string {
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return err.Error()
	}
	printed, _ := json.Marshal(value)
	return string(printed)
}
