package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// A resource is what a server knows of a kind.
type resource struct {
	converter managedfields.TypeConverter
	// Of a custom resource: its kind, and the schema of its definition.
	kind       string
	versions   []string
	structural *structuralschema.Structural
	// By subresource, the fields that its strategy resets.
	reset    map[string]*fieldpath.Set
	managers map[managerKey]*managedfields.FieldManager
}

type managerKey struct {
	kind        schema.GroupVersionKind
	subresource string
}

type step struct {
	// "apply", "update" or "scale".
	Op          string          `json:"op"`
	Manager     string          `json:"manager"`
	Force       bool            `json:"force"`
	Subresource string          `json:"subresource"`
	APIVersion  string          `json:"apiVersion"`
	Object      json.RawMessage `json:"object"`
	// For "scale": what is written to spec.replicas.
	Replicas int64 `json:"replicas"`
	// What stands for the time of the step in the answer.
	Now string `json:"now"`
}

var resources = map[string]*resource{}

// defineResource stores what the steps of later sequences need.
func defineResource(r request) error {
	converter, err := managedfields.NewTypeConverter(r.Definitions, false)
	if err != nil {
		return err
	}
	found := &resource{
		converter: converter,
		kind:      r.Kind,
		versions:  r.Versions,
		reset:     map[string]*fieldpath.Set{},
		managers:  map[managerKey]*managedfields.FieldManager{},
	}
	for subresource, text := range r.Reset {
		set, err := read(text)
		if err != nil {
			return err
		}
		found.reset[subresource] = set
	}
	if r.Structural != nil {
		internal := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
			r.Structural, internal, nil,
		); err != nil {
			return err
		}
		if found.structural, err = structuralschema.NewStructural(internal); err != nil {
			return err
		}
	}
	resources[r.Name] = found
	return nil
}

// The functions below make a resource what a field manager needs, as a server does for a
// custom resource whose versions differ by name alone.

func (r *resource) Default(object runtime.Object) {
	if r.describes(object) {
		defaulting.Default(object.(*unstructured.Unstructured).Object, r.structural)
	}
}

func (r *resource) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return empty(kind), nil
}

func (r *resource) Convert(in, out, context any) error {
	return errors.New("not implemented")
}

func (r *resource) ConvertToVersion(
	in runtime.Object, target runtime.GroupVersioner,
) (runtime.Object, error) {
	version, ok := target.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("%v is no group and version", target)
	}
	if r.describes(in) && !slices.Contains(r.versions, version.String()) {
		// Go: crConverter.ConvertToVersion.
		return nil, fmt.Errorf(
			"request to convert CR to an invalid group/version: %v", version,
		)
	}
	// Of other kinds, the converter of types reports what is not served.
	out := in.DeepCopyObject()
	kind := out.GetObjectKind()
	kind.SetGroupVersionKind(version.WithKind(kind.GroupVersionKind().Kind))
	return out, r.coerce(out.(*unstructured.Unstructured))
}

func (r *resource) describes(object runtime.Object) bool {
	return r.structural != nil && object.GetObjectKind().GroupVersionKind().Kind == r.kind
}

// coerce brings an object to its schema, as each decoder and converter of custom
// resources does (Go: unstructuredSchemaCoercer).
func (r *resource) coerce(object *unstructured.Unstructured) error {
	if !r.describes(object) {
		return nil
	}
	content := object.Object
	metadata, found, err := objectmeta.GetObjectMeta(content, false)
	if err != nil {
		return err
	}
	kind := object.GroupVersionKind()
	pruning.Prune(content, r.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(content, r.structural)
	if err := objectmeta.Coerce(nil, content, r.structural, false, false); err != nil {
		return err
	}
	object.SetGroupVersionKind(kind)
	if found {
		return objectmeta.SetObjectMeta(content, metadata)
	}
	return nil
}

// decode answers with an object as it is decoded from a request or from the storage.
func decode(r request) (any, error) {
	known, ok := resources[r.Schema]
	if !ok {
		return nil, fmt.Errorf("no schema %q", r.Schema)
	}
	object, err := decoded(r.Object)
	if err != nil {
		return nil, err
	}
	if err := known.coerce(object); err != nil {
		return nil, err
	}
	known.Default(object)
	return map[string]any{"object": object.Object}, nil
}

func (r *resource) ConvertFieldLabel(
	kind schema.GroupVersionKind, label, value string,
) (string, string, error) {
	return "", "", errors.New("not implemented")
}

func empty(kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	return object
}

func (r *resource) manager(
	kind schema.GroupVersionKind, subresource string,
) (*managedfields.FieldManager, error) {
	key := managerKey{kind, subresource}
	if found, ok := r.managers[key]; ok {
		return found, nil
	}
	var reset map[fieldpath.APIVersion]fieldpath.Filter
	if set, ok := r.reset[subresource]; ok {
		version := fieldpath.APIVersion(kind.GroupVersion().String())
		filter := fieldpath.NewExcludeSetFilter(set)
		reset = map[fieldpath.APIVersion]fieldpath.Filter{version: filter}
	}
	made, err := managedfields.NewDefaultCRDFieldManager(
		r.converter, r, r, r, kind, kind.GroupVersion(), subresource, reset,
	)
	if err == nil {
		r.managers[key] = made
	}
	return made, err
}

func decoded(text json.RawMessage) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, utiljson.Unmarshal(text, &object.Object)
}

// sequence runs the steps of a request from an object, and answers what each of them
// makes of it. An error leaves it as it was.
func sequence(r request) (any, error) {
	known, ok := resources[r.Schema]
	if !ok {
		return nil, fmt.Errorf("no schema %q", r.Schema)
	}
	var live *unstructured.Unstructured
	if len(r.Object) > 0 && string(r.Object) != "null" {
		var err error
		if live, err = decoded(r.Object); err != nil {
			return nil, err
		}
	}
	answers := []any{}
	for _, s := range r.Steps {
		next, failure, err := known.run(s, r.Kind, live)
		if err != nil {
			return nil, err
		}
		reply := map[string]any{}
		if failure != nil {
			reply["error"] = described(failure)
		}
		if next != nil {
			content := runtime.DeepCopyJSON(next.Object)
			setTimes(content, s.Now)
			next = &unstructured.Unstructured{Object: content}
			reply["object"] = content
			// What is stored in another version has changed no more than its name.
			if live != nil {
				apiVersion, _ := content["apiVersion"].(string)
				live.SetAPIVersion(apiVersion)
			}
			reply["changed"] = live == nil || !reflect.DeepEqual(content, live.Object)
			live = next
		}
		answers = append(answers, reply)
	}
	return map[string]any{"answers": answers}, nil
}

// run does one step. It returns the new object, unless the step failed, and the error
// that a server answers, or, if it is an update, logs.
func (r *resource) run(
	s step, kindName string, live *unstructured.Unstructured,
) (*unstructured.Unstructured, error, error) {
	version, err := schema.ParseGroupVersion(s.APIVersion)
	if err != nil {
		return nil, nil, err
	}
	kind := version.WithKind(kindName)
	manager, err := r.manager(kind, s.Subresource)
	if err != nil {
		return nil, nil, err
	}
	old := empty(kind)
	if live != nil {
		old = live.DeepCopy()
		old.SetGroupVersionKind(kind)
	}
	before := old.DeepCopy()
	var after runtime.Object
	var failure error
	switch s.Op {
	case "apply":
		config, err := decoded(s.Object)
		if err != nil {
			return nil, nil, err
		}
		if after, failure = manager.Apply(old, config, s.Manager, s.Force); failure != nil {
			return nil, failure, nil
		}
	case "update":
		fresh, err := decoded(s.Object)
		if err != nil {
			return nil, nil, err
		}
		// Nothing here is a Go struct, which would keep an empty list.
		if len(fresh.GetManagedFields()) == 0 {
			fresh.SetManagedFields(nil)
		}
		// UpdateNoErrors does not return what failed.
		_, failure = manager.Update(old.DeepCopy(), fresh.DeepCopy(), s.Manager)
		after = manager.UpdateNoErrors(old, fresh, s.Manager)
	case "scale":
		if after, failure = r.scale(s, kind, old); failure != nil {
			return nil, failure, nil
		}
	default:
		return nil, nil, fmt.Errorf("unknown step %q", s.Op)
	}
	if live != nil && s.Op != "scale" {
		// A server does so for each write but a create, and for a Scale, which has
		// entries of its own.
		after, err = fieldmanager.IgnoreManagedFieldsTimestampsTransformer(
			context.Background(), after, before,
		)
	}
	written := after.(*unstructured.Unstructured)
	if s.Op == "apply" && written.GetUID() == "" {
		// Go: rest.BeforeUpdate.
		written.SetUID(before.GetUID())
	}
	if set, ok := r.reset[s.Subresource]; ok && s.Op == "apply" && err == nil {
		entries := written.GetManagedFields()
		set.Iterate(func(path fieldpath.Path) { resetField(written, before, path) })
		written.SetManagedFields(entries)
	}
	return written, failure, err
}

// resetField gives a field of structs the value that it had before, as the strategy of a
// resource does when the managed fields are known.
func resetField(object, before *unstructured.Unstructured, path fieldpath.Path) {
	names := []string{}
	for _, element := range path {
		names = append(names, *element.FieldName)
	}
	value, found, err := unstructured.NestedFieldCopy(before.Object, names...)
	if err == nil && found {
		unstructured.SetNestedField(object.Object, value, names...)
	} else {
		unstructured.RemoveNestedField(object.Object, names...)
	}
}

// scale writes spec.replicas through the subresource, as the storage of custom resources
// does: the managed fields of the object become those of a Scale, and back.
func (r *resource) scale(
	s step, kind schema.GroupVersionKind, live *unstructured.Unstructured,
) (runtime.Object, error) {
	path := fieldpath.MakePathOrDie("spec", "replicas")
	mappings := managedfields.ResourcePathMappings{}
	for _, entry := range live.GetManagedFields() {
		mappings[entry.APIVersion] = path
	}
	mappings[kind.GroupVersion().String()] = path
	handler := managedfields.NewScaleHandler(
		live.GetManagedFields(), kind.GroupVersion(), mappings,
	)
	entries, err := handler.ToSubresource()
	if err != nil {
		return nil, err
	}
	scaleKind := schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
	old := empty(scaleKind)
	old.SetName(live.GetName())
	old.SetUID(live.GetUID())
	replicas, found, err := unstructured.NestedInt64(live.Object, "spec", "replicas")
	if err != nil {
		return nil, err
	}
	if !found {
		// Go: scaleUpdatedObjectInfo marks it as not set before.
		replicas = math.MinInt32
	}
	old.SetManagedFields(entries)
	fresh := old.DeepCopy()
	setReplicas(old, replicas)
	setReplicas(fresh, s.Replicas)
	manager, err := r.manager(scaleKind, "scale")
	if err != nil {
		return nil, err
	}
	written := manager.UpdateNoErrors(old, fresh, s.Manager).(*unstructured.Unstructured)
	after := live.DeepCopy()
	if err := unstructured.SetNestedField(
		after.Object, s.Replicas, "spec", "replicas",
	); err != nil {
		return nil, err
	}
	if entries, err = handler.ToParent(written.GetManagedFields()); err != nil {
		return nil, err
	}
	after.SetManagedFields(entries)
	return after, nil
}

// setReplicas does what the Go type of a Scale does: it has no replicas of 0.
func setReplicas(scale *unstructured.Unstructured, replicas int64) {
	spec := map[string]any{}
	if replicas != 0 {
		spec["replicas"] = replicas
	}
	scale.Object["spec"] = spec
}

// described returns an error as the Status of a server has it.
func described(err error) map[string]any {
	answer := map[string]any{"message": err.Error(), "code": 500}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		return answer
	}
	answer["code"] = status.ErrStatus.Code
	answer["reason"] = status.ErrStatus.Reason
	if details := status.ErrStatus.Details; details != nil {
		causes := details.Causes
		// The conflicts of several managers come in any order.
		sort.SliceStable(causes, func(i, j int) bool {
			return causes[i].Message < causes[j].Message
		})
		answer["causes"] = causes
	}
	return answer
}

// What is earlier comes from the requests.
var started = time.Now().Add(-time.Hour)

// setTimes replaces the times of this process, and puts the entries in order again (Go:
// sortEncodedManagedFields).
func setTimes(object map[string]any, now string) {
	metadata, _ := object["metadata"].(map[string]any)
	listed, _ := metadata["managedFields"].([]any)
	entries := []map[string]any{}
	replaced := false
	for _, entry := range listed {
		fields, ok := entry.(map[string]any)
		if !ok {
			return
		}
		entries = append(entries, fields)
		text, _ := fields["time"].(string)
		written, err := time.Parse(time.RFC3339, text)
		if err == nil && written.After(started) {
			fields["time"] = now
			replaced = true
		}
	}
	if replaced {
		sort.SliceStable(entries, func(i, j int) bool {
			return isBefore(entries[i], entries[j])
		})
		for i, entry := range entries {
			listed[i] = entry
		}
	}
}

func isBefore(p, q map[string]any) bool {
	for _, name := range []string{
		"operation", "time", "manager", "apiVersion", "subresource",
	} {
		first, _ := p[name].(string)
		second, _ := q[name].(string)
		if first != second {
			return first < second
		}
	}
	return false
}
