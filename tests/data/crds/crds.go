// Says what Kubernetes thinks of CustomResourceDefinitions and of objects that they define: JSON lines in, JSON lines out.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

type question struct {
	CRD     json.RawMessage   `json:"crd"`
	Objects []json.RawMessage `json:"objects"`
}

// A problem is the field and the type of an error.
type problem [2]string

type treated struct {
	Pruned    interface{} `json:"pruned"`
	Unknown   []string    `json:"unknown"`
	Defaulted interface{} `json:"defaulted"`
	Problems  []problem   `json:"problems"`
}

type answer struct {
	Unreadable bool      `json:"unreadable"`
	Problems   []problem `json:"problems"`
	Objects    []treated `json:"objects"`
}

func problems(errors field.ErrorList) []problem {
	found := map[problem]bool{}
	for _, one := range errors {
		found[problem{one.Field, string(one.Type)}] = true
	}
	listed := []problem{}
	for one := range found {
		listed = append(listed, one)
	}
	sort.Slice(listed, func(i, j int) bool { return fmt.Sprint(listed[i]) < fmt.Sprint(listed[j]) })
	return listed
}

func read(data []byte) map[string]interface{} {
	obj := map[string]interface{}{}
	if err := utiljson.Unmarshal(data, &obj); err != nil {
		panic(err)
	}
	return obj
}

func treat(data []byte, schema *apiextensions.JSONSchemaProps) treated {
	structural, err := structuralschema.NewStructural(schema)
	if err != nil {
		panic(err)
	}
	validator, _, err := validation.NewSchemaValidator(schema)
	if err != nil {
		panic(err)
	}
	pruned, defaulted, obj := read(data), read(data), read(data)
	options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	unknown := pruning.PruneWithOptions(pruned, structural, true, options)
	defaulting.PruneNonNullableNullsWithoutDefaults(defaulted, structural)
	defaulting.Default(defaulted, structural)
	errors := validation.ValidateCustomResource(nil, obj, validator)
	errors = append(errors, objectmeta.Validate(context.Background(), nil, obj, structural, false)...)
	errors = append(errors, listtype.ValidateListSetsAndMaps(nil, structural, obj)...)
	return treated{pruned, append([]string{}, unknown...), defaulted, problems(errors)}
}

func answered(scheme *runtime.Scheme, asked question) answer {
	external := &apiextensionsv1.CustomResourceDefinition{}
	if err := json.Unmarshal(asked.CRD, external); err != nil {
		return answer{Unreadable: true}
	}
	scheme.Default(external)
	crd := &apiextensions.CustomResourceDefinition{}
	if err := scheme.Convert(external, crd, nil); err != nil {
		panic(err)
	}
	found := answer{Problems: problems(crdvalidation.ValidateCustomResourceDefinition(context.Background(), crd))}
	if len(asked.Objects) == 0 {
		return found
	}
	schema, err := apiextensions.GetSchemaForVersion(crd, crd.Spec.Versions[0].Name)
	if err != nil {
		panic(err)
	}
	for _, obj := range asked.Objects {
		found.Objects = append(found.Objects, treat(obj, schema.OpenAPIV3Schema))
	}
	return found
}

func main() {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		out.Encode(answered(scheme, asked))
	}
}
