// Package runner runs the spec cases on Go's strategicpatch, to show how an engine
// adopts them: replace the calls of strategicpatch by your own. It runs the operations
// that every engine of strategic merge patches has; what it cannot run is counted.
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
	Description, Kind, Kubernetes                string
	CRD, Schema, Original, Modified, Live, Patch raw
	LastApplied                                  raw `json:"last_applied"`
	Patches                                      []raw
	Options                                      struct {
		Overwrite     *bool
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

type metadata = strategicpatch.LookupPatchMeta

var operations = map[string]func(*testCase, metadata) ([]byte, error){
	"two_way": twoWay, "two_way_result": twoWayResult, "three_way": threeWay, "result": result,
}

func TestSpecCases(t *testing.T) {
	tally := map[string]int{}
	paths := []string{"../numbers.json"}
	for _, pattern := range []string{"../*.yaml", "../*/*.yaml", "../*/*/*.yaml"} {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		// A number keeps its form in JSON only: 1.0 is not 1.
		if strings.HasSuffix(path, ".yaml") {
			text, err = yaml.YAMLToJSON(text)
		}
		file := testCase{}
		if err = errors.Join(err, json.Unmarshal(text, &file)); err != nil {
			t.Fatal(path, err)
		}
		for _, one := range file.Cases {
			// What a case leaves out is as in its file.
			c, expected := testCase{}, map[string]raw{}
			err := errors.Join(json.Unmarshal(text, &c), json.Unmarshal(one, &c), json.Unmarshal(one, &expected))
			if err != nil {
				t.Fatal(path, err)
			}
			t.Run(filepath.Base(path)+"/"+c.Description, func(t *testing.T) { runCase(t, &c, expected, tally) })
		}
	}
	for name, count := range tally {
		t.Logf("%d x %s", count, name)
	}
}

func runCase(t *testing.T, c *testCase, expected map[string]raw, tally map[string]int) {
	// The default of the three that these operations have.
	if _, ok := expected["two_way"]; ok && expected["two_way_result"] == nil {
		expected["two_way_result"] = c.Modified
	}
	for name, run := range operations {
		want, isValue := expected[name]
		isError := c.Error[name] != ""
		if !isValue && !isError {
			continue
		}
		lookup, reason := c.lookup()
		deviation, differs := c.Reference[name]
		if differs {
			want, isError = deviation.Value, deviation.Error+deviation.Panic != ""
		}
		if deviation.AnyOf != nil {
			lookup, reason = nil, "one of several results, at random"
		}
		if lookup == nil {
			tally["not run: "+reason]++
			continue
		}
		tally["run: "+name]++
		got, err := attempt(func() ([]byte, error) { return run(c, lookup) })
		if isError != (err != nil) || (!isError && values(got) != values(want)) {
			t.Errorf("%s:\n  got  %s, %v\n  want %s, an error: %v", name, got, err, want, isError)
		}
	}
}

// lookup returns where the patch metadata is read, or why there is none.
func (c *testCase) lookup() (metadata, string) {
	switch {
	case c.Options.UnknownFields == "merge":
		return nil, "unknown_fields: merge, which the reference does not have"
	case c.Schema != nil:
		read := &spec.Schema{}
		err := json.Unmarshal(c.Schema, read)
		return strategicpatch.PatchMetaFromOpenAPIV3{Schema: read}, fmt.Sprint(err)
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
	return lookup, fmt.Sprint(err)
}

func twoWay(c *testCase, lookup metadata) ([]byte, error) {
	return strategicpatch.CreateTwoWayMergePatchUsingLookupPatchMeta(c.Original, c.Modified, lookup)
}

func twoWayResult(c *testCase, lookup metadata) ([]byte, error) {
	patch, err := twoWay(c, lookup)
	return applyAll(c.Original, []raw{patch}, lookup, err)
}

func threeWay(c *testCase, lookup metadata) ([]byte, error) {
	base := c.LastApplied
	if base == nil {
		base = c.Original
	}
	// Null, and nothing at all, is that nothing was applied before.
	if string(base) == "null" {
		base = nil
	}
	var kept []mergepatch.PreconditionFunc
	if c.Options.Preconditions {
		kept = append(kept, mergepatch.RequireKeyUnchanged("apiVersion"),
			mergepatch.RequireKeyUnchanged("kind"), mergepatch.RequireMetadataKeyUnchanged("name"))
	}
	overwrite := c.Options.Overwrite == nil || *c.Options.Overwrite
	return strategicpatch.CreateThreeWayMergePatch(base, c.Modified, c.Live, lookup, overwrite, kept...)
}

func result(c *testCase, lookup metadata) ([]byte, error) {
	if patches := append(c.Patches, c.Patch); c.Patch != nil || c.Patches != nil {
		return applyAll(c.Live, patches, lookup, nil)
	}
	patch, err := threeWay(c, lookup)
	return applyAll(c.Live, []raw{patch}, lookup, err)
}

func applyAll(live []byte, patches []raw, lookup metadata, err error) ([]byte, error) {
	for _, patch := range patches {
		if err == nil && patch != nil {
			live, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(live, patch, lookup)
		}
	}
	return live, err
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

// values reads JSON and writes it as Go does, which prints 1.0 as 1.
func values(text []byte) string {
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return err.Error()
	}
	printed, _ := json.Marshal(value)
	return string(printed)
}
