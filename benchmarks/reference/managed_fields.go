package main

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// versions makes a field manager work on unstructured objects of one version.
type versions struct{}

func (versions) Default(runtime.Object) {}

func (versions) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	return object, nil
}

func (versions) Convert(in, out, context any) error {
	return errors.New("not implemented")
}

func (versions) ConvertToVersion(
	in runtime.Object, target runtime.GroupVersioner,
) (runtime.Object, error) {
	return in, nil
}

func (versions) ConvertFieldLabel(
	kind schema.GroupVersionKind, label, value string,
) (string, string, error) {
	return "", "", errors.New("not implemented")
}

// fieldManagers are made once, as a server does, by the name of the definitions and kind.
var fieldManagers = map[string]*managedfields.FieldManager{}

func (r *request) fieldManager() (*managedfields.FieldManager, error) {
	key := r.DefinitionsName + " " + r.Kind
	if found, ok := fieldManagers[key]; ok {
		return found, nil
	}
	apiVersion, kindName, ok := strings.Cut(r.Kind, " ")
	known, defines := defined[r.DefinitionsName]
	if !ok || !defines {
		return nil, fmt.Errorf("no kind %q in %q", r.Kind, r.DefinitionsName)
	}
	converter, err := managedfields.NewTypeConverter(known, false)
	if err != nil {
		return nil, err
	}
	kind := schema.FromAPIVersionAndKind(apiVersion, kindName)
	manager, err := managedfields.NewDefaultFieldManager(
		converter, versions{}, versions{}, versions{},
		kind, kind.GroupVersion(), "", nil,
	)
	if err == nil {
		fieldManagers[key] = manager
	}
	return manager, err
}

// fieldManagement returns the operation of a server-side apply or of a write that is none:
// from bytes to bytes, or on objects that are decoded beforehand.
func (r *request) fieldManagement() (operation, error) {
	manager, err := r.fieldManager()
	if err != nil {
		return nil, err
	}
	run := func(live, object *unstructured.Unstructured) (runtime.Object, error) {
		if strings.HasPrefix(r.Op, "track") {
			return manager.Update(live, object, r.Manager)
		}
		return manager.Apply(live, object, r.Manager, false)
	}
	if !strings.HasSuffix(r.Op, "_parsed") {
		return func() ([]byte, error) {
			live, object, err := r.liveAndModified()
			if err != nil {
				return nil, err
			}
			result, err := run(live, object)
			if err != nil {
				return nil, err
			}
			return json.Marshal(result.(*unstructured.Unstructured).Object)
		}, nil
	}
	live, object, err := r.liveAndModified()
	if err != nil {
		return nil, err
	}
	return func() ([]byte, error) {
		// An update changes the metadata of what it is given.
		copied := maps.Clone(object.Object)
		metadata, _ := copied["metadata"].(map[string]any)
		copied["metadata"] = maps.Clone(metadata)
		_, err := run(live, &unstructured.Unstructured{Object: copied})
		return nil, err
	}, nil
}

func (r *request) liveAndModified() (live, modified *unstructured.Unstructured, err error) {
	current, err := r.Current.decode()
	if err != nil {
		return nil, nil, err
	}
	decoded, err := r.Modified.decode()
	return &unstructured.Unstructured{Object: current},
		&unstructured.Unstructured{Object: decoded}, err
}
